#include "values.h"

#include <string.h>

size_t values_element_bytes(nautilus_dtype dtype) {
  switch (dtype) {
  case NAUTILUS_I64:
  case NAUTILUS_U64:
  case NAUTILUS_F64:
    return 8;
  case NAUTILUS_I32:
  case NAUTILUS_U32:
  case NAUTILUS_F32:
    return 4;
  case NAUTILUS_I16:
  case NAUTILUS_U16:
  case NAUTILUS_F16:
  case NAUTILUS_BF16:
    return 2;
  case NAUTILUS_I8:
  case NAUTILUS_U8:
  case NAUTILUS_BOOL:
    return 1;
  default:
    return 0;
  }
}

/* The bits of an element; the caller's memory need not be aligned. */
static uint64_t bits_of(nautilus_dtype dtype, const void *data, size_t index) {
  size_t bytes = values_element_bytes(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + index * bytes, bytes);
  return bits;
}

int64_t values_integer(nautilus_dtype dtype, const void *data, size_t index) {
  uint64_t bits = bits_of(dtype, data, index);
  switch (dtype) {
  case NAUTILUS_I64:
    return (int64_t)bits;
  case NAUTILUS_I32:
    return (int32_t)bits;
  case NAUTILUS_I16:
    return (int16_t)bits;
  case NAUTILUS_I8:
    return (int8_t)bits;
  case NAUTILUS_BOOL:
    return bits != 0;
  case NAUTILUS_U64:
  case NAUTILUS_U32:
  case NAUTILUS_U16:
  case NAUTILUS_U8:
    return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
  default:
    return 0;
  }
}

/* A 16-bit float of which the top bit is the sign, then an exponent and a fraction of so many bits. Source: IEEE 754-2019, 3.4. */
static double short_float(uint32_t bits, int exponent_bits, int fraction_bits) {
  uint32_t exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
  uint64_t fraction = bits & ((1u << fraction_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint64_t wide = 0;
  double result;
  if (exponent == 0) {
    uint64_t scale = (uint64_t)(1023 + 1 - bias - fraction_bits) << 52; /* of the last place of a number below the normal ones */
    memcpy(&result, &scale, sizeof result);
    result *= (double)fraction;
    return bits >> 15 ? -result : result;
  }
  wide = exponent == (1u << exponent_bits) - 1 ? 2047 : (uint64_t)((int)exponent - bias + 1023);
  wide = (uint64_t)(bits >> 15) << 63 | wide << 52 | fraction << (52 - fraction_bits);
  memcpy(&result, &wide, sizeof result);
  return result;
}

double values_float(nautilus_dtype dtype, const void *data, size_t index) {
  uint64_t bits = bits_of(dtype, data, index);
  uint32_t half = (uint32_t)bits;
  double number;
  float single;
  switch (dtype) {
  case NAUTILUS_F64:
    memcpy(&number, &bits, sizeof number);
    return number;
  case NAUTILUS_F32:
    memcpy(&single, &half, sizeof single);
    return single;
  case NAUTILUS_F16:
    return short_float(half, 5, 10);
  case NAUTILUS_BF16:
    return short_float(half, 8, 7);
  default:
    bits = (uint64_t)0x7ff8 << 48;
    memcpy(&number, &bits, sizeof number);
    return number;
  }
}

int64_t values_rounded(double number, enum values_rounding manner, int *is_number) {
  const double limit = 4611686018427387904.0; /* 2^62: whole numbers lie farther apart from 2^53 on */
  if (number != number) {
    *is_number = 0;
    return INT64_MIN; /* outside every range that is checked */
  }
  if (number >= limit || number <= -limit)
    return number > 0 ? INT64_MAX : INT64_MIN;
  int64_t whole = (int64_t)number;
  whole -= (double)whole > number;
  double rest = number - (double)whole;
  if (manner == ROUND_CEIL)
    return whole + (rest > 0);
  if (manner == ROUND_EVEN)
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 != 0));
  return whole;
}
