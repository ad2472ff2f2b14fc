/* Puts sizes that are worked out where the plan has them: ports, grids, words of launches, tensor maps, the arena. */
#ifndef NAUTILUS_HOST_PATCHES_H
#define NAUTILUS_HOST_PATCHES_H

#include "shapes.h"

/* Puts every value in its place that a run with these sizes needs, of what is launched and all others, but those of tensor maps. */
nautilus_status patches_apply(const nautilus_model *model, struct shapes *shapes);

/* A tensor map as it is with these sizes. */
nautilus_status patches_map(const nautilus_model *model, const struct shapes *shapes, size_t index, struct payload_map *map);

/* The shapes of the inputs where nothing else is known yet. */
void patches_apply_inputs(const nautilus_model *model, struct shapes *shapes);

#endif
