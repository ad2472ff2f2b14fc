/* CUDA graphs of a context: one where all shapes are fixed; a few, for the shapes that recur, where some are open. */
#ifndef NAUTILUS_HOST_REPLAY_H
#define NAUTILUS_HOST_REPLAY_H

#include "shapes.h"

struct replay {
  cu_graph graph;
  cu_graph_exec exec;
  cu_graph_node *nodes; /* one a launch, from the first one on */
};

/* Shapes that were run: their second run makes the graph that later ones replay. */
struct bucket {
  struct replay replay;
  int64_t *sizes;           /* everything that was worked out */
  unsigned long long *sent; /* the argument blocks that the graph's nodes hold */
  uint32_t *rows;           /* what they launch, of the alternatives of each launch */
  uint32_t (*grids)[3];     /* the grids that they hold */
  uint64_t used;            /* when last; 0: never */
  uint32_t runs;
};

/* A graph takes 0.3 to 0.6 ms to instantiate, and some kilobytes of device memory a launch: this many per context. */
enum { BUCKETS = 8 };

/* Builds the graph of COUNT launches from FIRST on as the argument blocks are now: a chain, in the plan's order. */
nautilus_status replay_build(nautilus_context *context, struct replay *replay, size_t first, size_t count);
void replay_dispose(nautilus_context *context, struct replay *replay);

/* Makes the bucket of the context's shapes the current one: that of these shapes, else the one not used for longest. */
nautilus_status buckets_create(nautilus_context *context);
void buckets_dispose(nautilus_context *context);
void buckets_select(nautilus_context *context);

/* Runs the current bucket: by its graph, which the second run builds or, where it had other shapes before, brings up to these.
 * *IS_DONE is 0 where launches one by one are to follow instead. */
nautilus_status buckets_launch(nautilus_context *context, cu_stream stream, int *is_done);

#endif
