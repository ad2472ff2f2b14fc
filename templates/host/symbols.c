#include "symbols.h"

#include <stdio.h>

#include "error.h"
#include "values.h"

int symbols_is_element(const struct payload_symbol *symbol) {
  return symbol->source == SOURCE_ELEMENT || symbol->source == SOURCE_SATURATING;
}

/* What a symbol stands for as long as nothing says it; of one that a step reads, a number that can be divided by. */
int64_t symbols_first_value(const struct payload_symbol *symbol) {
  return symbol->source == SOURCE_READ && symbol->high > 0 && symbol->low == 0 ? 1 : symbol->low;
}

size_t shapes_read_elements(const nautilus_model *model, size_t input) {
  const struct payload *payload = &model->payload;
  size_t count = 0;
  for (size_t i = 0; i < payload->symbol_count; i++) {
    const struct payload_symbol *symbol = &payload->symbols[i];
    if (symbols_is_element(symbol) && symbol->input == input && symbol->element >= count)
      count = (size_t)symbol->element + 1;
  }
  for (size_t i = 0; i < payload->size_count; i++) {
    const struct payload_size *size = &payload->sizes[i];
    if (size->operation == SIZE_ELEMENT && size->left == input && (size_t)size->right >= count)
      count = (size_t)size->right + 1;
  }
  return count;
}

int shapes_read_values(const nautilus_model *model) {
  for (size_t i = 0; i < model->payload.header->input_count; i++)
    if (shapes_read_elements(model, i) > 0)
      return 1;
  return 0;
}

const char *symbols_port_name(const nautilus_model *model, size_t port) { return model->payload.strings + model->payload.ports[port].name; }

/* Patches of dimensions come first, in order. */
const struct payload_patch *symbols_patch_of(const struct payload *payload, size_t port, uint32_t dimension) {
  for (size_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    if (patch->kind == PATCH_DIMENSION && patch->target == port && patch->field == dimension)
      return patch;
  }
  return NULL;
}

/* The open dimension that a patch gives as it is, -1 where it gives something worked out. */
static ptrdiff_t symbol_of(const struct payload *payload, const struct payload_patch *patch) {
  const struct payload_size *size = &payload->sizes[patch->size];
  return size->operation == SIZE_SYMBOL ? (ptrdiff_t)size->left : -1;
}

static nautilus_status check_range(const nautilus_model *model, size_t input, uint32_t dimension, size_t index, int64_t value) {
  const struct payload_symbol *symbol = &model->payload.symbols[index];
  char multiples[64] = "";
  if (value >= symbol->low && value <= symbol->high && value % symbol->divisor == 0)
    return NAUTILUS_OK;
  if (symbol->divisor > 1)
    snprintf(multiples, sizeof multiples, " in multiples of %lld", (long long)symbol->divisor);
  return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' has %lld in dimension %u, '%s'; the library was compiled for %lld to %lld%s",
                   symbols_port_name(model, input), (long long)value, (unsigned)dimension, model->payload.strings + symbol->name,
                   (long long)symbol->low, (long long)symbol->high, multiples);
}

nautilus_status symbols_bind(const nautilus_model *model, const int64_t *const *inputs, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->header->input_count; i++) {
    const struct payload_port *port = &payload->ports[i];
    if (inputs[i] == NULL && port->rank > 0)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "the shape of input %zu, '%s', is NULL", i, symbols_port_name(model, i));
    for (uint32_t j = 0; j < port->rank; j++) {
      const struct payload_patch *patch = symbols_patch_of(payload, i, j);
      ptrdiff_t symbol = patch ? symbol_of(payload, patch) : -1;
      if (symbol < 0)
        continue;
      TRY(check_range(model, i, j, (size_t)symbol, inputs[i][j]));
      if (shapes->symbols[symbol] < 0) {
        shapes->symbols[symbol] = inputs[i][j];
        shapes->givers[symbol] = i;
      } else if (shapes->symbols[symbol] != inputs[i][j]) {
        return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' has %lld in dimension %u, '%s'; input '%s' makes it %lld",
                         symbols_port_name(model, i), (long long)inputs[i][j], (unsigned)j, payload->strings + payload->symbols[symbol].name,
                         symbols_port_name(model, shapes->givers[symbol]), (long long)shapes->symbols[symbol]);
      }
    }
  }
  for (size_t i = 0; i < payload->symbol_count; i++)
    if (payload->symbols[i].source == SOURCE_DIMENSION && shapes->symbols[i] < 0)
      return error_set(NAUTILUS_BAD_LIBRARY, "no input says how large dimension '%s' is", payload->strings + payload->symbols[i].name);
  return NAUTILUS_OK;
}

nautilus_status symbols_bind_elements(const nautilus_model *model, const void *const *values, struct shapes *shapes, int *are_exact) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->header->input_count; i++)
    if (shapes_read_elements(model, i) > 0 && (values == NULL || values[i] == NULL))
      return error_set(NAUTILUS_INVALID_ARGUMENT, "input %zu, '%s', decides shapes by its values, but they are not given", i,
                       symbols_port_name(model, i));
  for (size_t i = 0; i < payload->symbol_count; i++) {
    const struct payload_symbol *symbol = &payload->symbols[i];
    if (!symbols_is_element(symbol))
      continue;
    int64_t value = values_integer((nautilus_dtype)payload->ports[symbol->input].dtype, values[symbol->input], symbol->element);
    int64_t nearest = value < symbol->low ? symbol->low : value > symbol->high ? symbol->high : value;
    if (nearest != value && symbol->source == SOURCE_ELEMENT)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' holds %lld in element %u; the library was compiled for %lld to %lld there",
                       symbols_port_name(model, symbol->input), (long long)value, (unsigned)symbol->element, (long long)symbol->low,
                       (long long)symbol->high);
    shapes->symbols[i] = nearest;
    shapes->given[i] = value;
    *are_exact &= nearest == value;
  }
  return NAUTILUS_OK;
}
