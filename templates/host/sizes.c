#include "sizes.h"

#include <limits.h>
#include <string.h>

#include "values.h"

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

double sizes_as_float(int64_t bits) {
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
  double left = sizes_as_float(value[size->left]), right = sizes_as_float(value[size->right]);
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

size_t sizes_evaluate(const nautilus_model *model, const int64_t *symbols, const void *const *values, int64_t *value, uint8_t *is_cut) {
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
