/* What must hold of shapes and values of inputs, and what is said where it does not. */
#ifndef NAUTILUS_HOST_CHECKS_H
#define NAUTILUS_HOST_CHECKS_H

#include "shapes.h"

/* Refuses what row ROW cannot be worked out for. */
nautilus_status checks_no_number(const nautilus_model *model, const struct shapes *shapes, size_t row);

/* Every row of which the model says a range lies in it. Where an element stands for another one, what it gives itself must. */
nautilus_status checks_rows(const nautilus_model *model, const struct shapes *shapes, const int64_t *values);

/* Where an element stands for the nearest value that the library was compiled for, what is launched must be what the element itself makes of
 * it: a limit far behind the end of a dimension is cut to that all the same, but the remainder of a large number is not that of another. */
nautilus_status checks_nearest(const nautilus_model *model, const struct shapes *shapes);

/* Every dimension of an input is what the model makes of the open ones. */
nautilus_status checks_inputs(const nautilus_model *model, const int64_t *const *inputs, const struct shapes *shapes);

/* An output that lies in an input is as large, and has its rows inside. */
nautilus_status checks_shared(const nautilus_model *model, const struct shapes *shapes);

#endif
