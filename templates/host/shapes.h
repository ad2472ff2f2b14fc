/* The sizes with which a model runs, worked out for the shapes of its inputs: what is a number in the payload of a model whose
 * dimensions are all fixed is, where it depends on one that is open, the row of a table of operations. */
#ifndef NAUTILUS_HOST_SHAPES_H
#define NAUTILUS_HOST_SHAPES_H

#include "model.h"

struct shapes {
  int64_t *symbols;      /* sizes of the open dimensions */
  int64_t *sizes;        /* value of each row */
  int64_t *dims;         /* of all ports, laid out as those of the payload */
  size_t *port_bytes;    /* one a port */
  uint32_t (*grids)[3];  /* one a launch of the variant */
  uint64_t *word_values; /* one a word of the payload */
  size_t arena_bytes;
};

/* Whether a dimension is open. */
int shapes_are_open(const nautilus_model *model);

/* Allocates the tables; they hold the smallest sizes. */
nautilus_status shapes_create(const nautilus_model *model, struct shapes *shapes);
void shapes_destroy(struct shapes *shapes);

/* Fills the tables for the shape of each input, NULL for the smallest sizes. After a failure they hold nothing of use. */
nautilus_status shapes_work_out(const nautilus_model *model, const int64_t *const *inputs, struct shapes *shapes);

#endif
