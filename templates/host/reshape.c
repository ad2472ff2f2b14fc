/* Other shapes: memory for them, and what of a context follows from them. */
#include <string.h>

#include "context.h"
#include "error.h"
#include "staging.h"

/* Waits for the runs so far: what they use is about to be freed. */
static nautilus_status finish_runs(nautilus_context *context) {
  const struct driver *driver = &context->model->place.driver;
  if (context->has_run)
    TRY_DRIVER(driver, cuEventSynchronize(context->done), "waiting for the last run");
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "waiting for the last run");
  return NAUTILUS_OK;
}

/* Takes along what a run that failed counted, of which nobody has asked yet. Runs have ended. */
static nautilus_status move_limits(const nautilus_context *context, cu_pointer workspace) {
  const struct driver *driver = &context->model->place.driver;
  size_t bytes = context->limit_words * sizeof *context->counts;
  if (bytes == 0 || bytes > context->shapes.arena_bytes || __atomic_load_n(context->flag, __ATOMIC_RELAXED) == 0)
    return NAUTILUS_OK;
  TRY_DRIVER(driver, cuMemcpyDtoDAsync(workspace, context->workspace, bytes, context->stream), "moving the workspace");
  return error_driver(driver, driver->api.cuStreamSynchronize(context->stream), "moving the workspace");
}

cu_pointer context_exchange_workspace(nautilus_context *context, cu_pointer workspace, size_t bytes) {
  pthread_mutex_lock(&context->workspace_lock);
  cu_pointer before = context->workspace;
  context->workspace = workspace;
  context->workspace_bytes = bytes;
  pthread_mutex_unlock(&context->workspace_lock);
  return before;
}

/* Gets the memory that the next shapes need beyond what there is; without it nothing changes. */
static nautilus_status grow(nautilus_context *context) {
  const struct nautilus_driver *api = &context->model->place.driver.api;
  size_t staged = context->staging_block != 0 ? staging_bytes(context, &context->next) : 0;
  cu_pointer workspace = 0, staging = 0;
  if (context->next.arena_bytes <= context->workspace_bytes && staged <= context->staging_bytes)
    return NAUTILUS_OK;
  if (context->next.arena_bytes > context->workspace_bytes) {
    if (!context->owns_workspace)
      return context_too_small(context, context->next.arena_bytes);
    TRY(model_allocate(context->model, context->next.arena_bytes, "the workspace of a context", &workspace));
  }
  nautilus_status status = staged > context->staging_bytes ? staging_allocate(context, staged, &staging) : NAUTILUS_OK;
  if (status == NAUTILUS_OK)
    status = finish_runs(context);
  if (status == NAUTILUS_OK && workspace != 0)
    status = move_limits(context, workspace);
  if (status != NAUTILUS_OK) {
    if (workspace != 0)
      api->cuMemFree(workspace);
    if (staging != 0)
      api->cuMemFree(staging);
    return status;
  }
  if (workspace != 0 && (workspace = context_exchange_workspace(context, workspace, context->next.arena_bytes)) != 0)
    api->cuMemFree(workspace);
  if (staging != 0) {
    api->cuMemFree(context->staging_block);
    context->staging_block = staging;
    context->staging_bytes = staged;
  }
  return NAUTILUS_OK;
}

nautilus_status context_take(nautilus_context *context, const int64_t *const *inputs, const void *const *values) {
  const struct payload *payload = &context->model->payload;
  TRY(shapes_work_out(context->model, inputs, values, &context->next));
  if (context->shapes.is_set && memcmp(context->next.sizes, context->shapes.sizes, payload->size_count * sizeof *context->next.sizes) == 0)
    return NAUTILUS_OK;
  TRY(grow(context));
  struct shapes old = context->shapes;
  context->shapes = context->next;
  context->next = old;
  if (context->staging_block != 0)
    staging_place(context);
  context->is_fed = 0;
  context->counts_are = COUNTS_NONE;
  staging_bind(context);
  context_forget(context);
  if (context->buckets == NULL)
    return NAUTILUS_OK;
  buckets_select(context);
  /* Before values of inputs are known, grids are none that can be launched. */
  return context->chain.begins == NULL ? chain_create(context) : NAUTILUS_OK;
}

/* Lets addresses that iterations move point to the same bytes of another workspace: loops around a read go on there. */
static void move_slots(nautilus_context *context, cu_pointer workspace) {
  for (uint32_t i = 0; i < context->model->place.variant->slot_count; i++)
    if (context->slots[i] - context->workspace < context->workspace_bytes)
      context->slots[i] += workspace - context->workspace;
}

/* Gets a larger workspace that holds what the one before did. */
static nautilus_status move_workspace(nautilus_context *context, size_t used, cu_stream stream) {
  const struct driver *driver = &context->model->place.driver;
  size_t needed = context->shapes.arena_bytes;
  cu_pointer workspace = 0;
  if (!context->owns_workspace)
    return context_too_small(context, needed);
  TRY(model_allocate(context->model, needed, "the workspace of a context", &workspace));
  nautilus_status status = NAUTILUS_OK;
  if (context->workspace != 0 && used > 0)
    status = error_driver(driver, driver->api.cuMemcpyDtoDAsync(workspace, context->workspace, used, stream), "moving the workspace");
  if (status == NAUTILUS_OK)
    status = error_driver(driver, driver->api.cuStreamSynchronize(stream), "moving the workspace");
  if (status == NAUTILUS_OK) {
    move_slots(context, workspace);
    workspace = context_exchange_workspace(context, workspace, needed);
  }
  if (workspace != 0)
    driver->api.cuMemFree(workspace);
  return status;
}

nautilus_status context_give(nautilus_context *context, size_t symbol, int64_t value, cu_stream stream) {
  size_t used = context->shapes.arena_bytes;
  if (context->shapes.symbols[symbol] == value)
    return NAUTILUS_OK;
  nautilus_status status = shapes_give(context->model, symbol, value, &context->shapes);
  if (status == NAUTILUS_OK && context->shapes.arena_bytes > context->workspace_bytes)
    status = move_workspace(context, used < context->workspace_bytes ? used : context->workspace_bytes, stream);
  if (status == NAUTILUS_OK)
    context_forget(context);
  else
    context->shapes.symbols[symbol] = -1; /* the next run is to take it anew, even if it is the same */
  return status;
}

/* Keeps the shapes of the inputs until a run reads the values. */
static nautilus_status keep_shapes(nautilus_context *context, const int64_t *const *inputs) {
  const struct payload *payload = &context->model->payload;
  TRY(shapes_check_inputs(context->model, inputs, &context->next));
  for (size_t i = 0; i < payload->header->input_count; i++)
    if (payload->ports[i].rank > 0)
      memcpy(context->input_shapes[i], inputs[i], payload->ports[i].rank * sizeof *context->input_dims);
  context->reads_values = 1;
  return NAUTILUS_OK;
}

nautilus_status nautilus_context_reshape_values(nautilus_context *context, const int64_t *const *inputs, const void *const *values) {
  if (context == NULL || (inputs == NULL && context->model->payload.header->input_count > 0))
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_context_reshape: the context or the shapes of the inputs are NULL");
  if (context->values != NULL && values == NULL)
    return keep_shapes(context, inputs);
  TRY(model_enter(context->model));
  nautilus_status status = context_take(context, inputs, values);
  if (status == NAUTILUS_OK)
    context->reads_values = 0;
  model_leave(context->model);
  return status;
}

nautilus_status nautilus_context_reshape(nautilus_context *context, const int64_t *const *inputs) {
  return nautilus_context_reshape_values(context, inputs, NULL);
}
