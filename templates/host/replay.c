#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "error.h"

nautilus_status replay_build(nautilus_context *context, struct replay *replay, size_t first, size_t count) {
  static const cu_graph_edge programmatic = {CU_GRAPH_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_PROGRAMMATIC, {0}};
  const nautilus_model *model = context->model;
  const struct driver *driver = &model->place.driver;
  char what[256];
  if (replay->nodes == NULL)
    replay->nodes = calloc(count + 1, sizeof *replay->nodes);
  if (replay->nodes == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a graph");
  TRY_DRIVER(driver, cuGraphCreate(&replay->graph, 0), "creating the graph");
  for (size_t i = first; i < first + count; i++) {
    void *pointer;
    cu_kernel_node_params parameters = context_parameters(context, i, &pointer);
    const struct payload_kernel *kernel = &model->payload.kernels[model->place.variant->kernel_first + context_row(context, i)->kernel];
    snprintf(what, sizeof what, "adding launch %zu, kernel %s, to the graph", i, model->payload.strings + kernel->symbol);
    cu_graph_node *node = &replay->nodes[i - first];
    const cu_graph_node *before = i > first ? node - 1 : NULL;
    int is_dependent = before != NULL && (context_row(context, i)->flags & LAUNCH_DEPENDENT) != 0;
    TRY_DRIVER(driver, cuGraphAddKernelNode(node, replay->graph, is_dependent ? NULL : before, before && !is_dependent, &parameters), what);
    if (is_dependent)
      TRY_DRIVER(driver, cuGraphAddDependencies(replay->graph, before, node, &programmatic, 1), what);
  }
  TRY_DRIVER(driver, cuGraphInstantiateWithFlags(&replay->exec, replay->graph, 0), "instantiating the graph");
  return NAUTILUS_OK;
}

void replay_dispose(nautilus_context *context, struct replay *replay) {
  const struct nautilus_driver *api = &context->model->place.driver.api;
  if (replay->exec != NULL)
    api->cuGraphExecDestroy(replay->exec);
  if (replay->graph != NULL)
    api->cuGraphDestroy(replay->graph);
  free(replay->nodes);
  memset(replay, 0, sizeof *replay);
}

nautilus_status buckets_create(nautilus_context *context) {
  const nautilus_model *model = context->model;
  context->buckets = calloc(BUCKETS, sizeof *context->buckets);
  for (size_t i = 0; context->buckets != NULL && i < BUCKETS; i++) {
    struct bucket *bucket = &context->buckets[i];
    bucket->sizes = calloc(model->payload.size_count + 1, sizeof *bucket->sizes);
    bucket->sent = calloc(context->argument_words + 1, sizeof *bucket->sent);
    bucket->rows = calloc(model->launch_count + 1, sizeof *bucket->rows);
    bucket->grids = calloc(model->launch_count + 1, sizeof *bucket->grids);
    if (bucket->sizes == NULL || bucket->sent == NULL || bucket->rows == NULL || bucket->grids == NULL)
      return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  }
  if (context->buckets == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  buckets_select(context);
  return NAUTILUS_OK;
}

void buckets_dispose(nautilus_context *context) {
  for (size_t i = 0; context->buckets != NULL && i < BUCKETS; i++) {
    replay_dispose(context, &context->buckets[i].replay);
    free(context->buckets[i].sizes);
    free(context->buckets[i].sent);
    free(context->buckets[i].rows);
    free(context->buckets[i].grids);
  }
  free(context->buckets);
  context->buckets = NULL;
}

void buckets_select(nautilus_context *context) {
  size_t bytes = context->model->payload.size_count * sizeof *context->shapes.sizes;
  struct bucket *chosen = &context->buckets[0];
  for (size_t i = 0; i < BUCKETS; i++) {
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
  }
  chosen->used = ++context->clock;
  context->bucket = chosen;
}

/* Whether the nodes of a graph can be given what the shapes launch: edges between them stay as they are. */
static int has_other_edges(const nautilus_context *context, const struct bucket *bucket) {
  const nautilus_model *model = context->model;
  for (size_t i = 1; i < model->launch_count; i++)
    if ((model->launches[bucket->rows[i]].flags ^ context_row(context, i)->flags) & LAUNCH_DEPENDENT)
      return 1;
  return 0;
}

/* Gives the nodes the kernels, blocks and grids that are others than they hold. */
static nautilus_status update(nautilus_context *context, struct bucket *bucket) {
  const nautilus_model *model = context->model;
  for (size_t i = 0; i < model->launch_count; i++) {
    size_t first = context->argument_first[i];
    size_t bytes = (context->argument_first[i + 1] - first) * sizeof *bucket->sent;
    if (bucket->rows[i] == context->shapes.rows[i] && memcmp(bucket->sent + first, context->arguments + first, bytes) == 0 &&
        memcmp(bucket->grids[i], context->shapes.grids[i], sizeof bucket->grids[i]) == 0)
      continue;
    void *pointer;
    cu_kernel_node_params parameters = context_parameters(context, i, &pointer);
    bucket->grids[i][0] = 0; /* until the driver took it */
    TRY_DRIVER(&model->place.driver, cuGraphExecKernelNodeSetParams(bucket->replay.exec, bucket->replay.nodes[i], &parameters),
               "giving the graph new sizes");
    memcpy(bucket->sent + first, context->arguments + first, bytes);
    bucket->rows[i] = context->shapes.rows[i];
    memcpy(bucket->grids[i], context->shapes.grids[i], sizeof bucket->grids[i]);
  }
  return NAUTILUS_OK;
}

nautilus_status buckets_launch(nautilus_context *context, cu_stream stream, int *is_done) {
  const struct driver *driver = &context->model->place.driver;
  struct bucket *bucket = context->bucket;
  *is_done = bucket->runs > 0;
  if (bucket->runs < 2)
    bucket->runs++;
  if (!*is_done)
    return NAUTILUS_OK;
  /* A driver that gives no node another kernel makes the graph anew. */
  if (bucket->replay.exec != NULL && (has_other_edges(context, bucket) || update(context, bucket) != NAUTILUS_OK))
    replay_dispose(context, &bucket->replay);
  if (bucket->replay.exec == NULL) {
    nautilus_status status = replay_build(context, &bucket->replay, 0, context->model->launch_count);
    if (status != NAUTILUS_OK) {
      replay_dispose(context, &bucket->replay);
      return status;
    }
    memcpy(bucket->sent, context->arguments, context->argument_words * sizeof *bucket->sent);
    memcpy(bucket->rows, context->shapes.rows, context->model->launch_count * sizeof *bucket->rows);
    memcpy(bucket->grids, context->shapes.grids, context->model->launch_count * sizeof *bucket->grids);
  }
  TRY_DRIVER(driver, cuGraphLaunch(bucket->replay.exec, stream), "running the model");
  return NAUTILUS_OK;
}
