#include "checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "sizes.h"
#include "symbols.h"

/* Most elements of inputs that an error tells. */
enum { MOST_TOLD = 8 };

/* Appends "input 'shape' holds 5 in element 0" for each element that a row depends on. */
static void tell_elements(const nautilus_model *model, const struct shapes *shapes, size_t row, char *text, size_t bytes) {
  const struct payload *payload = &model->payload;
  uint8_t *is_used = calloc(row + 1, 1);
  size_t length = 0, told = 0;
  text[0] = '\0';
  if (is_used == NULL)
    return;
  is_used[row] = 1;
  for (size_t i = row + 1; i-- > 0;) {
    const struct payload_size *size = &payload->sizes[i];
    if (!is_used[i] || size->operation == SIZE_CONSTANT)
      continue;
    if (size->operation == SIZE_ELEMENT) {
      if (length < bytes && told < MOST_TOLD)
        length += (size_t)snprintf(text + length, bytes - length, "%s input '%s' holds %g in element %u", told++ ? "," : ";",
                                   symbols_port_name(model, size->left), sizes_as_float(shapes->sizes[i]), (unsigned)size->right);
      continue;
    }
    if (size->operation != SIZE_SYMBOL) {
      is_used[size->left] = is_used[size->right] = 1;
      continue;
    }
    const struct payload_symbol *symbol = &payload->symbols[size->left];
    if (!symbols_is_element(symbol) || length >= bytes || told >= MOST_TOLD)
      continue;
    length += (size_t)snprintf(text + length, bytes - length, "%s input '%s' holds %lld in element %u", told ? "," : ";",
                               symbols_port_name(model, symbol->input), (long long)shapes->given[size->left], (unsigned)symbol->element);
    told++;
  }
  free(is_used);
}

nautilus_status checks_no_number(const nautilus_model *model, const struct shapes *shapes, size_t row) {
  char elements[512];
  tell_elements(model, shapes, row, elements, sizeof elements);
  if (elements[0] == '\0')
    return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is no number");
  return error_set(NAUTILUS_INVALID_ARGUMENT, "a number that follows from values of inputs is too large, or none%s", elements);
}

nautilus_status checks_rows(const nautilus_model *model, const struct shapes *shapes, const int64_t *values) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->check_count; i++) {
    const struct payload_check *check = &payload->checks[i];
    long long value = (long long)values[check->value], low = (long long)values[check->low], high = (long long)values[check->high];
    char elements[512], range[64];
    if (shapes->is_cut[check->value])
      return checks_no_number(model, shapes, check->value);
    if (value >= low && value <= high)
      continue;
    tell_elements(model, shapes, check->value, elements, sizeof elements);
    if (low == high)
      snprintf(range, sizeof range, "%lld is", low);
    else
      snprintf(range, sizeof range, "%lld to %lld are", low, high);
    return error_set(NAUTILUS_INVALID_ARGUMENT, "%s: %lld, where %s right%s", payload->strings + check->text, value, range, elements);
  }
  return NAUTILUS_OK;
}

nautilus_status checks_nearest(const nautilus_model *model, const struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  char elements[512];
  for (size_t i = 0; i < payload->patch_count; i++) {
    size_t row = payload->patches[i].size;
    if (payload->patches[i].kind == PATCH_COUNT || payload->patches[i].kind == PATCH_LIMIT || shapes->sizes[row] == shapes->exact[row])
      continue;
    tell_elements(model, shapes, row, elements, sizeof elements);
    return error_set(NAUTILUS_INVALID_ARGUMENT, "a number that follows from values of inputs: %lld; the library computes with values of %d to "
                                                "%d%s", (long long)shapes->exact[row], INT_MIN, INT_MAX, elements);
  }
  return NAUTILUS_OK;
}

nautilus_status checks_inputs(const nautilus_model *model, const int64_t *const *inputs, const struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->header->input_count; i++)
    for (uint32_t j = 0; j < payload->ports[i].rank; j++) {
      int64_t wanted = shapes->dims[payload->ports[i].dim_first + j];
      if (inputs[i][j] != wanted)
        return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' has %lld in dimension %u; %s %lld", symbols_port_name(model, i),
                         (long long)inputs[i][j], (unsigned)j,
                         symbols_patch_of(payload, i, j) ? "with these sizes of the other dimensions it takes" : "the model takes", (long long)wanted);
    }
  return NAUTILUS_OK;
}

nautilus_status checks_shared(const nautilus_model *model, const struct shapes *shapes) {
  for (size_t i = 0; i < model->port_count; i++) {
    const struct payload_port *port = &model->payload.ports[i];
    if (port->shared != 0 && (shapes->port_bytes[i] != shapes->port_bytes[port->shared - 1] ||
                              shapes->dims[port->dim_first + port->axis] > port->capacity))
      return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: an output does not fit the input that it lies in");
  }
  return NAUTILUS_OK;
}
