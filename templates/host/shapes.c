#include "shapes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/* Most blocks along y or z of a grid, and along x. Source: CUDA C++ Programming Guide 13, Compute Capabilities, technical specifications. */
enum { MOST_BLOCKS_YZ = 65535, MOST_BLOCKS_X = INT_MAX };

int shapes_are_open(const nautilus_model *model) { return model->payload.symbol_count > 0; }

nautilus_status shapes_create(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  shapes->symbols = calloc(payload->symbol_count + 1, sizeof *shapes->symbols);
  shapes->sizes = calloc(payload->size_count + 1, sizeof *shapes->sizes);
  shapes->dims = calloc(payload->dim_count + 1, sizeof *shapes->dims);
  shapes->port_bytes = calloc(model->port_count + 1, sizeof *shapes->port_bytes);
  shapes->grids = calloc(model->launch_count + 1, sizeof *shapes->grids);
  shapes->word_values = calloc(payload->word_count + 1, sizeof *shapes->word_values);
  if (shapes->symbols == NULL || shapes->sizes == NULL || shapes->dims == NULL || shapes->port_bytes == NULL || shapes->grids == NULL ||
      shapes->word_values == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the sizes of a model");
  return shapes_work_out(model, NULL, shapes);
}

void shapes_destroy(struct shapes *shapes) {
  free(shapes->symbols);
  free(shapes->sizes);
  free(shapes->dims);
  free(shapes->port_bytes);
  free(shapes->grids);
  free(shapes->word_values);
}

static const char *name_of(const nautilus_model *model, size_t port) { return model->payload.strings + model->payload.ports[port].name; }

/* The patch of a dimension of a port, NULL where that is fixed. Patches of dimensions come first, in order. */
static const struct payload_patch *patch_of(const struct payload *payload, size_t port, uint32_t dimension) {
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
                   name_of(model, input), (long long)value, (unsigned)dimension, model->payload.strings + symbol->name,
                   (long long)symbol->low, (long long)symbol->high, multiples);
}

/* Takes the sizes of the open dimensions from the shapes of the inputs. */
static nautilus_status bind_symbols(const nautilus_model *model, const int64_t *const *inputs, struct shapes *shapes, size_t *source) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->header->input_count; i++) {
    const struct payload_port *port = &payload->ports[i];
    if (inputs[i] == NULL && port->rank > 0)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "the shape of input %zu, '%s', is NULL", i, name_of(model, i));
    for (uint32_t j = 0; j < port->rank; j++) {
      const struct payload_patch *patch = patch_of(payload, i, j);
      ptrdiff_t symbol = patch ? symbol_of(payload, patch) : -1;
      if (symbol < 0)
        continue;
      TRY(check_range(model, i, j, (size_t)symbol, inputs[i][j]));
      if (shapes->symbols[symbol] < 0) {
        shapes->symbols[symbol] = inputs[i][j];
        source[symbol] = i;
      } else if (shapes->symbols[symbol] != inputs[i][j]) {
        return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' has %lld in dimension %u, '%s'; input '%s' makes it %lld",
                         name_of(model, i), (long long)inputs[i][j], (unsigned)j, payload->strings + payload->symbols[symbol].name,
                         name_of(model, source[symbol]), (long long)shapes->symbols[symbol]);
      }
    }
  }
  for (size_t i = 0; i < payload->symbol_count; i++)
    if (shapes->symbols[i] < 0)
      return error_set(NAUTILUS_BAD_LIBRARY, "no input says how large dimension '%s' is", payload->strings + payload->symbols[i].name);
  return NAUTILUS_OK;
}

/* Rounded down, for a positive divisor. */
static int64_t floor_divide(int64_t dividend, int64_t divisor) { return dividend / divisor - (dividend % divisor < 0); }

/* The word by which kernels divide numbers of 31 bits: a multiplier, and a shift above it. Nothing divides by 0. */
static int64_t factor_of(int64_t divisor) {
  int shift = 0;
  if (divisor < 1 || divisor > INT_MAX)
    return 0;
  while ((int64_t)1 << shift < divisor)
    shift++;
  uint64_t multiplier = ((uint64_t)(((int64_t)1 << shift) - divisor) << 32) / (uint64_t)divisor + 1;
  return (int64_t)((uint64_t)shift << 32 | multiplier);
}

static nautilus_status evaluate(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  int64_t *value = shapes->sizes;
  for (size_t i = 0; i < payload->size_count; i++) {
    const struct payload_size *size = &payload->sizes[i];
    int64_t left = size->operation == SIZE_SYMBOL ? shapes->symbols[size->left] : value[size->left];
    int64_t right = size->operation == SIZE_CONSTANT ? size->right : value[size->right];
    int overflows = 0;
    switch (size->operation) {
    case SIZE_CONSTANT:
      value[i] = right;
      break;
    case SIZE_SYMBOL:
      value[i] = left;
      break;
    case SIZE_ADD:
      overflows = __builtin_add_overflow(left, right, &value[i]);
      break;
    case SIZE_MULTIPLY:
      overflows = __builtin_mul_overflow(left, right, &value[i]);
      break;
    case SIZE_DIVIDE:
      overflows = right <= 0;
      value[i] = overflows ? 0 : floor_divide(left, right);
      break;
    case SIZE_FACTOR:
      value[i] = factor_of(left);
      break;
    default:
      value[i] = left > right ? left : right;
    }
    if (overflows)
      return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is no number");
  }
  return NAUTILUS_OK;
}

static void copy_fixed(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  memcpy(shapes->dims, payload->dims, payload->dim_count * sizeof *shapes->dims);
  for (size_t i = 0; i < model->port_count; i++)
    shapes->port_bytes[i] = payload->ports[i].bytes;
  for (size_t i = 0; i < model->launch_count; i++)
    memcpy(shapes->grids[i], model->launches[i].grid, sizeof shapes->grids[i]);
  for (size_t i = 0; i < payload->word_count; i++)
    shapes->word_values[i] = payload->words[i].value;
  shapes->arena_bytes = model->place.variant->arena_bytes;
}

/* Puts a value in its place; values of other variants have none. */
static nautilus_status apply(const nautilus_model *model, const struct payload_patch *patch, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  int64_t value = shapes->sizes[patch->size];
  size_t launch = (size_t)patch->target - model->place.variant->launch_first;
  uint64_t most = patch->kind == PATCH_BYTES   ? payload->ports[patch->target].bytes
                  : patch->kind == PATCH_ARENA ? payload->variants[patch->target].arena_bytes
                                               : INT64_MAX;
  if (patch->kind != PATCH_WORD && value < 0)
    return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is negative");
  if (patch->kind != PATCH_WORD && (uint64_t)value > most)
    return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is above its bound");
  switch (patch->kind) {
  case PATCH_DIMENSION:
    shapes->dims[payload->ports[patch->target].dim_first + patch->field] = value;
    break;
  case PATCH_BYTES:
    shapes->port_bytes[patch->target] = (size_t)value;
    break;
  case PATCH_GRID:
    if (launch >= model->launch_count)
      break;
    if (value < 1 || value > (patch->field == 0 ? MOST_BLOCKS_X : MOST_BLOCKS_YZ))
      return error_set(NAUTILUS_UNSUPPORTED, "a launch of %lld blocks along dimension %u is not possible", (long long)value,
                       (unsigned)patch->field);
    shapes->grids[launch][patch->field] = (uint32_t)value;
    break;
  case PATCH_WORD:
    shapes->word_values[patch->target] = (uint64_t)value;
    break;
  default:
    if (&payload->variants[patch->target] == model->place.variant)
      shapes->arena_bytes = (size_t)value;
  }
  return NAUTILUS_OK;
}

/* Every dimension of an input is what the model makes of the open ones. */
static nautilus_status check_inputs(const nautilus_model *model, const int64_t *const *inputs, const struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->header->input_count; i++)
    for (uint32_t j = 0; j < payload->ports[i].rank; j++) {
      int64_t wanted = shapes->dims[payload->ports[i].dim_first + j];
      if (inputs[i][j] != wanted)
        return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' has %lld in dimension %u; %s %lld", name_of(model, i),
                         (long long)inputs[i][j], (unsigned)j,
                         patch_of(payload, i, j) ? "with these sizes of the other dimensions it takes" : "the model takes", (long long)wanted);
    }
  return NAUTILUS_OK;
}

static nautilus_status work_out(const nautilus_model *model, const int64_t *const *inputs, struct shapes *shapes, size_t *source) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->symbol_count; i++)
    shapes->symbols[i] = inputs ? -1 : payload->symbols[i].low;
  if (inputs != NULL)
    TRY(bind_symbols(model, inputs, shapes, source));
  TRY(evaluate(model, shapes));
  copy_fixed(model, shapes);
  for (size_t i = 0; i < payload->patch_count; i++)
    TRY(apply(model, &payload->patches[i], shapes));
  return inputs != NULL ? check_inputs(model, inputs, shapes) : NAUTILUS_OK;
}

nautilus_status shapes_work_out(const nautilus_model *model, const int64_t *const *inputs, struct shapes *shapes) {
  size_t *source = calloc(model->payload.symbol_count + 1, sizeof *source);
  if (source == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the sizes of a model");
  nautilus_status status = work_out(model, inputs, shapes, source);
  free(source);
  return status;
}

nautilus_status nautilus_shapes(const nautilus_model *model, const int64_t *const *inputs, int64_t *const *outputs,
                                size_t *workspace_bytes) {
  struct shapes shapes;
  memset(&shapes, 0, sizeof shapes);
  if (model == NULL || (inputs == NULL && model->payload.header->input_count > 0))
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_shapes: the model or the shapes of its inputs are NULL");
  nautilus_status status = shapes_create(model, &shapes);
  if (status == NAUTILUS_OK)
    status = shapes_work_out(model, inputs, &shapes);
  if (status == NAUTILUS_OK) {
    for (size_t i = 0; outputs != NULL && i < model->payload.header->output_count; i++) {
      const struct payload_port *port = &model->payload.ports[model->payload.header->input_count + i];
      if (outputs[i] != NULL)
        memcpy(outputs[i], shapes.dims + port->dim_first, port->rank * sizeof **outputs);
    }
    if (workspace_bytes != NULL)
      *workspace_bytes = shapes.arena_bytes;
  }
  shapes_destroy(&shapes);
  return status;
}
