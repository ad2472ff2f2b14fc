#include "shapes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "values.h"

/* Most blocks along y or z of a grid, and along x. Source: CUDA C++ Programming Guide 13, Compute Capabilities, technical specifications. */
enum { MOST_BLOCKS_YZ = 65535, MOST_BLOCKS_X = INT_MAX };
/* Most elements of inputs that an error tells. */
enum { MOST_TOLD = 8 };

static int is_element(const struct payload_symbol *symbol) {
  return symbol->source == SOURCE_ELEMENT || symbol->source == SOURCE_SATURATING;
}

/* What a symbol stands for as long as nothing says it; of one that a step reads, a number that can be divided by. */
static int64_t first_value(const struct payload_symbol *symbol) {
  return symbol->source == SOURCE_READ && symbol->high > 0 && symbol->low == 0 ? 1 : symbol->low;
}

int shapes_are_open(const nautilus_model *model) { return model->payload.size_count > 0; }

size_t shapes_read_elements(const nautilus_model *model, size_t input) {
  const struct payload *payload = &model->payload;
  size_t count = 0;
  for (size_t i = 0; i < payload->symbol_count; i++) {
    const struct payload_symbol *symbol = &payload->symbols[i];
    if (is_element(symbol) && symbol->input == input && symbol->element >= count)
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

static nautilus_status begin(const nautilus_model *model, struct shapes *shapes);

nautilus_status shapes_create(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  shapes->symbols = calloc(payload->symbol_count + 1, sizeof *shapes->symbols);
  shapes->sizes = calloc(payload->size_count + 1, sizeof *shapes->sizes);
  shapes->given = calloc(payload->symbol_count + 1, sizeof *shapes->given);
  shapes->exact = calloc(payload->size_count + 1, sizeof *shapes->exact);
  shapes->is_cut = calloc(payload->size_count + 1, sizeof *shapes->is_cut);
  shapes->dims = calloc(payload->dim_count + 1, sizeof *shapes->dims);
  shapes->port_bytes = calloc(model->port_count + 1, sizeof *shapes->port_bytes);
  shapes->rows = calloc(model->launch_count + 1, sizeof *shapes->rows);
  shapes->maps = calloc(payload->map_count + 1, sizeof *shapes->maps);
  shapes->grids = calloc(model->launch_count + 1, sizeof *shapes->grids);
  shapes->word_values = calloc(payload->word_count + 1, sizeof *shapes->word_values);
  if (shapes->symbols == NULL || shapes->sizes == NULL || shapes->dims == NULL || shapes->port_bytes == NULL || shapes->grids == NULL ||
      shapes->word_values == NULL || shapes->rows == NULL || shapes->maps == NULL || shapes->given == NULL || shapes->exact == NULL ||
      shapes->is_cut == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the sizes of a model");
  for (size_t i = 0; i < payload->word_count; i++)
    shapes->word_values[i] = payload->words[i].value;
  return begin(model, shapes);
}

void shapes_destroy(struct shapes *shapes) {
  free(shapes->symbols);
  free(shapes->sizes);
  free(shapes->given);
  free(shapes->exact);
  free(shapes->is_cut);
  free(shapes->dims);
  free(shapes->port_bytes);
  free(shapes->rows);
  free(shapes->maps);
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
    if (payload->symbols[i].source == SOURCE_DIMENSION && shapes->symbols[i] < 0)
      return error_set(NAUTILUS_BAD_LIBRARY, "no input says how large dimension '%s' is", payload->strings + payload->symbols[i].name);
  return NAUTILUS_OK;
}

/* Takes the elements of inputs that are integers. *ARE_EXACT is then 0 where one stands for a value that it is not. */
static nautilus_status bind_elements(const nautilus_model *model, const void *const *values, struct shapes *shapes, int *are_exact) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->header->input_count; i++)
    if (shapes_read_elements(model, i) > 0 && (values == NULL || values[i] == NULL))
      return error_set(NAUTILUS_INVALID_ARGUMENT, "input %zu, '%s', decides shapes by its values, but they are not given", i,
                       name_of(model, i));
  for (size_t i = 0; i < payload->symbol_count; i++) {
    const struct payload_symbol *symbol = &payload->symbols[i];
    if (!is_element(symbol))
      continue;
    int64_t value = values_integer((nautilus_dtype)payload->ports[symbol->input].dtype, values[symbol->input], symbol->element);
    int64_t nearest = value < symbol->low ? symbol->low : value > symbol->high ? symbol->high : value;
    if (nearest != value && symbol->source == SOURCE_ELEMENT)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "input '%s' holds %lld in element %u; the library was compiled for %lld to %lld there",
                       name_of(model, symbol->input), (long long)value, (unsigned)symbol->element, (long long)symbol->low,
                       (long long)symbol->high);
    shapes->symbols[i] = nearest;
    shapes->given[i] = value;
    *are_exact &= nearest == value;
  }
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

static double as_float(int64_t bits) {
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

static int64_t as_bits(double number) {
  int64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* The value of a row of double precision, or of one rounded. */
static int64_t evaluate_float(const struct payload *payload, const struct payload_size *size, const void *const *values,
                              const int64_t *value, int *is_number) {
  if (size->operation == SIZE_ELEMENT && values == NULL)
    return value[size - payload->sizes]; /* as it was */
  if (size->operation == SIZE_ELEMENT)
    return as_bits(values_float((nautilus_dtype)payload->ports[size->left].dtype, values[size->left], (size_t)size->right));
  if (size->operation == SIZE_DOUBLE)
    return as_bits((double)value[size->left]);
  double left = as_float(value[size->left]), right = as_float(value[size->right]);
  switch (size->operation) {
  case SIZE_FLOAT_ADD:
    return as_bits(left + right);
  case SIZE_FLOAT_SUBTRACT:
    return as_bits(left - right);
  case SIZE_FLOAT_MULTIPLY:
    return as_bits(left * right);
  case SIZE_FLOAT_DIVIDE:
    return as_bits(left / right);
  case SIZE_SINGLE:
    return as_bits((double)(float)left);
  default:
    return values_rounded(left, (enum values_rounding)(size->operation - SIZE_FLOOR), is_number);
  }
}

/* Works out all rows from the symbols. What is too large to work out is the nearest integer there is; returns the first such row, or one
 * that divides by nothing, or whose float is no number: the number of rows where there is none. IS_CUT, where it is there, tells the rows
 * that are such or are worked out from one. */
static size_t evaluate(const nautilus_model *model, const int64_t *symbols, const void *const *values, int64_t *value, uint8_t *is_cut) {
  const struct payload *payload = &model->payload;
  size_t first = payload->size_count;
  for (size_t i = 0; i < payload->size_count; i++) {
    const struct payload_size *size = &payload->sizes[i];
    if (is_cut)
      is_cut[i] = 0;
    if (size->operation == SIZE_CONSTANT || size->operation == SIZE_SYMBOL) {
      value[i] = size->operation == SIZE_CONSTANT ? size->right : symbols[size->left];
      continue;
    }
    if (size->operation >= SIZE_ELEMENT) {
      int is_number = 1;
      value[i] = evaluate_float(payload, size, values, value, &is_number);
      if (!is_number && first == payload->size_count)
        first = i;
      continue;
    }
    int64_t left = value[size->left], right = value[size->right];
    int overflows = 0;
    switch (size->operation) {
    case SIZE_ADD:
      overflows = __builtin_add_overflow(left, right, &value[i]);
      if (overflows)
        value[i] = left < 0 ? INT64_MIN : INT64_MAX;
      break;
    case SIZE_MULTIPLY:
      overflows = __builtin_mul_overflow(left, right, &value[i]);
      if (overflows)
        value[i] = (left < 0) != (right < 0) ? INT64_MIN : INT64_MAX;
      break;
    case SIZE_DIVIDE:
      overflows = right <= 0;
      value[i] = overflows ? 0 : floor_divide(left, right);
      break;
    case SIZE_FACTOR:
      value[i] = factor_of(left);
      break;
    case SIZE_IS_ZERO:
      value[i] = left == 0;
      break;
    case SIZE_IS_POSITIVE:
      value[i] = left > 0;
      break;
    default:
      value[i] = left > right ? left : right;
    }
    if (overflows && first == payload->size_count)
      first = i;
    if (is_cut && size->operation == SIZE_MAXIMUM)
      is_cut[i] = left >= right ? is_cut[size->left] : is_cut[size->right];
    else if (is_cut && size->operation != SIZE_IS_ZERO && size->operation != SIZE_IS_POSITIVE)
      is_cut[i] = overflows || is_cut[size->left] || is_cut[size->right];
  }
  return first;
}

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
                                   name_of(model, size->left), as_float(shapes->sizes[i]), (unsigned)size->right);
      continue;
    }
    if (size->operation != SIZE_SYMBOL) {
      is_used[size->left] = is_used[size->right] = 1;
      continue;
    }
    const struct payload_symbol *symbol = &payload->symbols[size->left];
    if (!is_element(symbol) || length >= bytes || told >= MOST_TOLD)
      continue;
    length += (size_t)snprintf(text + length, bytes - length, "%s input '%s' holds %lld in element %u", told ? "," : ";",
                               name_of(model, symbol->input), (long long)shapes->given[size->left], (unsigned)symbol->element);
    told++;
  }
  free(is_used);
}

/* Refuses what row ROW cannot be worked out for. */
static nautilus_status no_number(const nautilus_model *model, const struct shapes *shapes, size_t row) {
  char elements[512];
  tell_elements(model, shapes, row, elements, sizeof elements);
  if (elements[0] == '\0')
    return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is no number");
  return error_set(NAUTILUS_INVALID_ARGUMENT, "a number that follows from values of inputs is too large, or none%s", elements);
}

/* Every row of which the model says a range lies in it. Where an element stands for another one, what it gives itself must. */
static nautilus_status check_rows(const nautilus_model *model, const struct shapes *shapes, const int64_t *values) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->check_count; i++) {
    const struct payload_check *check = &payload->checks[i];
    long long value = (long long)values[check->value], low = (long long)values[check->low], high = (long long)values[check->high];
    char elements[512], range[64];
    if (shapes->is_cut[check->value])
      return no_number(model, shapes, check->value);
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

/* Where an element stands for the nearest value that the library was compiled for, what is launched must be what the element itself makes of
 * it: a limit far behind the end of a dimension is cut to that all the same, but the remainder of a large number is not that of another. */
static nautilus_status check_nearest(const nautilus_model *model, const struct shapes *shapes) {
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

/* Chooses what is launched: the first alternative whose condition holds, else the launch itself. */
static void choose(const nautilus_model *model, struct shapes *shapes) {
  for (uint32_t i = 0; i < model->launch_count; i++) {
    const struct payload_launch *launch = &model->launches[i];
    shapes->rows[i] = i;
    for (uint32_t j = launch->alternative_count; j > 0; j--)
      if (shapes->sizes[model->launches[launch->alternative_first + j - 1].condition] <= 0)
        shapes->rows[i] = launch->alternative_first + j - 1;
  }
}

static void patch_map(struct payload_map *map, uint32_t field, uint64_t value) {
  if (field < PAYLOAD_MAP_RANK)
    map->extents[field] = value;
  else if (field < PAYLOAD_MAP_FIELDS - 1)
    map->strides[field - PAYLOAD_MAP_RANK] = value;
  else
    map->offset = value;
}

/* What no patch gives, and what is launched, since that decides which grids count. */
static void copy_fixed(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  choose(model, shapes);
  memcpy(shapes->dims, payload->dims, payload->dim_count * sizeof *shapes->dims);
  for (size_t i = 0; i < model->port_count; i++)
    shapes->port_bytes[i] = payload->ports[i].bytes;
  for (size_t i = 0; i < model->launch_count; i++)
    memcpy(shapes->grids[i], model->launches[shapes->rows[i]].grid, sizeof shapes->grids[i]);
  memcpy(shapes->maps, payload->maps, payload->map_count * sizeof *shapes->maps);
  shapes->arena_bytes = model->place.variant->arena_bytes;
}

/* Puts a value in its place; values of other variants have none. */
static nautilus_status apply(const nautilus_model *model, const struct payload_patch *patch, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  int64_t value = shapes->sizes[patch->size];
  size_t row = (size_t)patch->target - model->place.variant->launch_first;
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
    if (value < 1 || value > (patch->field == 0 ? MOST_BLOCKS_X : MOST_BLOCKS_YZ))
      return error_set(NAUTILUS_UNSUPPORTED, "a launch of %lld blocks along dimension %u is not possible", (long long)value,
                       (unsigned)patch->field);
    shapes->grids[model->owner[row]][patch->field] = (uint32_t)value;
    break;
  case PATCH_WORD:
    shapes->word_values[patch->target] = (uint64_t)value;
    break;
  case PATCH_MAP:
    patch_map(&shapes->maps[patch->target], patch->field, (uint64_t)value);
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

/* Puts what a row launches in its place. */
static nautilus_status apply_row(const nautilus_model *model, uint32_t row, struct shapes *shapes) {
  const struct payload_launch *launch = &model->launches[row];
  for (int i = 0; i < 3; i++)
    if (model->grid_patches[3 * row + i] > 0)
      TRY(apply(model, &model->payload.patches[model->grid_patches[3 * row + i] - 1], shapes));
  for (uint32_t i = launch->word_first; i < launch->word_first + launch->word_count; i++)
    if (model->word_patches[i] > 0)
      TRY(apply(model, &model->payload.patches[model->word_patches[i] - 1], shapes));
  return NAUTILUS_OK;
}

/* Puts every value in its place that a run with these sizes needs: of what is launched, and all others. */
static nautilus_status apply_all(const nautilus_model *model, struct shapes *shapes) {
  copy_fixed(model, shapes);
  for (size_t i = 0; i < model->patch_count; i++)
    TRY(apply(model, &model->payload.patches[model->patches[i]], shapes));
  for (size_t i = 0; i < model->launch_count; i++)
    TRY(apply_row(model, shapes->rows[i], shapes));
  return NAUTILUS_OK;
}

/* The shapes of the inputs where nothing else is known yet. */
static void begin_inputs(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  copy_fixed(model, shapes);
  shapes->arena_bytes = 0;
  for (size_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    if (patch->kind == PATCH_BYTES)
      shapes->port_bytes[patch->target] = 0;
    if (patch->kind == PATCH_DIMENSION && patch->target < payload->header->input_count)
      shapes->dims[payload->ports[patch->target].dim_first + patch->field] = shapes->sizes[patch->size];
  }
}

/* The smallest sizes; where values of inputs are read, those of the inputs' shapes alone, which depend on no value. */
static nautilus_status begin(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  for (size_t i = 0; i < payload->symbol_count; i++)
    shapes->symbols[i] = first_value(&payload->symbols[i]);
  evaluate(model, shapes->symbols, NULL, shapes->sizes, NULL);
  if (!shapes_read_values(model)) {
    shapes->is_set = 1;
    return apply_all(model, shapes);
  }
  begin_inputs(model, shapes);
  return NAUTILUS_OK;
}

/* An output that lies in an input is as large, and has its rows inside. */
static nautilus_status check_shared(const nautilus_model *model, const struct shapes *shapes) {
  for (size_t i = 0; i < model->port_count; i++) {
    const struct payload_port *port = &model->payload.ports[i];
    if (port->shared != 0 && (shapes->port_bytes[i] != shapes->port_bytes[port->shared - 1] ||
                              shapes->dims[port->dim_first + port->axis] > port->capacity))
      return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: an output does not fit the input that it lies in");
  }
  return NAUTILUS_OK;
}

static nautilus_status work_out(const nautilus_model *model, const int64_t *const *inputs, const void *const *values,
                                struct shapes *shapes, size_t *source) {
  const struct payload *payload = &model->payload;
  int are_exact = 1;
  for (size_t i = 0; i < payload->symbol_count; i++)
    shapes->symbols[i] = payload->symbols[i].source == SOURCE_READ ? first_value(&payload->symbols[i]) : -1;
  TRY(bind_symbols(model, inputs, shapes, source));
  memcpy(shapes->given, shapes->symbols, payload->symbol_count * sizeof *shapes->given);
  TRY(bind_elements(model, values, shapes, &are_exact));
  size_t row = evaluate(model, shapes->symbols, values, shapes->sizes, shapes->is_cut);
  if (!are_exact)
    evaluate(model, shapes->given, values, shapes->exact, shapes->is_cut);
  TRY(check_rows(model, shapes, are_exact ? shapes->sizes : shapes->exact));
  if (row < payload->size_count)
    return no_number(model, shapes, row);
  if (!are_exact)
    TRY(check_nearest(model, shapes));
  TRY(apply_all(model, shapes));
  TRY(check_shared(model, shapes));
  shapes->is_set = 1;
  return check_inputs(model, inputs, shapes);
}

nautilus_status shapes_give(const nautilus_model *model, size_t index, int64_t value, struct shapes *shapes) {
  const struct payload_symbol *symbol = &model->payload.symbols[index];
  if (value < symbol->low || value > symbol->high)
    return error_set(NAUTILUS_NOT_SERVED, "'%s' is %lld; the library was compiled for %lld to %lld. The outputs of that run are not to be used",
                     model->payload.strings + symbol->name, (long long)value, (long long)symbol->low, (long long)symbol->high);
  shapes->symbols[index] = value;
  /* Rows that are no number are those of what is empty. */
  evaluate(model, shapes->symbols, NULL, shapes->sizes, NULL);
  return apply_all(model, shapes);
}

nautilus_status shapes_check_inputs(const nautilus_model *model, const int64_t *const *inputs, struct shapes *scratch) {
  const struct payload *payload = &model->payload;
  size_t *source = calloc(payload->symbol_count + 1, sizeof *source);
  if (source == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the sizes of a model");
  for (size_t i = 0; i < payload->symbol_count; i++)
    scratch->symbols[i] = payload->symbols[i].source == SOURCE_DIMENSION ? -1 : first_value(&payload->symbols[i]);
  nautilus_status status = bind_symbols(model, inputs, scratch, source);
  free(source);
  TRY(status);
  evaluate(model, scratch->symbols, NULL, scratch->sizes, NULL);
  begin_inputs(model, scratch);
  return check_inputs(model, inputs, scratch);
}

void shapes_write_outputs(const nautilus_model *model, const struct shapes *shapes, int64_t *const *outputs) {
  for (size_t i = 0; outputs != NULL && i < model->payload.header->output_count; i++) {
    const struct payload_port *port = &model->payload.ports[model->payload.header->input_count + i];
    if (outputs[i] != NULL)
      memcpy(outputs[i], shapes->dims + port->dim_first, port->rank * sizeof **outputs);
  }
}

nautilus_status shapes_work_out(const nautilus_model *model, const int64_t *const *inputs, const void *const *values,
                                struct shapes *shapes) {
  size_t *source = calloc(model->payload.symbol_count + 1, sizeof *source);
  if (source == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the sizes of a model");
  nautilus_status status = work_out(model, inputs, values, shapes, source);
  free(source);
  return status;
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
