#include "counts.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

nautilus_status counts_create(nautilus_context *context) {
  const struct payload *payload = &context->model->payload;
  for (size_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    size_t *words = patch->kind == PATCH_COUNT ? &context->count_words : &context->limit_words;
    if ((patch->kind == PATCH_COUNT || patch->kind == PATCH_LIMIT) && patch->size >= *words)
      *words = (size_t)patch->size + 1;
  }
  context->counts = calloc(context->count_words + 1, sizeof *context->counts);
  context->count_dims = calloc(payload->dim_count + 1, sizeof *context->count_dims);
  if (context->counts == NULL || context->count_dims == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  return NAUTILUS_OK;
}

void counts_destroy(nautilus_context *context) {
  free(context->counts);
  free(context->count_dims);
}

int counts_give(const nautilus_model *model, size_t port) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->patch_count; i++)
    if (payload->patches[i].kind == PATCH_COUNT && payload->patches[i].target == port)
      return 1;
  return 0;
}

static nautilus_status read_words(const nautilus_context *context, int64_t *words, size_t count, cu_stream stream) {
  if (count == 0)
    return NAUTILUS_OK;
  if (count > context->workspace_bytes / sizeof *words)
    return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: what the model counts lies outside its workspace");
  TRY_DRIVER(&context->model->place.driver,
             cuMemcpyDtoHAsync(words, context->workspace, count * sizeof *words, stream),
             "reading what the model counted");
  return NAUTILUS_OK;
}

nautilus_status counts_enqueue(nautilus_context *context, cu_stream stream) {
  return read_words(context, context->counts, context->count_words, stream);
}

/* Refuses a number that is greater than it may be. */
static nautilus_status check_limit(const nautilus_model *model, const struct payload_patch *limit, int64_t value) {
  if (value <= (int64_t)limit->field)
    return NAUTILUS_OK;
  return error_set(NAUTILUS_NOT_SERVED, "'%s' is %s%lld; the library was compiled for at most %u. The outputs of that run are not to be used",
                   model->payload.strings + limit->target, value == INT32_MAX ? "at least " : "", (long long)value,
                   (unsigned)limit->field); /* kernels count no further */
}

nautilus_status counts_check_word(const nautilus_model *model, size_t word, int64_t value) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->patch_count; i++)
    if (payload->patches[i].kind == PATCH_LIMIT && payload->patches[i].size == word)
      TRY(check_limit(model, &payload->patches[i], value));
  return NAUTILUS_OK;
}

static nautilus_status check_words(const nautilus_context *context, int64_t *words) {
  const nautilus_model *model = context->model;
  TRY(model_enter(model));
  /* What counted was done when the flag was set, so there is nothing else to wait for. */
  nautilus_status status = read_words(context, words, context->limit_words, context->stream);
  if (status == NAUTILUS_OK)
    status = error_driver(&model->place.driver, model->place.driver.api.cuStreamSynchronize(context->stream), "reading what the model counted");
  model_leave(model);
  for (size_t i = 0; i < model->payload.patch_count && status == NAUTILUS_OK; i++)
    if (model->payload.patches[i].kind == PATCH_LIMIT)
      status = check_limit(model, &model->payload.patches[i], words[model->payload.patches[i].size]);
  return status;
}

/* Into memory of its own: another thread may ask, while that of the context serves a run. */
nautilus_status counts_check(const nautilus_context *context) {
  if (context->limit_words == 0)
    return NAUTILUS_OK;
  int64_t *words = calloc(context->limit_words, sizeof *words);
  if (words == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for what the model counted");
  nautilus_status status = check_words(context, words);
  free(words);
  return status;
}

/* Writes the dimensions of a port, of which some are among the numbers that were read. */
static nautilus_status shape_of(const nautilus_context *context, size_t port, int64_t *dims) {
  const struct payload *payload = &context->model->payload;
  const struct payload_port *row = &payload->ports[port];
  memcpy(dims, context->shapes.dims + row->dim_first, row->rank * sizeof *dims);
  for (size_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    if (patch->kind != PATCH_COUNT || patch->target != port)
      continue;
    int64_t found = context->counts[patch->size];
    if (found < 0 || found > dims[patch->field])
      return error_set(NAUTILUS_DEVICE_ERROR, "output '%s' has %lld in dimension %u, which is at most %lld; the outputs are not to be used",
                       payload->strings + row->name, (long long)found, (unsigned)patch->field, (long long)dims[patch->field]);
    dims[patch->field] = found;
  }
  return NAUTILUS_OK;
}

nautilus_status counts_bytes(const nautilus_context *context, size_t port, size_t *bytes) {
  const struct payload_port *row = &context->model->payload.ports[port];
  const int64_t *most = context->shapes.dims + row->dim_first;
  int64_t *dims = context->count_dims;
  size_t elements = 1;
  TRY(shape_of(context, port, dims));
  *bytes = context->shapes.port_bytes[port];
  for (uint32_t i = 0; i < row->rank; i++)
    if (most[i] > 0)
      *bytes /= (size_t)most[i]; /* whatever remains is what an element takes */
  for (uint32_t i = 0; i < row->rank; i++)
    elements *= (size_t)dims[i];
  *bytes *= elements;
  return NAUTILUS_OK;
}

nautilus_status nautilus_output_shapes(nautilus_context *context, int64_t *const *outputs, void *stream) {
  if (context == NULL || outputs == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_output_shapes: the context or the array of shapes is NULL");
  const nautilus_model *model = context->model;
  const struct payload_header *header = model->payload.header;
  nautilus_status status = NAUTILUS_OK;
  if (context->count_words > 0 && context->counts_are == COUNTS_NONE)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_output_shapes: the model computes shapes of outputs, and the context has not run since "
                                                "it was created or reshaped");
  if (context->counts_are == COUNTS_WRITTEN) {
    TRY(model_enter(model));
    status = counts_enqueue(context, stream);
    if (status == NAUTILUS_OK)
      status = error_driver(&model->place.driver, model->place.driver.api.cuStreamSynchronize(stream), "waiting for the stream");
    model_leave(model);
  }
  if (status == NAUTILUS_OK)
    status = context_take_flag(context);
  for (size_t i = 0; i < header->output_count && status == NAUTILUS_OK; i++)
    if (outputs[i] != NULL)
      status = shape_of(context, header->input_count + i, outputs[i]);
  if (status == NAUTILUS_OK && context->counts_are == COUNTS_WRITTEN)
    context->counts_are = COUNTS_READ;
  return status;
}
