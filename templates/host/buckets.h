/* Graphs for the shapes that recur: one where the plan has no steps, else one for each straight run of launches. */
#ifndef NAUTILUS_HOST_BUCKETS_H
#define NAUTILUS_HOST_BUCKETS_H

#include "replay.h"

/* Shapes that were run: their second run makes the graphs that later ones replay. */
struct bucket {
  struct replay replay;    /* of all launches, where the plan has no steps */
  struct replay *segments; /* where it has: two a step */
  int64_t *sizes;          /* everything that was worked out */
  uint64_t used;           /* when last; 0: never */
  uint32_t runs;
};

/* A graph of 136 launches takes 0.6 to 1.0 ms to make and 1 MiB of host memory (docs/dynamic_shapes.md): this many per context. */
enum { BUCKETS = 8 };

nautilus_status buckets_create(nautilus_context *context);
void buckets_dispose(nautilus_context *context);

/* Makes the bucket of the context's shapes the current one: that of these shapes, else the one not used for longest. */
void buckets_select(nautilus_context *context);

/* Whether the current shapes ran before. */
int buckets_recur(nautilus_context *context);

#endif
