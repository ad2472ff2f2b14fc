/* Elements of inputs on the host: those that decide shapes. */
#ifndef NAUTILUS_HOST_VALUES_H
#define NAUTILUS_HOST_VALUES_H

#include <nautilus/abi.h>

/* Bytes of an element of a type that can decide a shape; 0 of any other. */
size_t values_element_bytes(nautilus_dtype dtype);

/* An element as an integer; an unsigned one above what that holds is the greatest there is. Of a type of floats: 0. */
int64_t values_integer(nautilus_dtype dtype, const void *data, size_t index);

/* An element of a type of floats; NaN of any other type. */
double values_float(nautilus_dtype dtype, const void *data, size_t index);

enum values_rounding { ROUND_FLOOR, ROUND_CEIL, ROUND_EVEN };

/* A number rounded to an integer; beyond what that holds, the nearest there is. Sets *IS_NUMBER to 0 where it is NaN. */
int64_t values_rounded(double number, enum values_rounding manner, int *is_number);

#endif
