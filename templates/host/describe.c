/* What a library and a model say about themselves. */
#include <string.h>

#include "counts.h"
#include "error.h"
#include "shapes.h"
#include "structs.h"

size_t nautilus_target_count(void) {
  struct payload payload;
  return payload_open(&payload) == NAUTILUS_OK ? payload.variant_count : 0;
}

nautilus_status nautilus_target_describe(size_t index, nautilus_target *target) {
  struct payload payload;
  TRY(payload_open(&payload));
  if (index >= payload.variant_count)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "there is no target %zu: the library holds %zu", index, payload.variant_count);
  const struct payload_variant *variant = &payload.variants[index];
  nautilus_target filled = {sizeof filled,
                            payload.strings + variant->name,
                            (int32_t)variant->major,
                            (int32_t)variant->minor,
                            (int32_t)variant->exact,
                            variant->kind == PAYLOAD_EMULATED};
  return struct_write(target, &filled, sizeof filled, "nautilus_target");
}

nautilus_status nautilus_model_describe(const nautilus_model *model, nautilus_model_info *info) {
  if (model == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_model_describe: the model is NULL");
  const struct payload_variant *variant = model->place.variant;
  const struct payload_header *header = model->payload.header;
  nautilus_model_info filled;
  memset(&filled, 0, sizeof filled);
  filled.struct_bytes = sizeof filled;
  filled.target = model->payload.strings + variant->name;
  filled.device = model->place.device_name;
  filled.emulated = variant->kind == PAYLOAD_EMULATED;
  filled.driver_version = model->place.driver_version;
  filled.input_count = header->input_count;
  filled.output_count = header->output_count;
  filled.launch_count = model->launch_count;
  filled.workspace_bytes = variant->arena_bytes;
  filled.weight_bytes = header->weights.bytes;
  filled.model_digest = model->digests[0];
  filled.manifest_digest = model->digests[1];
  filled.plan_digest = model->digests[2];
  filled.weights_digest = model->digests[3];
  filled.version = model->payload.strings + header->producer;
  for (size_t i = 0; i < model->payload.symbol_count; i++)
    filled.dimension_count += model->payload.symbols[i].source == SOURCE_DIMENSION;
  for (size_t i = 0; i < header->output_count; i++)
    filled.counted_count += (size_t)counts_give(model, header->input_count + i);
  return struct_write(info, &filled, sizeof filled, "nautilus_model_info");
}

static nautilus_status describe_port(const nautilus_model *model, size_t first, size_t count, size_t index, const char *kind,
                                     nautilus_tensor *tensor) {
  if (index >= count)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "there is no %s %zu: the model has %zu", kind, index, count);
  const struct payload_port *port = &model->payload.ports[first + index];
  nautilus_tensor filled = {sizeof filled,
                            model->payload.strings + port->name,
                            (nautilus_dtype)port->dtype,
                            port->rank,
                            model->payload.dims + port->dim_first,
                            (size_t)port->bytes,
                            port->shared == 0 ? 0 : (uint32_t)(port->shared - (first > 0 ? 0 : model->payload.header->input_count)),
                            port->axis,
                            port->capacity,
                            first > 0 ? 0 : shapes_read_elements(model, index)};
  return struct_write(tensor, &filled, sizeof filled, "nautilus_tensor");
}

nautilus_status nautilus_dimension_describe(const nautilus_model *model, size_t index, nautilus_dimension *dimension) {
  if (model == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_dimension_describe: the model is NULL");
  const struct payload_symbol *symbol = NULL;
  size_t count = 0;
  for (size_t i = 0; i < model->payload.symbol_count; i++)
    if (model->payload.symbols[i].source == SOURCE_DIMENSION && count++ == index)
      symbol = &model->payload.symbols[i];
  if (symbol == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "there is no dimension %zu: the model has %zu", index, count);
  nautilus_dimension filled = {sizeof filled, model->payload.strings + symbol->name, symbol->low, symbol->high, symbol->divisor};
  return struct_write(dimension, &filled, sizeof filled, "nautilus_dimension");
}

nautilus_status nautilus_input(const nautilus_model *model, size_t index, nautilus_tensor *tensor) {
  if (model == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_input: the model is NULL");
  return describe_port(model, 0, model->payload.header->input_count, index, "input", tensor);
}

nautilus_status nautilus_output(const nautilus_model *model, size_t index, nautilus_tensor *tensor) {
  if (model == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_output: the model is NULL");
  return describe_port(model, model->payload.header->input_count, model->payload.header->output_count, index, "output", tensor);
}
