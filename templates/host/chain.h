/* The first run of shapes: while the device runs some launches as a graph, the host brings the graph of the next ones up to these shapes.
 *
 * What that costs the host is mostly the nodes that get another kernel. So launches that are alike share a graph, as the layers of a
 * transformer do: it gets other kernels once a run, and other arguments for each of them, also while it runs, since what was launched keeps
 * its own. */
#ifndef NAUTILUS_HOST_CHAIN_H
#define NAUTILUS_HOST_CHAIN_H

#include "replay.h"

/* Some launches, one after another, and all those that are like them. */
struct link {
  size_t first, count; /* those that it was made for */
  struct replay graph; /* none where the driver refused: these are launched one by one */
};

struct chain {
  struct link *links;
  size_t link_count;
  uint32_t *begins; /* one a launch: 1 + the link of the launches from it on, or 0 */
};

/* Makes the graphs. */
nautilus_status chain_create(nautilus_context *context);
void chain_dispose(nautilus_context *context);

/* Runs COUNT launches from FIRST on, which are those of a step where the plan has steps, else all. */
nautilus_status chain_run(nautilus_context *context, size_t first, size_t count, cu_stream stream);

#endif
