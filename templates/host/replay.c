#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "error.h"

/* The words of the blocks of COUNT launches from FIRST on. */
static size_t block_words(const nautilus_context *context, size_t first, size_t count) {
  return context->argument_first[first + count] - context->argument_first[first];
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
    int is_dependent = before != NULL && (row->flags & LAUNCH_DEPENDENT) != 0;
    TRY_DRIVER(driver, cuGraphAddKernelNode(node, replay->graph, is_dependent ? NULL : before, before && !is_dependent, &parameters), what);
    if (is_dependent)
      TRY_DRIVER(driver, cuGraphAddDependencies(replay->graph, before, node, &programmatic, 1), what);
  }
  return NAUTILUS_OK;
}

nautilus_status replay_build(nautilus_context *context, struct replay *replay, size_t first, size_t count) {
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

nautilus_status replay_prepare(nautilus_context *context, struct replay *replay, size_t first, size_t count) {
  size_t words = block_words(context, first, count);
  replay->sent = malloc((words + 1) * sizeof *replay->sent);
  replay->rows = malloc((count + 1) * sizeof *replay->rows);
  replay->grids = malloc((count + 1) * sizeof *replay->grids);
  if (replay->sent == NULL || replay->rows == NULL || replay->grids == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a graph");
  TRY(replay_build(context, replay, first, count));
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
  for (size_t i = 1; i < replay->count; i++)
    if ((model->launches[replay->rows[i]].flags ^ context_row(context, replay->first + i)->flags) & LAUNCH_DEPENDENT)
      return 1;
  return 0;
}

/* Says whether a node holds what its launch is to be. Where addresses of it move, its tensor maps are made anew, if they may be others. */
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
  }
  size_t bytes = block_words(context, launch, 1) * sizeof *sent;
  *is_held = replay->rows[node] == context->shapes.rows[launch] && memcmp(sent, context->arguments + first, bytes) == 0 &&
             memcmp(replay->grids[node], context->shapes.grids[launch], sizeof replay->grids[node]) == 0;
  return NAUTILUS_OK;
}

/* Gives the nodes the arguments, kernels and grids that are others than they hold. */
static nautilus_status update(nautilus_context *context, struct replay *replay) {
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
  if (replay->exec != NULL && (has_other_edges(context, replay) || update(context, replay) != NAUTILUS_OK))
    replay_dispose(context, replay);
  if (replay->exec == NULL) {
    nautilus_status status = replay_prepare(context, replay, first, count);
    if (status == NAUTILUS_OK)
      status = update(context, replay);
    if (status != NAUTILUS_OK) {
      replay_dispose(context, replay);
      return status;
    }
  }
  TRY_DRIVER(&context->model->place.driver, cuGraphLaunch(replay->exec, stream), "running the model");
  return NAUTILUS_OK;
}

static size_t bucket_count(const nautilus_context *context) { return shapes_are_open(context->model) ? BUCKETS : 1; }

/* Graphs that a bucket has of its steps: two of each, since what an iteration writes the next one reads. */
static size_t segment_count(const nautilus_context *context) { return 2 * (size_t)context->model->place.variant->step_count; }

nautilus_status buckets_create(nautilus_context *context) {
  const nautilus_model *model = context->model;
  context->buckets = calloc(BUCKETS, sizeof *context->buckets);
  for (size_t i = 0; context->buckets != NULL && i < bucket_count(context); i++) {
    struct bucket *bucket = &context->buckets[i];
    bucket->sizes = calloc(model->payload.size_count + 1, sizeof *bucket->sizes);
    bucket->segments = calloc(segment_count(context) + 1, sizeof *bucket->segments);
    if (bucket->sizes == NULL || bucket->segments == NULL)
      return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  }
  if (context->buckets == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  buckets_select(context);
  return NAUTILUS_OK;
}

void buckets_dispose(nautilus_context *context) {
  for (size_t i = 0; context->buckets != NULL && i < BUCKETS; i++) {
    struct bucket *bucket = &context->buckets[i];
    replay_dispose(context, &bucket->replay);
    for (size_t j = 0; bucket->segments != NULL && j < segment_count(context); j++)
      replay_dispose(context, &bucket->segments[j]);
    free(bucket->segments);
    free(bucket->sizes);
  }
  free(context->buckets);
  context->buckets = NULL;
}

void buckets_select(nautilus_context *context) {
  size_t bytes = context->model->payload.size_count * sizeof *context->shapes.sizes;
  struct bucket *chosen = &context->buckets[0];
  for (size_t i = 0; i < bucket_count(context); i++) {
    struct bucket *bucket = &context->buckets[i];
    if (bucket->used != 0 && memcmp(bucket->sizes, context->shapes.sizes, bytes) == 0) {
      chosen = bucket;
      break;
    }
    if (bucket->used < chosen->used)
      chosen = bucket;
  }
  if (chosen->used == 0 || memcmp(chosen->sizes, context->shapes.sizes, bytes) != 0) {
    memcpy(chosen->sizes, context->shapes.sizes, bytes);
    chosen->runs = 0;
    for (size_t i = 0; i < segment_count(context); i++)
      chosen->segments[i].skipped = 0;
  }
  chosen->used = ++context->clock;
  context->bucket = chosen;
}

int buckets_recur(nautilus_context *context) {
  int recur = context->bucket->runs > 0;
  context->bucket->runs = 1;
  return recur;
}
