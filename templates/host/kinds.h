/* Launches that are alike: whatever the sizes, each may launch the kernels that the other may. */
#ifndef NAUTILUS_HOST_KINDS_H
#define NAUTILUS_HOST_KINDS_H

#include "model.h"

/* Fills the model's table of kinds. */
nautilus_status kinds_list(nautilus_model *model);

/* Whether COUNT launches from FIRST on are like those from OTHER on, one by one. */
int kinds_are_equal(const nautilus_model *model, size_t first, size_t other, size_t count);

#endif
