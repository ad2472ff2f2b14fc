/* Threads with contexts of their own, each of which changes its shapes with every call, errs in between and asks what shapes are, on the
 * library of tests/unit/runtime/test_open_shapes.py: more shapes than a context keeps graphs of. For the sanitizers. */
#include <nautilus/abi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                                                  \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, nautilus_last_error());     \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                                                 \
    }                                                                                                     \
  } while (0)

static void *worker(void *argument) {
  static unsigned seeds;
  unsigned seed = __atomic_add_fetch(&seeds, 1, __ATOMIC_RELAXED);
  nautilus_model *model = argument;
  nautilus_context *context = NULL;
  nautilus_context_options options = {sizeof options, NULL, 0, NAUTILUS_LAUNCH_GRAPH, 0};
  struct {
    float x[16], y[16], unused[16], sum[16], picked[32];
    int64_t index[32], counters[4], options[4];
  } *b;
  void *block = NULL;
  if (posix_memalign(&block, 64, sizeof *b) != 0)
    abort();
  b = block;
  memset(b, 0, sizeof *b);
  options.launch = seed % 2 ? NAUTILUS_LAUNCH_GRAPH : NAUTILUS_LAUNCH_STREAM;
  CHECK(nautilus_context_create(model, &options, &context) == NAUTILUS_OK);
  for (int turn = 0; turn < 200; turn++) {
    int64_t rows = 1 + rand_r(&seed) % 2, picks = 2 + 2 * (rand_r(&seed) % 10), told[2], outside = rand_r(&seed) % 5 == 0;
    int64_t plane[2] = {rows, 3}, list[1] = {picks}, extra[1] = {rows + 2}, wrong[1] = {picks + 1};
    const int64_t *shapes[4] = {plane, plane, list, extra}, *wrongs[4] = {plane, plane, wrong, extra};
    int64_t *outputs_told[4] = {told, NULL, NULL, NULL};
    const void *inputs[4] = {b->x, b->y, b->index, b->unused}, *none[4] = {b->x, NULL, b->index, b->unused};
    void *outputs[4] = {b->sum, b->picked, b->counters, b->options};
    size_t bytes = 0;
    for (int i = 0; i < 6; i++)
      b->x[i] = (float)turn, b->y[i] = (float)seed;
    for (int64_t i = 0; i < picks; i++)
      b->index[i] = i % (3 * rows);
    CHECK(nautilus_shapes(model, shapes, outputs_told, &bytes) == NAUTILUS_OK && told[0] == rows && bytes == 256 + 256 * (size_t)rows);
    CHECK(nautilus_context_reshape(context, wrongs) == NAUTILUS_INVALID_ARGUMENT);
    CHECK(nautilus_context_reshape(context, shapes) == NAUTILUS_OK);
    CHECK(nautilus_context_reshape(context, wrongs) == NAUTILUS_INVALID_ARGUMENT);
    CHECK(nautilus_run_host(context, none, outputs) == NAUTILUS_INVALID_ARGUMENT);
    if (outside) {
      b->index[picks - 1] = 3 * rows;
      CHECK(nautilus_run(context, inputs, outputs, NULL) == NAUTILUS_OK);
      CHECK(nautilus_run_host(context, inputs, outputs) == NAUTILUS_INDEX_OUT_OF_RANGE);
      b->index[picks - 1] = 0;
    }
    for (int again = 0; again <= turn % 3; again++)
      CHECK((again ? nautilus_run(context, inputs, outputs, NULL) : nautilus_run_host(context, inputs, outputs)) == NAUTILUS_OK);
    CHECK(nautilus_synchronize(context, NULL) == NAUTILUS_OK);
    for (int i = 0; i < 3 * rows; i++)
      CHECK(b->sum[i] == (float)turn + b->y[i] + (float)i);
    for (int64_t i = 0; i < picks; i++)
      CHECK(b->picked[i] == b->sum[b->index[i]]);
  }
  CHECK(nautilus_context_destroy(context) == NAUTILUS_OK);
  free(block);
  return NULL;
}

int main(void) {
  nautilus_model *model = NULL;
  pthread_t all[3];
  CHECK(nautilus_model_create(NULL, &model) == NAUTILUS_OK);
  for (int i = 0; i < 3; i++)
    pthread_create(&all[i], NULL, worker, model);
  for (int i = 0; i < 3; i++)
    pthread_join(all[i], NULL);
  CHECK(nautilus_model_destroy(model) == NAUTILUS_OK);
  printf("%d failures\n", failures);
  return failures != 0;
}
