/* Plans whose launches do not all run, or run more than once: the host walks their steps, and waits for what decides one. */
#ifndef NAUTILUS_HOST_PROGRAM_H
#define NAUTILUS_HOST_PROGRAM_H

#include "context.h"

/* Whether the plan has steps. */
int program_exists(const nautilus_model *model);

/* Allocates the memory that runs read what decides steps from. */
nautilus_status program_allocate(nautilus_context *context);

/* Prepares its runs. */
nautilus_status program_create(nautilus_context *context);

/* Runs the steps; straight runs of launches by graphs, where these shapes RECUR. Where a step depends on a value that the device has, this
 * waits for the stream. */
nautilus_status program_run(nautilus_context *context, cu_stream stream, int recur);

#endif
