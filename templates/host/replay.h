/* CUDA graphs of a context: one where all shapes are fixed; a few, for the shapes that recur, where some are open; of a plan with steps
 * one for each straight run of launches. */
#ifndef NAUTILUS_HOST_REPLAY_H
#define NAUTILUS_HOST_REPLAY_H

#include "shapes.h"

/* A graph of launches, one after another. */
struct replay {
  size_t first, count; /* the launches */
  cu_graph graph;
  cu_graph_exec exec;
  cu_graph_node *nodes; /* one a launch */
  /* What the nodes hold, where it is not the same in all runs. */
  unsigned long long *sent; /* argument blocks */
  uint32_t *rows;           /* what they launch, of the alternatives of each launch */
  uint32_t (*grids)[3];
  uint64_t generation; /* of the context's blocks when it was last brought up to them; 0: not yet */
  uint32_t skipped;    /* how often these were launched one by one instead */
};

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

/* Builds the graph of COUNT launches from FIRST on as the argument blocks are now: a chain, in the plan's order. */
nautilus_status replay_build(nautilus_context *context, struct replay *replay, size_t first, size_t count);

/* The same, of a graph whose nodes may be given other arguments, kernels and grids; addresses that move are not in it yet. */
nautilus_status replay_prepare(nautilus_context *context, struct replay *replay, size_t first, size_t count);

/* Runs COUNT launches from FIRST on by their graph, which is built where there is none, else brought up to what is to be launched. */
nautilus_status replay_run(nautilus_context *context, struct replay *replay, size_t first, size_t count, cu_stream stream);
void replay_dispose(nautilus_context *context, struct replay *replay);

/* Makes the bucket of the context's shapes the current one: that of these shapes, else the one not used for longest. */
nautilus_status buckets_create(nautilus_context *context);
void buckets_dispose(nautilus_context *context);
void buckets_select(nautilus_context *context);

/* Whether the current shapes ran before. */
int buckets_recur(nautilus_context *context);

#endif
