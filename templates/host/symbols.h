/* Symbols: sizes of open dimensions, which the shapes of inputs give, and elements of inputs. */
#ifndef NAUTILUS_HOST_SYMBOLS_H
#define NAUTILUS_HOST_SYMBOLS_H

#include "shapes.h"

/* Whether a symbol is an element of an input. */
int symbols_is_element(const struct payload_symbol *symbol);

/* What a symbol stands for as long as nothing says it. */
int64_t symbols_first_value(const struct payload_symbol *symbol);

const char *symbols_port_name(const nautilus_model *model, size_t port);

/* The patch of a dimension of a port, NULL where that is fixed. */
const struct payload_patch *symbols_patch_of(const struct payload *payload, size_t port, uint32_t dimension);

/* Takes the sizes of the open dimensions from the shapes of the inputs; those that are not known yet are -1. */
nautilus_status symbols_bind(const nautilus_model *model, const int64_t *const *inputs, struct shapes *shapes);

/* Takes the elements of inputs that are integers. *ARE_EXACT is then 0 where one stands for a value that it is not. */
nautilus_status symbols_bind_elements(const nautilus_model *model, const void *const *values, struct shapes *shapes, int *are_exact);

#endif
