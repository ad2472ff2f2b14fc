/* Uses every function of nautilus/abi.h on the library of tests/support/fake_library.py; prints what does not hold.
 * Also compiled as C++, and under the address, undefined-behaviour and thread sanitizers. */
#include <nautilus/abi.h>
#include <nautilus/emulator.h>
#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

/* Inputs x, y.1, index; outputs sum, picked, counters, options. Aligned, so that they can be device pointers of the emulator. */
struct buffers {
  float x[8], y[8], sum[8], picked[4];
  int64_t index[2], counters[4], options[4];
} __attribute__((aligned(64)));

struct run {
  struct buffers *buffers;
  const void *inputs[3];
  void *outputs[4];
};

static void prepare(struct run *run, float seed) {
  void *block = NULL;
  if (posix_memalign(&block, 64, sizeof *run->buffers) != 0)
    abort();
  struct buffers *b = run->buffers = (struct buffers *)block;
  for (int i = 0; i < 6; i++)
    b->x[i] = seed, b->y[i] = (float)i;
  b->index[0] = 5, b->index[1] = 0;
  run->inputs[0] = b->x, run->inputs[1] = b->y, run->inputs[2] = b->index;
  run->outputs[0] = b->sum, run->outputs[1] = b->picked, run->outputs[2] = b->counters, run->outputs[3] = b->options;
}

static int is_right(const struct run *run, float seed) {
  const struct buffers *b = run->buffers;
  for (int i = 0; i < 6; i++)
    if (b->sum[i] != seed + 2 * (float)i)
      return 0;
  return b->picked[0] == b->sum[5] && b->picked[1] == b->sum[0];
}

static void describe(nautilus_model *model) {
  nautilus_model_info info = {sizeof info};
  nautilus_tensor tensor = {sizeof tensor};
  nautilus_target target = {sizeof target};
  CHECK(nautilus_target_count() == 1);
  CHECK_OK(nautilus_target_describe(0, &target));
  CHECK(strcmp(target.name, "emulated") == 0 && target.emulated == 1);
  CHECK_FAILS(nautilus_target_describe(1, &target), NAUTILUS_INVALID_ARGUMENT, "there is no target 1");
  CHECK_OK(nautilus_model_describe(model, &info));
  CHECK(info.input_count == 3 && info.output_count == 4 && info.launch_count == 5 && info.emulated == 1);
  CHECK(strlen(info.model_digest) == 64 && strlen(info.manifest_digest) == 64);
  CHECK_OK(nautilus_input(model, 1, &tensor));
  CHECK(strcmp(tensor.name, "y.1") == 0 && tensor.dtype == NAUTILUS_F32 && tensor.rank == 2);
  CHECK(tensor.shape[0] == 2 && tensor.shape[1] == 3 && tensor.bytes == 24);
  CHECK_FAILS(nautilus_input(model, 3, &tensor), NAUTILUS_INVALID_ARGUMENT, "there is no input 3: the model has 3");
  CHECK_FAILS(nautilus_output(model, 4, &tensor), NAUTILUS_INVALID_ARGUMENT, "there is no output 4");
  CHECK_FAILS(nautilus_output(model, 0, NULL), NAUTILUS_INVALID_ARGUMENT, "NULL");
  tensor.struct_bytes = 0;
  CHECK_FAILS(nautilus_output(model, 0, &tensor), NAUTILUS_INVALID_ARGUMENT, "sizeof(nautilus_tensor)");
  CHECK(strcmp(nautilus_status_name(NAUTILUS_NO_DRIVER), "NAUTILUS_NO_DRIVER") == 0);
  CHECK(strcmp(nautilus_status_name((nautilus_status)99), "unknown status") == 0);
}

/* Structures of an older caller are shorter, of a newer one longer. */
static void sizes(nautilus_model *model) {
  struct {
    nautilus_context_options known;
    uint64_t later;
  } newer;
  nautilus_context *context = NULL;
  nautilus_context_options older;
  memset(&newer, 0, sizeof newer);
  newer.known.struct_bytes = sizeof newer;
  CHECK_OK(nautilus_context_create(model, &newer.known, &context));
  CHECK_OK(nautilus_context_destroy(context));
  newer.later = 1;
  CHECK_FAILS(nautilus_context_create(model, &newer.known, &context), NAUTILUS_INVALID_ARGUMENT, "older interface");
  CHECK(context == NULL);
  memset(&older, 0xFF, sizeof older);
  older.struct_bytes = sizeof older.struct_bytes; /* nothing but the size */
  CHECK_OK(nautilus_context_create(model, &older, &context));
  CHECK_OK(nautilus_context_destroy(context));
}

static void host_runs(nautilus_model *model, nautilus_launch launch) {
  nautilus_context_options options = {sizeof options};
  nautilus_context *context = NULL;
  struct run run;
  float times[3] = {-1, -1, -1};
  int64_t sum[2] = {0, 0}, picked[1] = {0};
  int64_t *shapes[4] = {sum, picked, NULL, NULL};
  prepare(&run, 3);
  options.launch = launch;
  CHECK_OK(nautilus_context_create(model, &options, &context));
  CHECK_OK(nautilus_time(context, 3, 2, 1, times)); /* on zeros */
  CHECK(times[0] >= 0 && times[1] >= 0 && times[2] >= 0);
  CHECK_OK(nautilus_run_host(context, run.inputs, run.outputs));
  CHECK(is_right(&run, 3));
  CHECK_OK(nautilus_output_shapes(context, shapes, NULL));
  CHECK(sum[0] == 2 && sum[1] == 3 && picked[0] == 2);
  CHECK_FAILS(nautilus_output_shapes(context, NULL, NULL), NAUTILUS_INVALID_ARGUMENT, "NULL");
  run.buffers->index[0] = 6;
  CHECK_FAILS(nautilus_run_host(context, run.inputs, run.outputs), NAUTILUS_INDEX_OUT_OF_RANGE, "index outside");
  run.buffers->index[0] = 5;
  CHECK_OK(nautilus_run_host(context, run.inputs, run.outputs));
  run.inputs[1] = NULL;
  CHECK_FAILS(nautilus_run_host(context, run.inputs, run.outputs), NAUTILUS_INVALID_ARGUMENT, "input 1, 'y.1', is NULL");
  CHECK_FAILS(nautilus_run_host(context, NULL, run.outputs), NAUTILUS_INVALID_ARGUMENT, "the array of inputs is NULL");
  CHECK_FAILS(nautilus_run_host(context, run.inputs, NULL), NAUTILUS_INVALID_ARGUMENT, "is NULL");
  CHECK_FAILS(nautilus_run_host(NULL, run.inputs, run.outputs), NAUTILUS_INVALID_ARGUMENT, "context is NULL");
  CHECK_FAILS(nautilus_time(context, 0, 1, 0, times), NAUTILUS_INVALID_ARGUMENT, "at least 1");
  CHECK_FAILS(nautilus_time(context, SIZE_MAX, 1, 0, times), NAUTILUS_OUT_OF_MEMORY, "the events of 18446744073709551615 samples");
  CHECK_OK(nautilus_context_destroy(context));
  free(run.buffers);
}

static void device_runs(nautilus_model *model, nautilus_launch launch) {
  nautilus_context_options options = {sizeof options};
  nautilus_context *context = NULL;
  nautilus_model_info info = {sizeof info};
  struct run run, other;
  void *workspace = NULL;
  prepare(&run, 1);
  prepare(&other, 2);
  CHECK_OK(nautilus_model_describe(model, &info));
  CHECK_OK(nautilus_allocate(model, info.workspace_bytes, &workspace));
  options.launch = launch;
  options.device_only = 1;
  options.workspace = workspace;
  options.workspace_bytes = info.workspace_bytes - 1;
  CHECK_FAILS(nautilus_context_create(model, &options, &context), NAUTILUS_INVALID_ARGUMENT, "has 511 bytes; the model needs 512");
  options.workspace_bytes = info.workspace_bytes;
  options.workspace = (char *)workspace + 8;
  CHECK_FAILS(nautilus_context_create(model, &options, &context), NAUTILUS_INVALID_ARGUMENT, "not aligned to 256");
  options.workspace = workspace;
  options.launch = 7;
  CHECK_FAILS(nautilus_context_create(model, &options, &context), NAUTILUS_INVALID_ARGUMENT, "launch is 7");
  options.launch = launch;
  CHECK_OK(nautilus_context_create(model, &options, &context));
  void *stream = nautilus_context_stream(context);
  CHECK(stream != NULL);
  for (int i = 0; i < 4; i++) { /* pointers and stream change */
    memset(run.buffers->sum, 0, sizeof run.buffers->sum);
    memset(other.buffers->sum, 0, sizeof other.buffers->sum);
    CHECK_OK(nautilus_run(context, run.inputs, run.outputs, stream));
    CHECK_OK(nautilus_run(context, other.inputs, other.outputs, NULL));
    CHECK_OK(nautilus_synchronize(context, NULL));
    CHECK(is_right(&run, 1) && is_right(&other, 2));
  }
  other.buffers->index[1] = -1;
  CHECK_OK(nautilus_run(context, other.inputs, other.outputs, stream));
  CHECK_FAILS(nautilus_run(context, run.inputs, run.outputs, stream), NAUTILUS_INDEX_OUT_OF_RANGE, "index outside");
  CHECK_OK(nautilus_run(context, other.inputs, other.outputs, stream));
  CHECK_FAILS(nautilus_synchronize(context, stream), NAUTILUS_INDEX_OUT_OF_RANGE, "index outside");
  CHECK_OK(nautilus_run(context, other.inputs, other.outputs, stream));
  CHECK_FAILS(nautilus_check(context), NAUTILUS_INDEX_OUT_OF_RANGE, "index outside");
  CHECK_OK(nautilus_check(context));
  run.inputs[0] = (const char *)run.inputs[0] + 4;
  CHECK_FAILS(nautilus_run(context, run.inputs, run.outputs, stream), NAUTILUS_INVALID_ARGUMENT, "not aligned to 16");
  CHECK_FAILS(nautilus_run_host(context, other.inputs, other.outputs), NAUTILUS_UNSUPPORTED, "device_only");
  CHECK_FAILS(nautilus_time(context, 1, 1, 0, run.buffers->x), NAUTILUS_UNSUPPORTED, "device_only");
  CHECK_FAILS(nautilus_model_destroy(model), NAUTILUS_INVALID_ARGUMENT, "1 contexts of the model are alive");
  CHECK_OK(nautilus_context_destroy(context));
  CHECK_OK(nautilus_free(model, workspace));
  free(run.buffers);
  free(other.buffers);
}

static void memory(nautilus_model *model) {
  char text[6] = "hello", back[6] = "";
  void *first = NULL, *second = NULL;
  CHECK_OK(nautilus_allocate(model, sizeof text, &first));
  CHECK_OK(nautilus_allocate(model, sizeof text, &second));
  CHECK_OK(nautilus_copy(model, first, text, sizeof text, NAUTILUS_TO_DEVICE, NULL));
  CHECK_OK(nautilus_copy(model, second, first, sizeof text, NAUTILUS_ON_DEVICE, NULL));
  CHECK_OK(nautilus_copy(model, back, second, sizeof text, NAUTILUS_TO_HOST, NULL));
  CHECK(strcmp(back, "hello") == 0);
  CHECK_FAILS(nautilus_copy(model, NULL, first, 1, NAUTILUS_TO_HOST, NULL), NAUTILUS_INVALID_ARGUMENT, "NULL");
  CHECK_FAILS(nautilus_copy(model, back, second, 1, (nautilus_direction)3, NULL), NAUTILUS_INVALID_ARGUMENT, "direction is 3");
  CHECK_OK(nautilus_free(model, second));
  CHECK_FAILS(nautilus_allocate(model, (size_t)1 << 50, &second), NAUTILUS_OUT_OF_MEMORY, "1125899906842624 bytes");
  CHECK(second == NULL);
  CHECK_OK(nautilus_free(model, first));
  CHECK_OK(nautilus_free(model, NULL));
}

static void emulator(nautilus_model *model) {
  nautilus_emulator_options options = {sizeof options};
  options.order = 9;
  CHECK_FAILS(nautilus_model_emulator(model, &options), NAUTILUS_INVALID_ARGUMENT, "order 9 is none");
  options.order = NAUTILUS_ORDER_RANDOM;
  CHECK_OK(nautilus_model_emulator(model, &options));
}

/* Contexts of its own, with and without a workspace of its own, in both modes of launch, on two sets of buffers in turn. */
static void *worker(void *argument) {
  nautilus_model *model = (nautilus_model *)argument;
  nautilus_context *context = NULL;
  nautilus_model_info info = {sizeof info};
  nautilus_context_options options = {sizeof options};
  void *workspace = NULL;
  struct run runs[2];
  prepare(&runs[0], 4);
  prepare(&runs[1], 5);
  CHECK_OK(nautilus_model_describe(model, &info));
  CHECK_OK(nautilus_allocate(model, info.workspace_bytes, &workspace));
  for (int i = 0; i < 5; i++) {
    options.launch = i % 2 ? NAUTILUS_LAUNCH_STREAM : NAUTILUS_LAUNCH_GRAPH;
    options.workspace = i % 3 ? workspace : NULL;
    options.workspace_bytes = i % 3 ? info.workspace_bytes : 0;
    CHECK_OK(nautilus_context_create(model, &options, &context));
    for (int j = 0; j < 20; j++) {
      struct run *run = &runs[j / 2 % 2];
      memset(run->buffers->sum, 0, sizeof run->buffers->sum);
      CHECK_OK(j % 2 ? nautilus_run(context, run->inputs, run->outputs, NULL) : nautilus_run_host(context, run->inputs, run->outputs));
      CHECK_OK(nautilus_synchronize(context, NULL));
      CHECK(is_right(run, j / 2 % 2 ? 5 : 4));
    }
    CHECK_FAILS(nautilus_run(context, NULL, runs[0].outputs, NULL), NAUTILUS_INVALID_ARGUMENT, "inputs is NULL"); /* of this thread */
    CHECK_OK(nautilus_context_destroy(context));
  }
  CHECK_OK(nautilus_free(model, workspace));
  free(runs[0].buffers);
  free(runs[1].buffers);
  return NULL;
}

static void threads(nautilus_model *model) {
  pthread_t all[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&all[i], NULL, worker, model);
  for (int i = 0; i < 4; i++)
    pthread_join(all[i], NULL);
}

static int64_t live_allocations(nautilus_model *model) {
  nautilus_context *context = NULL;
  struct run run;
  prepare(&run, 0);
  CHECK_OK(nautilus_context_create(model, NULL, &context));
  CHECK_OK(nautilus_run_host(context, run.inputs, run.outputs));
  int64_t live = run.buffers->counters[0];
  CHECK_OK(nautilus_context_destroy(context));
  free(run.buffers);
  return live;
}

/* Open files, and resident memory in bytes, counted page by page: where there are many cores, statm is off by megabytes. A sanitizer keeps
 * freed memory, so there it says nothing. */
static void usage(long *files, long *bytes) {
  char line[256];
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  DIR *folder = opendir("/proc/self/fd");
  const int is_rollup = file != NULL; /* Linux has it since 4.14 */
  if (!is_rollup)
    file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && folder != NULL);
  for (*bytes = -1; *bytes < 0 && fgets(line, sizeof line, file) != NULL;)
    if (sscanf(line, is_rollup ? "Rss: %ld kB" : "%*d %ld", bytes) == 1)
      *bytes *= is_rollup ? 1024 : sysconf(_SC_PAGESIZE);
  CHECK(*bytes > 0);
  for (*files = 0; readdir(folder) != NULL;)
    ++*files;
  fclose(file);
  closedir(folder);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  *bytes = 0;
#endif
}

/* Made and freed again and again: nothing stays open, and no page is kept for each. Huge pages may come once, a leak grows in each round. */
static void repeat(int times) {
  nautilus_model *model = NULL;
  nautilus_context *context = NULL;
  long first_files = 0, before = 0, files, bytes, grown = 0;
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < times; i++) {
      CHECK_OK(nautilus_model_create(NULL, &model));
      CHECK_OK(nautilus_context_create(model, NULL, &context));
      CHECK_OK(nautilus_context_destroy(context));
      CHECK_OK(nautilus_model_destroy(model));
    }
    CHECK_OK(nautilus_model_create(NULL, &model));
    for (int i = 0; i < times; i++) {
      CHECK_OK(nautilus_context_create(model, NULL, &context));
      CHECK_OK(nautilus_context_destroy(context));
    }
    CHECK_OK(nautilus_model_destroy(model));
    usage(&files, &bytes);
    if (round == 0)
      first_files = files;
    CHECK(files == first_files);
    grown = bytes - before;
    before = bytes;
    if (round > 0 && grown < times * 1024L)
      return;
  }
  CHECK(grown < times * 1024L);
}

int main(int count, char **arguments) {
  nautilus_model *model = NULL;
  nautilus_model_options options = {sizeof options};
  int repeats = count > 1 ? atoi(arguments[1]) : 1000;
  CHECK(nautilus_abi_version() == NAUTILUS_ABI_VERSION);
  CHECK_FAILS(nautilus_model_create(NULL, NULL), NAUTILUS_INVALID_ARGUMENT, "NULL");
  options.place = 5;
  CHECK_FAILS(nautilus_model_create(&options, &model), NAUTILUS_INVALID_ARGUMENT, "place is 5");
  options.place = NAUTILUS_EMULATED;
  options.device = -1;
  CHECK_FAILS(nautilus_model_create(&options, &model), NAUTILUS_NO_DEVICE, "no device -1");
  CHECK(model == NULL);
  CHECK_OK(nautilus_model_destroy(NULL));
  CHECK_OK(nautilus_context_destroy(NULL));
  CHECK_OK(nautilus_model_create(NULL, &model));
  if (model == NULL)
    return 1;
  int64_t before = live_allocations(model);
  describe(model);
  sizes(model);
  host_runs(model, NAUTILUS_LAUNCH_GRAPH);
  host_runs(model, NAUTILUS_LAUNCH_STREAM);
  device_runs(model, NAUTILUS_LAUNCH_GRAPH);
  device_runs(model, NAUTILUS_LAUNCH_STREAM);
  emulator(model);
  threads(model);
  CHECK(live_allocations(model) == before);
  memory(model);
  CHECK_OK(nautilus_model_destroy(model));
  repeat(repeats);
  printf("%d failures\n", failures);
  return failures != 0;
}
