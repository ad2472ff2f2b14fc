/* Device buffers of host runs: one block for all inputs and outputs. */
#ifndef NAUTILUS_HOST_STAGING_H
#define NAUTILUS_HOST_STAGING_H

#include "context.h"

/* How large it is for some shapes. */
size_t staging_bytes(const nautilus_context *context, const struct shapes *shapes);

/* Takes memory for it, zeroed: zero is a valid index everywhere, so nautilus_time can run on it. */
nautilus_status staging_allocate(nautilus_context *context, size_t bytes, cu_pointer *block);

/* Says where each tensor of the context's shapes lies in it. */
void staging_place(nautilus_context *context);

/* As long as no run says otherwise, ports are what host runs copy to and from. */
void staging_bind(nautilus_context *context);

#endif
