/* One thread runs a context while another asks what became of its runs, as nautilus/abi.h allows. For the thread sanitizer, on the
 * library of tests/unit/runtime/test_counts.py, whose runs give a number, and fail where an index is out of range. */
#include <nautilus/abi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int is_over;

static void *watch(void *argument) {
  nautilus_context *context = argument;
  size_t seen = 0;
  while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
    seen += (nautilus_check(context) != NAUTILUS_OK) + (nautilus_synchronize(context, NULL) != NAUTILUS_OK);
  return (void *)(uintptr_t)seen;
}

int main(void) {
  nautilus_model *model;
  nautilus_context *context;
  pthread_t watcher;
  float x[6] = {0}, y[6] = {0}, sum[6], picked[2];
  int64_t picks = 1, index[2] = {5, 4}, counters[4], options[4], shape[2], told[1];
  const void *inputs[3] = {x, y, index};
  void *outputs[4] = {sum, picked, counters, options}, *result;
  int64_t *shapes[4] = {shape, told, NULL, NULL};
  int failures = 0, failed = 0;
  memcpy(x, &picks, sizeof picks);
  if (nautilus_model_create(NULL, &model) || nautilus_context_create(model, NULL, &context))
    return fprintf(stderr, "%s\n", nautilus_last_error()), 1;
  pthread_create(&watcher, NULL, watch, context);
  for (int i = 0; i < 1000; i++) {
    index[0] = i % 3 ? 5 : 6;
    nautilus_status status = nautilus_run_host(context, inputs, outputs);
    failed += status != NAUTILUS_OK;
    failures += status != NAUTILUS_OK && status != NAUTILUS_INDEX_OUT_OF_RANGE;
    if (status == NAUTILUS_OK)
      failures += nautilus_output_shapes(context, shapes, NULL) != NAUTILUS_OK || told[0] != 1;
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
  pthread_join(watcher, &result);
  failures += failed + (int)(uintptr_t)result != 334; /* each is told once, to one of the two */
  failures += nautilus_context_destroy(context) != NAUTILUS_OK || nautilus_model_destroy(model) != NAUTILUS_OK;
  printf("%d failures\n", failures);
  return failures != 0;
}
