#include "buckets.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "error.h"

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
