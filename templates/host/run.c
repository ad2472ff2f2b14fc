/* Running a context: nothing here allocates. */
#include <string.h>

#include "context.h"
#include "counts.h"
#include "error.h"
#include "program.h"
#include "values.h"

void context_bind(nautilus_context *context, const cu_pointer *ports) {
  const nautilus_model *model = context->model;
  for (size_t port = 0; port < model->port_count; port++) {
    if (context->bound[port] == ports[port])
      continue;
    context->bound[port] = ports[port];
    for (size_t i = model->use_first[port]; i < model->use_first[port + 1]; i++) {
      uint32_t launch = model->owner[model->uses[i]];
      if (context->shapes.rows[launch] != model->uses[i])
        continue;
      context->is_stale[launch] = 1;
      context->has_stale = 1;
    }
  }
}

/* A node stays stale until the driver took it, so a failed update is made good by the next run. */
static nautilus_status update_graph(nautilus_context *context) {
  for (size_t i = 0; context->has_stale && i < context->model->launch_count; i++) {
    void *pointer;
    if (!context->is_stale[i])
      continue;
    TRY(context_settle(context, i));
    context->is_stale[i] = 1;
    cu_kernel_node_params parameters = context_parameters(context, i, &pointer);
    TRY_DRIVER(&context->model->place.driver, cuGraphExecKernelNodeSetParams(context->replay.exec, context->replay.nodes[i], &parameters),
               "giving the graph new pointers");
    context->is_stale[i] = 0;
  }
  context->has_stale = 0;
  return NAUTILUS_OK;
}

nautilus_status context_launch_each(nautilus_context *context, cu_stream stream, size_t first, size_t count) {
  const nautilus_model *model = context->model;
  const struct driver *driver = &model->place.driver;
  for (size_t i = first; i < first + count; i++) {
    const struct payload_launch *launch = context_row(context, i);
    context->is_stale[i] |= model->moves[i];
    TRY(context_settle(context, i));
    void *pointer = context->arguments + context->argument_first[i];
    TRY_DRIVER(driver,
               cuLaunchKernel(model->functions[launch->kernel], context->shapes.grids[i][0], context->shapes.grids[i][1],
                              context->shapes.grids[i][2], launch->block[0], launch->block[1], launch->block[2], launch->shared_bytes,
                              stream, &pointer, NULL),
               model->payload.strings + model->payload.kernels[model->place.variant->kernel_first + launch->kernel].symbol);
  }
  return NAUTILUS_OK;
}

/* Launches of one graph are ordered by the driver; an event orders all others. */
static nautilus_status launch_ordered(nautilus_context *context, cu_stream stream) {
  const struct driver *driver = &context->model->place.driver;
  if (context->has_run && context->last_stream != stream)
    TRY_DRIVER(driver, cuStreamWaitEvent(stream, context->done, 0), "waiting for the last run");
  int recur = context->buckets != NULL && buckets_recur(context);
  size_t count = context->model->launch_count;
  nautilus_status status = program_exists(context->model) ? program_run(context, stream, recur)
                           : recur                        ? replay_run(context, &context->bucket->replay, 0, count, stream)
                                                          : chain_run(context, 0, count, stream);
  /* A run that ended early has launched kernels all the same, which the next one is to wait for. */
  cu_result marked = driver->api.cuEventRecord(context->done, stream);
  context->last_stream = stream;
  context->has_run = 1;
  return status == NAUTILUS_OK ? error_driver(driver, marked, "marking the end of the run") : status;
}

nautilus_status context_launch(nautilus_context *context, cu_stream stream) {
  context->counts_are = COUNTS_WRITTEN;
  if (context->done != NULL)
    return launch_ordered(context, stream);
  TRY(update_graph(context));
  TRY_DRIVER(&context->model->place.driver, cuGraphLaunch(context->replay.exec, stream), "running the model");
  return NAUTILUS_OK;
}

nautilus_status context_take_flag(nautilus_context *context) {
  nautilus_status status = NAUTILUS_OK;
  pthread_mutex_lock(&context->workspace_lock);
  int is_set = __atomic_load_n(context->flag, __ATOMIC_RELAXED) != 0 && __atomic_exchange_n(context->flag, 0, __ATOMIC_ACQ_REL) != 0;
  if (is_set)
    status = counts_check(context);
  pthread_mutex_unlock(&context->workspace_lock);
  if (!is_set || status != NAUTILUS_OK)
    return status;
  return error_set(NAUTILUS_INDEX_OUT_OF_RANGE, "the model met an index outside the axis that it indexes: an input holds a value that "
                                                "it must not hold. The outputs of that run are not to be used.");
}

/* Checks the caller's addresses and puts them behind those from FIRST on. */
static nautilus_status read_pointers(const nautilus_context *context, const void *const *given, size_t first, size_t count,
                                     const char *kind, cu_pointer alignment, cu_pointer *ports) {
  const struct payload *payload = &context->model->payload;
  if (given == NULL && count > 0)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "the array of %ss is NULL; the model has %zu", kind, count);
  for (size_t i = 0; i < count; i++) {
    const struct payload_port *port = &payload->ports[first + i];
    ports[first + i] = (cu_pointer)(uintptr_t)given[i];
    if (port->shared != 0 && first > 0) { /* an output that lies in an input, which was read before */
      cu_pointer input = ports[port->shared - 1];
      if (given[i] != NULL && ports[first + i] != input)
        return error_set(NAUTILUS_INVALID_ARGUMENT, "%s %zu, '%s', lies at %p; it shares the memory of input '%s' at %p: pass that, or NULL",
                         kind, i, payload->strings + port->name, given[i], payload->strings + payload->ports[port->shared - 1].name,
                         (const void *)(uintptr_t)input);
      ports[first + i] = input;
      continue;
    }
    if (given[i] == NULL && context->shapes.port_bytes[first + i] > 0)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "%s %zu, '%s', is NULL", kind, i, payload->strings + port->name);
    if (ports[first + i] % alignment != 0)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "%s %zu, '%s', lies at %p, which is not aligned to %d bytes", kind, i,
                       payload->strings + port->name, given[i], NAUTILUS_POINTER_ALIGNMENT);
  }
  return NAUTILUS_OK;
}

static nautilus_status read_all(const nautilus_context *context, const void *const *inputs, void *const *outputs, cu_pointer alignment,
                                cu_pointer *ports) {
  const struct payload_header *header = context->model->payload.header;
  TRY(read_pointers(context, inputs, 0, header->input_count, "input", alignment, ports));
  return read_pointers(context, (const void *const *)outputs, header->input_count, header->output_count, "output", alignment, ports);
}

/* Takes sizes by the values of inputs that lie in host memory, or where STREAM is given, on the device: those are copied, and waited for. */
static nautilus_status take_values(nautilus_context *context, const void *const *inputs, const cu_stream *stream) {
  const nautilus_model *model = context->model;
  const struct driver *driver = &model->place.driver;
  if (inputs == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "the array of inputs is NULL");
  if (stream == NULL)
    return context_take(context, (const int64_t *const *)context->input_shapes, inputs);
  for (size_t i = 0; i < model->payload.header->input_count; i++) {
    const struct payload_port *port = &model->payload.ports[i];
    if (context->values[i] == NULL)
      continue;
    if (inputs[i] == NULL)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "input %zu, '%s', is NULL", i, model->payload.strings + port->name);
    size_t bytes = shapes_read_elements(model, i) * values_element_bytes((nautilus_dtype)port->dtype);
    TRY_DRIVER(driver, cuMemcpyDtoHAsync(context->values[i], (cu_pointer)(uintptr_t)inputs[i], bytes, *stream),
               "reading an input that decides shapes");
  }
  TRY_DRIVER(driver, cuStreamSynchronize(*stream), "reading an input that decides shapes");
  return context_take(context, (const int64_t *const *)context->input_shapes, (const void *const *)context->values);
}

nautilus_status nautilus_run(nautilus_context *context, const void *const *inputs, void *const *outputs, void *stream) {
  if (context == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_run: the context is NULL");
  TRY(context_take_flag(context));
  TRY(model_enter(context->model));
  cu_stream given = stream;
  nautilus_status status = context->reads_values ? take_values(context, inputs, &given) : NAUTILUS_OK;
  if (status == NAUTILUS_OK)
    status = read_all(context, inputs, outputs, NAUTILUS_POINTER_ALIGNMENT, context->given);
  if (status == NAUTILUS_OK) {
    context_bind(context, context->given);
    status = context_launch(context, stream);
  }
  model_leave(context->model);
  return status;
}

nautilus_status nautilus_check(nautilus_context *context) {
  if (context == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_check: the context is NULL");
  /* Where nothing failed, it waits for no lock either. */
  return __atomic_load_n(context->flag, __ATOMIC_RELAXED) == 0 ? NAUTILUS_OK : context_take_flag(context);
}

nautilus_status nautilus_synchronize(nautilus_context *context, void *stream) {
  if (context == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_synchronize: the context is NULL");
  TRY(model_enter(context->model));
  nautilus_status status = error_driver(&context->model->place.driver, context->model->place.driver.api.cuStreamSynchronize(stream),
                                        "waiting for the stream");
  model_leave(context->model);
  return status == NAUTILUS_OK ? context_take_flag(context) : status;
}

static nautilus_status copy_out(nautilus_context *context, size_t port, size_t bytes) {
  TRY_DRIVER(&context->model->place.driver,
             cuMemcpyDtoHAsync((void *)(uintptr_t)context->given[port], context->staging[port], bytes, context->stream),
             "copying an output from the device");
  return NAUTILUS_OK;
}

static nautilus_status run_staged(nautilus_context *context) {
  const struct driver *driver = &context->model->place.driver;
  const size_t *bytes = context->shapes.port_bytes;
  size_t input_count = context->model->payload.header->input_count;
  context_bind(context, context->staging);
  for (size_t i = 0; i < input_count; i++)
    if (bytes[i] > 0)
      TRY_DRIVER(driver, cuMemcpyHtoDAsync(context->staging[i], (const void *)(uintptr_t)context->given[i], bytes[i], context->stream),
                 "copying an input to the device");
  context->is_fed = 1;
  TRY(context_launch(context, context->stream));
  for (size_t i = input_count; i < context->model->port_count; i++)
    if (bytes[i] > 0 && !counts_give(context->model, i))
      TRY(copy_out(context, i, bytes[i]));
  if (context->count_words == 0)
    return NAUTILUS_OK;
  /* Of an output that a kernel sizes, what there is: that may be much less than what there can be. */
  TRY(counts_enqueue(context, context->stream));
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "running the model");
  for (size_t i = input_count; i < context->model->port_count; i++) {
    size_t counted = 0;
    if (!counts_give(context->model, i))
      continue;
    TRY(counts_bytes(context, i, &counted));
    if (counted > 0)
      TRY(copy_out(context, i, counted));
  }
  context->counts_are = COUNTS_READ;
  return NAUTILUS_OK;
}

nautilus_status nautilus_run_host(nautilus_context *context, const void *const *inputs, void *const *outputs) {
  if (context == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_run_host: the context is NULL");
  if (context->staging_block == 0)
    return error_set(NAUTILUS_UNSUPPORTED, "nautilus_run_host: the context was created with device_only");
  TRY(context_take_flag(context));
  TRY(model_enter(context->model));
  const struct driver *driver = &context->model->place.driver;
  nautilus_status status = context->reads_values ? take_values(context, inputs, NULL) : NAUTILUS_OK;
  if (status == NAUTILUS_OK)
    status = read_all(context, inputs, outputs, 1, context->given);
  if (status == NAUTILUS_OK)
    status = run_staged(context);
  /* Also after a failure: copies under way must not touch the caller's memory once this call has returned. */
  cu_result waited = driver->api.cuStreamSynchronize(context->stream);
  if (status == NAUTILUS_OK)
    status = error_driver(driver, waited, "running the model");
  model_leave(context->model);
  return status == NAUTILUS_OK ? context_take_flag(context) : status;
}
