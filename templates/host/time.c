/* Timing by device events. */
#include <stdint.h>
#include <stdlib.h>

#include "context.h"
#include "error.h"

/* Clears inputs that nobody gave since the shapes changed: zero is a valid index everywhere. */
static nautilus_status feed(nautilus_context *context) {
  for (size_t i = 0; i < context->model->payload.header->input_count && !context->is_fed; i++)
    if (context->shapes.port_bytes[i] > 0)
      TRY_DRIVER(&context->model->place.driver,
                 cuMemsetD8Async(context->staging[i], 0, context->shapes.port_bytes[i], context->stream), "clearing an input");
  context->is_fed = 1;
  return NAUTILUS_OK;
}

static nautilus_status measure(nautilus_context *context, cu_event *events, size_t samples, size_t runs, size_t warmup, float *microseconds) {
  const struct driver *driver = &context->model->place.driver;
  TRY(feed(context));
  context_bind(context, context->staging);
  for (size_t i = 0; i < warmup; i++)
    TRY(context_launch(context, context->stream));
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "warming up");
  for (size_t i = 0; i <= samples; i++)
    TRY_DRIVER(driver, cuEventCreate(&events[i], CU_EVENT_FLAG_DEFAULT), "creating an event");
  TRY_DRIVER(driver, cuEventRecord(events[0], context->stream), "timing");
  for (size_t i = 0; i < samples; i++) {
    for (size_t j = 0; j < runs; j++)
      TRY(context_launch(context, context->stream));
    TRY_DRIVER(driver, cuEventRecord(events[i + 1], context->stream), "timing");
  }
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "timing");
  for (size_t i = 0; i < samples; i++) {
    float milliseconds = 0;
    TRY_DRIVER(driver, cuEventElapsedTime(&milliseconds, events[i], events[i + 1]), "timing");
    microseconds[i] = milliseconds * 1000.0f / (float)runs;
  }
  return NAUTILUS_OK;
}

nautilus_status nautilus_time(nautilus_context *context, size_t samples, size_t runs, size_t warmup, float *microseconds) {
  if (context == NULL || microseconds == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_time: the context or the array of times is NULL");
  if (context->staging_block == 0)
    return error_set(NAUTILUS_UNSUPPORTED, "nautilus_time: the context was created with device_only");
  if (!context->shapes.is_set)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_time: values of inputs decide shapes: the context has none before nautilus_run_host");
  if (samples == 0 || runs == 0)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_time: samples and runs are at least 1");
  TRY(context_take_flag(context));
  cu_event *events = samples < SIZE_MAX ? calloc(samples + 1, sizeof *events) : NULL;
  if (events == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the events of %zu samples", samples);
  nautilus_status status = model_enter(context->model);
  if (status == NAUTILUS_OK) {
    const struct nautilus_driver *api = &context->model->place.driver.api;
    status = measure(context, events, samples, runs, warmup, microseconds);
    api->cuStreamSynchronize(context->stream);
    for (size_t i = 0; i <= samples; i++)
      if (events[i] != NULL)
        api->cuEventDestroy(events[i]);
    model_leave(context->model);
  }
  free(events);
  return status == NAUTILUS_OK ? context_take_flag(context) : status;
}
