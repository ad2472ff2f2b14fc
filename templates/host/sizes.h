/* The table of operations: what is worked out of the symbols, row by row. */
#ifndef NAUTILUS_HOST_SIZES_H
#define NAUTILUS_HOST_SIZES_H

#include "model.h"

/* Works out all rows from the symbols. What is too large to work out is the nearest integer there is; returns the first such row, or one
 * that divides by nothing, or whose float is no number: the number of rows where there is none. IS_CUT, where it is there, tells the rows
 * that are such or are worked out from one. Without VALUES, rows that read inputs of floats stay as they are. */
size_t sizes_evaluate(const nautilus_model *model, const int64_t *symbols, const void *const *values, int64_t *value, uint8_t *is_cut);

/* The number of double precision that a row of such holds. */
double sizes_as_float(int64_t bits);

#endif
