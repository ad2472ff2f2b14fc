/* One thread gives contexts larger shapes, for which their workspace moves, while another asks what became of the runs before: what these
 * counted lies in the workspace. For the sanitizers, on the library of tests/unit/runtime/test_open_shapes.py with a number that is limited. */
#include <nautilus/abi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { CONTEXTS = 300 };

static int is_over;
static pthread_barrier_t begin;

/* Whether what failed is told as what it was. */
static size_t is_told(nautilus_status status) {
  if (status == NAUTILUS_OK)
    return 0;
  int is_right = status == NAUTILUS_NOT_SERVED && strstr(nautilus_last_error(), "'found.count' is 3") != NULL;
  if (!is_right)
    fprintf(stderr, "%s: %s\n", nautilus_status_name(status), nautilus_last_error());
  return is_right ? 1 : 1000000;
}

static void *watch(void *argument) {
  nautilus_context *context = argument;
  size_t told = 0;
  pthread_barrier_wait(&begin);
  told += is_told(nautilus_check(context));
  while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
    told += is_told(nautilus_check(context));
  return (void *)(uintptr_t)told;
}

/* A run that counts too much, larger shapes, and who was told: 1, where it was one of the two. */
static size_t grow_while_asked(nautilus_model *model) {
  static float x[8] __attribute__((aligned(64))), y[8] __attribute__((aligned(64))), unused[4] __attribute__((aligned(64)));
  static float sum[8] __attribute__((aligned(64))), picked[2] __attribute__((aligned(64)));
  static int64_t index[2] __attribute__((aligned(64))) = {99, 0}, counters[4] __attribute__((aligned(64))), options[4] __attribute__((aligned(64)));
  const void *inputs[4] = {x, y, index, unused};
  void *outputs[4] = {sum, picked, counters, options}, *seen;
  int64_t plane[2] = {2, 3}, list[1] = {2}, extra[1] = {4}, picks = 3;
  const int64_t *larger[4] = {plane, plane, list, extra};
  nautilus_context *context;
  pthread_t watcher;
  size_t told = 0;
  memcpy(x, &picks, sizeof picks);
  if (nautilus_context_create(model, NULL, &context) || nautilus_run(context, inputs, outputs, NULL))
    return fprintf(stderr, "%s\n", nautilus_last_error()), 0;
  __atomic_store_n(&is_over, 0, __ATOMIC_RELEASE);
  pthread_create(&watcher, NULL, watch, context);
  pthread_barrier_wait(&begin);
  if (nautilus_context_reshape(context, larger))
    fprintf(stderr, "%s\n", nautilus_last_error());
  __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
  pthread_join(watcher, &seen);
  told += is_told(nautilus_synchronize(context, NULL));
  nautilus_context_destroy(context);
  return told + (size_t)(uintptr_t)seen;
}

int main(void) {
  nautilus_model *model;
  int failures = 0;
  if (nautilus_model_create(NULL, &model))
    return fprintf(stderr, "%s\n", nautilus_last_error()), 1;
  pthread_barrier_init(&begin, NULL, 2);
  for (int i = 0; i < CONTEXTS; i++)
    failures += grow_while_asked(model) != 1;
  failures += nautilus_model_destroy(model) != NAUTILUS_OK;
  printf("%d failures\n", failures);
  return failures != 0;
}
