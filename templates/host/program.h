/* Plans whose launches do not all run, or run more than once: the host walks their steps, and waits for what decides one. */
#ifndef NAUTILUS_HOST_PROGRAM_H
#define NAUTILUS_HOST_PROGRAM_H

#include "context.h"

/* Whether the plan has steps. */
int program_exists(const nautilus_model *model);

/* Allocates what its runs need. */
nautilus_status program_create(nautilus_context *context);

/* Brings a launch whose arguments have changed up to date in the graph that it is in. */
nautilus_status program_update(nautilus_context *context, size_t launch);

void program_dispose(nautilus_context *context);

/* Runs the steps. Where one depends on a value that the device has, this waits for the stream. */
nautilus_status program_run(nautilus_context *context, cu_stream stream);

#endif
