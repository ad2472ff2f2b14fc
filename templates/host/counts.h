/* Numbers that kernels give: int64 words at the front of a context's workspace. Dimensions of outputs can be such. */
#ifndef NAUTILUS_HOST_COUNTS_H
#define NAUTILUS_HOST_COUNTS_H

#include "context.h"

/* Allocates where the numbers are read to. */
nautilus_status counts_create(nautilus_context *context);
void counts_destroy(nautilus_context *context);

/* Whether a kernel gives a dimension of a port. */
int counts_give(const nautilus_model *model, size_t port);

/* Enqueues their copy to the host behind the run on STREAM; they are there once that has been waited for. */
nautilus_status counts_enqueue(nautilus_context *context, cu_stream stream);

/* The bytes of a port as the numbers that were read make it. */
nautilus_status counts_bytes(const nautilus_context *context, size_t port, size_t *bytes);

/* Where a kernel made a run fail: names a number that it gave and that is greater than the library was compiled for, if there is one. */
nautilus_status counts_check(const nautilus_context *context);

/* Refuses VALUE, which an int64 word of the arena holds, where it is greater than the library was compiled for. */
nautilus_status counts_check_word(const nautilus_model *model, size_t word, int64_t value);

#endif
