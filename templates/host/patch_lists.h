/* Patches in the order in which runs of new shapes need them, which is by what they change: the payload's own is another. */
#ifndef NAUTILUS_HOST_PATCH_LISTS_H
#define NAUTILUS_HOST_PATCH_LISTS_H

#include <nautilus/abi.h>

/* A number that is worked out: row of the sizes, and which number it is of what it belongs to. */
struct patch_put {
  uint32_t size, field;
};

/* Of each of some things: puts[first[i]] up to puts[first[i + 1]]. */
struct patch_list {
  uint32_t *first;
  struct patch_put *puts;
};

/* Fields of what a row launches: the dimensions of its grid, then its words. */
enum { PATCH_GRID_FIELDS = 3 };

struct patch_lists {
  struct patch_list rows; /* one a row: a launch or an alternative */
  struct patch_list maps; /* one a tensor map */
  uint32_t *others;       /* patches of everything else that gives a number, one after another */
  size_t other_count;
};

/* Fills the model's lists; its rows are known. */
nautilus_status patch_lists_create(nautilus_model *model);
void patch_lists_destroy(struct patch_lists *lists);

#endif
