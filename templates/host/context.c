#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "error.h"
#include "program.h"
#include "staging.h"
#include "structs.h"
#include "values.h"

static nautilus_status allocate_tables(nautilus_context *context) {
  const nautilus_model *model = context->model;
  TRY(context_allocate_blocks(context));
  context->bound = calloc(model->port_count + 1, sizeof *context->bound);
  context->given = calloc(model->port_count + 1, sizeof *context->given);
  context->staging = calloc(model->port_count + 1, sizeof *context->staging);
  context->slots = calloc((size_t)model->place.variant->slot_count + 1, sizeof *context->slots);
  if (context->bound == NULL || context->given == NULL || context->staging == NULL || context->slots == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  return NAUTILUS_OK;
}

nautilus_status context_too_small(const nautilus_context *context, size_t needed) {
  return error_set(NAUTILUS_INVALID_ARGUMENT, "the workspace has %zu bytes; the model needs %zu%s", context->workspace_bytes, needed,
                   shapes_are_open(context->model) ? " for these shapes" : "");
}

static nautilus_status take_workspace(nautilus_context *context, const nautilus_context_options *options) {
  size_t needed = context->shapes.arena_bytes;
  if (options->workspace == NULL) {
    context->owns_workspace = 1;
    if (needed == 0)
      return NAUTILUS_OK;
    TRY(model_allocate(context->model, needed, "the workspace of a context", &context->workspace));
    context->workspace_bytes = needed;
    return NAUTILUS_OK;
  }
  context->workspace_bytes = options->workspace_bytes;
  context->workspace = (cu_pointer)(uintptr_t)options->workspace;
  if (context->workspace % NAUTILUS_WORKSPACE_ALIGNMENT != 0)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "the workspace %p is not aligned to %d bytes", options->workspace,
                     NAUTILUS_WORKSPACE_ALIGNMENT);
  return options->workspace_bytes < needed ? context_too_small(context, needed) : NAUTILUS_OK;
}

static nautilus_status allocate_flag(nautilus_context *context) {
  const struct driver *driver = &context->model->place.driver;
  void *flag = NULL;
  TRY_DRIVER(driver, cuMemHostAlloc(&flag, sizeof *context->flag, CU_HOST_ALLOC_PORTABLE | CU_HOST_ALLOC_DEVICE_MAP),
             "allocating the status word");
  context->flag = flag;
  *context->flag = 0;
  TRY_DRIVER(driver, cuMemHostGetDevicePointer(&context->flag_device, flag, 0), "mapping the status word");
  return NAUTILUS_OK;
}

/* Memory for what the host reads of inputs, and for their shapes meanwhile. */
static nautilus_status allocate_values(nautilus_context *context) {
  const struct payload *payload = &context->model->payload;
  size_t count = payload->header->input_count, dims = 0;
  context->reads_values = shapes_read_values(context->model);
  if (!context->reads_values)
    return NAUTILUS_OK;
  for (size_t i = 0; i < count; i++)
    dims += payload->ports[i].rank;
  context->input_dims = calloc(dims + 1, sizeof *context->input_dims);
  context->input_shapes = calloc(count + 1, sizeof *context->input_shapes);
  context->values = calloc(count + 1, sizeof *context->values);
  int is_enough = context->input_dims != NULL && context->input_shapes != NULL && context->values != NULL;
  dims = 0;
  for (size_t i = 0; is_enough && i < count; i++) {
    const struct payload_port *port = &payload->ports[i];
    size_t elements = shapes_read_elements(context->model, i);
    context->input_shapes[i] = context->input_dims + dims;
    memcpy(context->input_shapes[i], context->shapes.dims + port->dim_first, port->rank * sizeof *context->input_dims);
    dims += port->rank;
    if (elements > 0 && (context->values[i] = calloc(elements, values_element_bytes((nautilus_dtype)port->dtype))) == NULL)
      is_enough = 0;
  }
  return is_enough ? NAUTILUS_OK : error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
}

static nautilus_status build(nautilus_context *context, const nautilus_context_options *options) {
  const struct driver *driver = &context->model->place.driver;
  TRY(allocate_tables(context));
  TRY(counts_create(context));
  TRY(shapes_create(context->model, &context->shapes));
  TRY(shapes_create(context->model, &context->next));
  TRY(allocate_values(context));
  TRY_DRIVER(driver, cuStreamCreate(&context->stream, CU_STREAM_FLAG_NON_BLOCKING), "creating a stream");
  TRY(take_workspace(context, options));
  TRY(allocate_flag(context));
  if (!options->device_only) {
    context->staging_bytes = staging_bytes(context, &context->shapes);
    TRY(staging_allocate(context, context->staging_bytes, &context->staging_block));
    staging_place(context);
    context->is_fed = 1;
  }
  if (program_exists(context->model))
    TRY(program_allocate(context));
  staging_bind(context);
  context_forget(context);
  int is_open = shapes_are_open(context->model), has_steps = program_exists(context->model);
  if (has_steps)
    TRY(program_create(context));
  if (context->launch_mode == NAUTILUS_LAUNCH_GRAPH && !has_steps)
    TRY(is_open ? buckets_create(context) : replay_build(context, &context->replay, 0, context->model->launch_count));
  if (context->launch_mode == NAUTILUS_LAUNCH_GRAPH && is_open && context->shapes.is_set)
    TRY(chain_create(context));
  if (context->launch_mode == NAUTILUS_LAUNCH_STREAM || is_open || has_steps)
    TRY_DRIVER(driver, cuEventCreate(&context->done, CU_EVENT_FLAG_DISABLE_TIMING), "creating an event");
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "preparing a context");
  return NAUTILUS_OK;
}

/* Frees what there is, also of a context that failed half way. The last error's text stays. */
static void dispose(nautilus_context *context) {
  const struct nautilus_driver *api = &context->model->place.driver.api;
  if (api->cuCtxPushCurrent(context->model->primary) == CU_OK) {
    if (context->stream != NULL)
      api->cuStreamSynchronize(context->stream);
    replay_dispose(context, &context->replay);
    buckets_dispose(context);
    chain_dispose(context);
    if (context->done != NULL)
      api->cuEventDestroy(context->done);
    if (context->staging_block != 0)
      api->cuMemFree(context->staging_block);
    if (context->owns_workspace && context->workspace != 0)
      api->cuMemFree(context->workspace);
    if (context->flag != NULL)
      api->cuMemFreeHost((void *)(uintptr_t)context->flag);
    if (context->read != NULL)
      api->cuMemFreeHost((void *)(uintptr_t)context->read);
    if (context->stream != NULL)
      api->cuStreamDestroy(context->stream);
    model_leave(context->model);
  }
  shapes_destroy(&context->shapes);
  shapes_destroy(&context->next);
  counts_destroy(context);
  for (size_t i = 0; context->values != NULL && i < context->model->payload.header->input_count; i++)
    free(context->values[i]);
  free(context->values);
  free(context->input_shapes);
  free(context->input_dims);
  free(context->arguments);
  free(context->argument_first);
  free(context->bound);
  free(context->given);
  free(context->staging);
  free(context->is_stale);
  free(context->slots);
  pthread_mutex_destroy(&context->workspace_lock);
  free(context);
}

nautilus_status nautilus_context_create(nautilus_model *model, const nautilus_context_options *options, nautilus_context **context) {
  nautilus_context_options chosen = {sizeof chosen, NULL, 0, NAUTILUS_LAUNCH_GRAPH, 0};
  if (model == NULL || context == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_context_create: the model or the pointer to the context is NULL");
  *context = NULL;
  TRY(struct_read(&chosen, sizeof chosen, options, "nautilus_context_options"));
  if (chosen.launch != NAUTILUS_LAUNCH_GRAPH && chosen.launch != NAUTILUS_LAUNCH_STREAM)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "launch is %d: it is NAUTILUS_LAUNCH_GRAPH or NAUTILUS_LAUNCH_STREAM", chosen.launch);
  nautilus_context *made = calloc(1, sizeof *made);
  if (made == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  made->model = model;
  pthread_mutex_init(&made->workspace_lock, NULL);
  made->launch_mode = (nautilus_launch)chosen.launch;
  nautilus_status status = model_enter(model);
  if (status == NAUTILUS_OK) {
    status = build(made, &chosen);
    model_leave(model);
  }
  if (status != NAUTILUS_OK) {
    dispose(made);
    return status;
  }
  __atomic_add_fetch(&model->context_count, 1, __ATOMIC_RELEASE);
  *context = made;
  return NAUTILUS_OK;
}

nautilus_status nautilus_context_destroy(nautilus_context *context) {
  if (context == NULL)
    return NAUTILUS_OK;
  nautilus_model *model = context->model;
  dispose(context);
  __atomic_sub_fetch(&model->context_count, 1, __ATOMIC_RELEASE);
  return NAUTILUS_OK;
}

void *nautilus_context_stream(const nautilus_context *context) { return context == NULL ? NULL : context->stream; }
