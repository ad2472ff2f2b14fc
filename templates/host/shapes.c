#include "shapes.h"

#include <stdlib.h>
#include <string.h>

#include "checks.h"
#include "error.h"
#include "patches.h"
#include "sizes.h"
#include "symbols.h"

int shapes_are_open(const nautilus_model *model) { return model->payload.size_count > 0; }

/* The smallest sizes; where values of inputs are read, those of the inputs' shapes alone, which depend on no value. */
static nautilus_status begin(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->symbol_count; i++)
    shapes->symbols[i] = symbols_first_value(&payload->symbols[i]);
  sizes_evaluate(model, shapes->symbols, NULL, shapes->sizes, NULL);
  if (!shapes_read_values(model)) {
    shapes->is_set = 1;
    return patches_apply(model, shapes);
  }
  patches_apply_inputs(model, shapes);
  return NAUTILUS_OK;
}

nautilus_status shapes_create(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  shapes->symbols = calloc(payload->symbol_count + 1, sizeof *shapes->symbols);
  shapes->givers = calloc(payload->symbol_count + 1, sizeof *shapes->givers);
  shapes->sizes = calloc(payload->size_count + 1, sizeof *shapes->sizes);
  shapes->given = calloc(payload->symbol_count + 1, sizeof *shapes->given);
  shapes->exact = calloc(payload->size_count + 1, sizeof *shapes->exact);
  shapes->is_cut = calloc(payload->size_count + 1, sizeof *shapes->is_cut);
  shapes->dims = calloc(payload->dim_count + 1, sizeof *shapes->dims);
  shapes->port_bytes = calloc(model->port_count + 1, sizeof *shapes->port_bytes);
  shapes->rows = calloc(model->launch_count + 1, sizeof *shapes->rows);
  shapes->grids = calloc(model->launch_count + 1, sizeof *shapes->grids);
  shapes->word_values = calloc(payload->word_count + 1, sizeof *shapes->word_values);
  if (shapes->symbols == NULL || shapes->sizes == NULL || shapes->dims == NULL || shapes->port_bytes == NULL || shapes->grids == NULL ||
      shapes->word_values == NULL || shapes->rows == NULL || shapes->given == NULL || shapes->exact == NULL ||
      shapes->is_cut == NULL || shapes->givers == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the sizes of a model");
  for (size_t i = 0; i < payload->word_count; i++)
    shapes->word_values[i] = payload->words[i].value;
  return begin(model, shapes);
}

void shapes_destroy(struct shapes *shapes) {
  free(shapes->symbols);
  free(shapes->givers);
  free(shapes->sizes);
  free(shapes->given);
  free(shapes->exact);
  free(shapes->is_cut);
  free(shapes->dims);
  free(shapes->port_bytes);
  free(shapes->rows);
  free(shapes->grids);
  free(shapes->word_values);
}

nautilus_status shapes_work_out(const nautilus_model *model, const int64_t *const *inputs, const void *const *values,
                                struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  int are_exact = 1;
  for (size_t i = 0; i < payload->symbol_count; i++)
    shapes->symbols[i] = payload->symbols[i].source == SOURCE_READ ? symbols_first_value(&payload->symbols[i]) : -1;
  TRY(symbols_bind(model, inputs, shapes));
  memcpy(shapes->given, shapes->symbols, payload->symbol_count * sizeof *shapes->given);
  TRY(symbols_bind_elements(model, values, shapes, &are_exact));
  size_t row = sizes_evaluate(model, shapes->symbols, values, shapes->sizes, shapes->is_cut);
  if (!are_exact)
    sizes_evaluate(model, shapes->given, values, shapes->exact, shapes->is_cut);
  TRY(checks_rows(model, shapes, are_exact ? shapes->sizes : shapes->exact));
  if (row < payload->size_count)
    return checks_no_number(model, shapes, row);
  if (!are_exact)
    TRY(checks_nearest(model, shapes));
  TRY(patches_apply(model, shapes));
  TRY(checks_shared(model, shapes));
  shapes->is_set = 1;
  return checks_inputs(model, inputs, shapes);
}

nautilus_status shapes_give(const nautilus_model *model, size_t index, int64_t value, struct shapes *shapes) {
  const struct payload_symbol *symbol = &model->payload.symbols[index];
  if (value < symbol->low || value > symbol->high)
    return error_set(NAUTILUS_NOT_SERVED, "'%s' is %lld; the library was compiled for %lld to %lld. The outputs of that run are not to be used",
                     model->payload.strings + symbol->name, (long long)value, (long long)symbol->low, (long long)symbol->high);
  shapes->symbols[index] = value;
  /* Rows that are no number are those of what is empty. */
  sizes_evaluate(model, shapes->symbols, NULL, shapes->sizes, NULL);
  return patches_apply(model, shapes);
}

nautilus_status shapes_check_inputs(const nautilus_model *model, const int64_t *const *inputs, struct shapes *scratch) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->symbol_count; i++)
    scratch->symbols[i] = payload->symbols[i].source == SOURCE_DIMENSION ? -1 : symbols_first_value(&payload->symbols[i]);
  TRY(symbols_bind(model, inputs, scratch));
  sizes_evaluate(model, scratch->symbols, NULL, scratch->sizes, NULL);
  patches_apply_inputs(model, scratch);
  return checks_inputs(model, inputs, scratch);
}

void shapes_write_outputs(const nautilus_model *model, const struct shapes *shapes, int64_t *const *outputs) {
  for (size_t i = 0; outputs != NULL && i < model->payload.header->output_count; i++) {
    const struct payload_port *port = &model->payload.ports[model->payload.header->input_count + i];
    if (outputs[i] != NULL)
      memcpy(outputs[i], shapes->dims + port->dim_first, port->rank * sizeof **outputs);
  }
}

nautilus_status nautilus_shapes_of_values(const nautilus_model *model, const int64_t *const *inputs, const void *const *values,
                                          int64_t *const *outputs, size_t *workspace_bytes) {
  struct shapes shapes;
  memset(&shapes, 0, sizeof shapes);
  if (model == NULL || (inputs == NULL && model->payload.header->input_count > 0))
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_shapes: the model or the shapes of its inputs are NULL");
  nautilus_status status = shapes_create(model, &shapes);
  if (status == NAUTILUS_OK)
    status = shapes_work_out(model, inputs, values, &shapes);
  if (status == NAUTILUS_OK) {
    shapes_write_outputs(model, &shapes, outputs);
    if (workspace_bytes != NULL)
      *workspace_bytes = shapes.arena_bytes;
  }
  shapes_destroy(&shapes);
  return status;
}

nautilus_status nautilus_shapes(const nautilus_model *model, const int64_t *const *inputs, int64_t *const *outputs,
                                size_t *workspace_bytes) {
  return nautilus_shapes_of_values(model, inputs, NULL, outputs, workspace_bytes);
}
