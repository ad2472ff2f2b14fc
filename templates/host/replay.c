#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "error.h"

/* The words of the blocks of COUNT launches from FIRST on. */
static size_t block_words(const nautilus_context *context, size_t first, size_t count) {
  return context->argument_first[first + count] - context->argument_first[first];
}

/* Whether a launch may begin before the one ahead of it has ended, since it waits for that by itself. */
static int starts_early(const nautilus_context *context, const struct replay *replay, size_t launch) {
  return replay->fits_all ? context->model->waits[launch] : (context_row(context, launch)->flags & LAUNCH_DEPENDENT) != 0;
}

static nautilus_status add_nodes(nautilus_context *context, struct replay *replay) {
  static const cu_graph_edge programmatic = {CU_GRAPH_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_PROGRAMMATIC, {0}};
  const nautilus_model *model = context->model;
  const struct driver *driver = &model->place.driver;
  for (size_t i = 0; i < replay->count; i++) {
    void *pointer;
    size_t launch = replay->first + i;
    cu_kernel_node_params parameters = context_parameters(context, launch, &pointer);
    const struct payload_launch *row = context_row(context, launch);
    const struct payload_kernel *kernel = &model->payload.kernels[model->place.variant->kernel_first + row->kernel];
    const char *what = model->payload.strings + kernel->symbol;
    cu_graph_node *node = &replay->nodes[i];
    const cu_graph_node *before = i > 0 ? node - 1 : NULL;
    int is_dependent = before != NULL && starts_early(context, replay, launch);
    TRY_DRIVER(driver, cuGraphAddKernelNode(node, replay->graph, is_dependent ? NULL : before, before && !is_dependent, &parameters), what);
    if (is_dependent)
      TRY_DRIVER(driver, cuGraphAddDependencies(replay->graph, before, node, &programmatic, 1), what);
  }
  return NAUTILUS_OK;
}

static nautilus_status build(nautilus_context *context, struct replay *replay, size_t first, size_t count) {
  const struct driver *driver = &context->model->place.driver;
  replay->first = first;
  replay->count = count;
  replay->nodes = calloc(count + 1, sizeof *replay->nodes);
  if (replay->nodes == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a graph");
  TRY_DRIVER(driver, cuGraphCreate(&replay->graph, 0), "creating the graph");
  TRY(add_nodes(context, replay));
  TRY_DRIVER(driver, cuGraphInstantiateWithFlags(&replay->exec, replay->graph, 0), "instantiating the graph");
  return NAUTILUS_OK;
}

nautilus_status replay_build(nautilus_context *context, struct replay *replay, size_t first, size_t count) {
  for (size_t i = first; i < first + count; i++)
    TRY(context_settle(context, i));
  return build(context, replay, first, count);
}

nautilus_status replay_prepare(nautilus_context *context, struct replay *replay, size_t first, size_t count) {
  size_t words = block_words(context, first, count);
  replay->sent = malloc((words + 1) * sizeof *replay->sent);
  replay->rows = malloc((count + 1) * sizeof *replay->rows);
  replay->grids = malloc((count + 1) * sizeof *replay->grids);
  if (replay->sent == NULL || replay->rows == NULL || replay->grids == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a graph");
  TRY(build(context, replay, first, count));
  memcpy(replay->sent, context->arguments + context->argument_first[first], words * sizeof *replay->sent);
  memcpy(replay->rows, context->shapes.rows + first, count * sizeof *replay->rows);
  memcpy(replay->grids, context->shapes.grids + first, count * sizeof *replay->grids);
  return NAUTILUS_OK;
}

void replay_dispose(nautilus_context *context, struct replay *replay) {
  const struct nautilus_driver *api = &context->model->place.driver.api;
  if (replay->exec != NULL)
    api->cuGraphExecDestroy(replay->exec);
  if (replay->graph != NULL)
    api->cuGraphDestroy(replay->graph);
  free(replay->nodes);
  free(replay->sent);
  free(replay->rows);
  free(replay->grids);
  memset(replay, 0, sizeof *replay);
}

/* Whether the nodes of a graph can be given what is to be launched: edges between them stay as they are. */
static int has_other_edges(const nautilus_context *context, const struct replay *replay) {
  const nautilus_model *model = context->model;
  for (size_t i = 1; i < replay->count && !replay->fits_all; i++)
    if ((model->launches[replay->rows[i]].flags ^ context_row(context, replay->first + i)->flags) & LAUNCH_DEPENDENT)
      return 1;
  return 0;
}

/* Says whether a node holds what its launch is to be. Where addresses of it move, its tensor maps are encoded anew, if they may be others. */
static nautilus_status compare(nautilus_context *context, const struct replay *replay, size_t node, int *is_held) {
  size_t launch = replay->first + node, first = context->argument_first[launch];
  const unsigned long long *sent = replay->sent + (first - context->argument_first[replay->first]);
  *is_held = 0;
  if (context->model->moves[launch]) {
    unsigned long long *words = context_move(context, launch);
    size_t maps = (size_t)(words - (context->arguments + first)), count = context_row(context, launch)->word_count;
    /* Maps follow from the words, and from sizes. */
    *is_held = replay->generation == context->generation && memcmp(sent + maps, words, count * sizeof *words) == 0;
    if (*is_held)
      return NAUTILUS_OK;
    TRY(context_encode(context, launch));
  } else {
    TRY(context_settle(context, launch));
  }
  size_t bytes = block_words(context, launch, 1) * sizeof *sent;
  *is_held = replay->rows[node] == context->shapes.rows[launch] && memcmp(sent, context->arguments + first, bytes) == 0 &&
             memcmp(replay->grids[node], context->shapes.grids[launch], sizeof replay->grids[node]) == 0;
  return NAUTILUS_OK;
}

void replay_move(struct replay *replay, size_t first) {
  if (replay->first != first)
    replay->generation = 0;
  replay->first = first;
}

nautilus_status replay_update(nautilus_context *context, struct replay *replay) {
  for (size_t i = 0; i < replay->count; i++) {
    size_t launch = replay->first + i, first = context->argument_first[launch];
    int is_held;
    TRY(compare(context, replay, i, &is_held));
    if (is_held)
      continue;
    void *pointer;
    cu_kernel_node_params parameters = context_parameters(context, launch, &pointer);
    replay->grids[i][0] = 0; /* until the driver took it */
    TRY_DRIVER(&context->model->place.driver, cuGraphExecKernelNodeSetParams(replay->exec, replay->nodes[i], &parameters),
               "giving the graph new arguments");
    memcpy(replay->sent + (first - context->argument_first[replay->first]), context->arguments + first,
           block_words(context, launch, 1) * sizeof *replay->sent);
    replay->rows[i] = context->shapes.rows[launch];
    memcpy(replay->grids[i], context->shapes.grids[launch], sizeof replay->grids[i]);
  }
  replay->generation = context->generation;
  return NAUTILUS_OK;
}

nautilus_status replay_run(nautilus_context *context, struct replay *replay, size_t first, size_t count, cu_stream stream) {
  /* A driver that gives no node another kernel makes the graph anew. */
  if (replay->exec != NULL && (has_other_edges(context, replay) || replay_update(context, replay) != NAUTILUS_OK))
    replay_dispose(context, replay);
  if (replay->exec == NULL) {
    nautilus_status status = replay_prepare(context, replay, first, count);
    if (status == NAUTILUS_OK)
      status = replay_update(context, replay);
    if (status != NAUTILUS_OK) {
      replay_dispose(context, replay);
      return status;
    }
  }
  TRY_DRIVER(&context->model->place.driver, cuGraphLaunch(replay->exec, stream), "running the model");
  return NAUTILUS_OK;
}
