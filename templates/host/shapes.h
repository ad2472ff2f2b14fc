/* The sizes with which a model runs, worked out for the shapes of its inputs: what is a number in the payload of a model whose
 * dimensions are all fixed is, where it depends on one that is open, the row of a table of operations. */
#ifndef NAUTILUS_HOST_SHAPES_H
#define NAUTILUS_HOST_SHAPES_H

#include "model.h"

struct shapes {
  int is_set;            /* whether the tables hold sizes: a model that reads values of inputs has none before */
  int64_t *symbols;      /* sizes of the open dimensions, and elements of inputs */
  size_t *givers;        /* one a symbol: the input that gave it */
  int64_t *sizes;        /* value of each row */
  int64_t *given;        /* symbols as inputs give them, where an element's nearest value stands in SYMBOLS for one beyond its range */
  int64_t *exact;        /* value of each row for those */
  uint8_t *is_cut;       /* one a row: whether it is beyond what 64 bits hold, or follows from such a row */
  int64_t *dims;         /* of all ports, laid out as those of the payload */
  size_t *port_bytes;    /* one a port */
  uint32_t *rows;        /* one a launch of the variant: what is launched, itself or an alternative */
  uint32_t (*grids)[3];  /* one a launch of the variant */
  uint64_t *word_values; /* one a word of the payload */
  size_t arena_bytes;
};

/* Whether a dimension is open. */
int shapes_are_open(const nautilus_model *model);

/* How many elements of an input, from the first on, the host reads, since sizes depend on them; 0 of one that decides none. */
size_t shapes_read_elements(const nautilus_model *model, size_t input);

/* Whether there is an input of which the host reads elements. */
int shapes_read_values(const nautilus_model *model);

/* Allocates the tables; they hold the smallest sizes, but where values of inputs are read, only the shapes of inputs. */
nautilus_status shapes_create(const nautilus_model *model, struct shapes *shapes);
void shapes_destroy(struct shapes *shapes);

/* Fills the tables for the shape of each input. After a failure they hold nothing of use.
 * VALUES holds one address in host memory for each input; of those that the host reads none is NULL. */
nautilus_status shapes_work_out(const nautilus_model *model, const int64_t *const *inputs, const void *const *values, struct shapes *shapes);

/* Takes the value of a symbol that a step of the run reads. */
nautilus_status shapes_give(const nautilus_model *model, size_t index, int64_t value, struct shapes *shapes);

/* Whether inputs may have these shapes, as far as that is known without values. */
nautilus_status shapes_check_inputs(const nautilus_model *model, const int64_t *const *inputs, struct shapes *scratch);

/* Writes the shape of each output for which there is an array. */
void shapes_write_outputs(const nautilus_model *model, const struct shapes *shapes, int64_t *const *outputs);

#endif
