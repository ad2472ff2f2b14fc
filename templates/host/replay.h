/* A CUDA graph of launches that may be given others of their alternatives, grids and arguments. */
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
  int fits_all;        /* its edges are right for all alternatives; else they are those of what it launches */
  uint32_t skipped;    /* how often these ran as first runs do instead */
};

/* Builds the graph of COUNT launches from FIRST on as the argument blocks are now: a chain, in the plan's order. */
nautilus_status replay_build(nautilus_context *context, struct replay *replay, size_t first, size_t count);

/* The same, of a graph whose nodes may be given other arguments, kernels and grids. What they hold is then to be updated before it runs. */
nautilus_status replay_prepare(nautilus_context *context, struct replay *replay, size_t first, size_t count);

/* Lets a graph be that of launches from FIRST on, which are like those that it has, from the next update on. */
void replay_move(struct replay *replay, size_t first);

/* Gives the nodes of a graph the arguments, kernels and grids that are others than they hold. */
nautilus_status replay_update(nautilus_context *context, struct replay *replay);

/* Runs COUNT launches from FIRST on by their graph, which is built where there is none, else brought up to what is to be launched. */
nautilus_status replay_run(nautilus_context *context, struct replay *replay, size_t first, size_t count, cu_stream stream);
void replay_dispose(nautilus_context *context, struct replay *replay);

#endif
