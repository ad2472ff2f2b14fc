/* A stand-in for an emulated image, or with FAKE_GPU for libcuda.so.1 itself: the driver's functions over host memory, and four kernels.
 * Everything runs at once, where it is called.
 *
 * Kernels, by their one argument block:
 *   fake_add       {a, b, out, count}              out = a + b; a[0] = -1 faults, as an illegal address would
 *   fake_gather    {data, indices, out, status, rows, count}  out[i] = data[indices[i]]
 *   fake_counters  {out}                           live allocations, graph launches, kernel launches on streams, node updates
 *   fake_options   {out}                           the emulator's options
 */
#include <nautilus/emulator.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

#define EXPORT __attribute__((visibility("default")))
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 1
#endif
#ifndef FAKE_STUBBORN /* nodes of graphs take no blocks of another size */
#define FAKE_STUBBORN 0
#endif
#ifndef FAKE_REFUSED /* which launch on a stream is refused once; then a stream may only wait for events behind all that was launched */
#define FAKE_REFUSED 0
#endif
#ifndef FAKE_CAPABILITY
#define FAKE_CAPABILITY 90
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long long allocations, graph_launches, stream_launches, updates;
static int has_refused;
static cu_result sticky_error = CU_OK;
static char error_text[256];
static nautilus_emulator_options options;

static cu_result sticky(void) { return __atomic_load_n(&sticky_error, __ATOMIC_RELAXED); }

typedef cu_result (*kernel)(const unsigned long long *words);

static cu_result add(const unsigned long long *words) {
  const float *a = (const float *)(uintptr_t)words[0], *b = (const float *)(uintptr_t)words[1];
  float *out = (float *)(uintptr_t)words[2];
  if (words[3] > 0 && a[0] == -1) {
    snprintf(error_text, sizeof error_text, "kernel fake_add read where nothing is");
    return CU_ERROR_ILLEGAL_ADDRESS;
  }
  for (unsigned long long i = 0; i < words[3]; i++)
    out[i] = a[i] + b[i];
  return CU_OK;
}

static cu_result gather(const unsigned long long *words) {
  const float *data = (const float *)(uintptr_t)words[0];
  const int64_t *indices = (const int64_t *)(uintptr_t)words[1];
  float *out = (float *)(uintptr_t)words[2];
  for (unsigned long long i = 0; i < words[5]; i++) {
    if (indices[i] < 0 || indices[i] >= (int64_t)words[4])
      __atomic_store_n((uint32_t *)(uintptr_t)words[3], 1, __ATOMIC_RELEASE);
    else
      out[i] = data[indices[i]];
  }
  return CU_OK;
}

static cu_result counters(const unsigned long long *words) {
  long long *out = (long long *)(uintptr_t)words[0];
  out[0] = allocations, out[1] = graph_launches, out[2] = stream_launches, out[3] = updates;
  return CU_OK;
}

static cu_result report_options(const unsigned long long *words) {
  long long *out = (long long *)(uintptr_t)words[0];
  out[0] = options.order, out[1] = (long long)options.seed, out[2] = options.lazy, out[3] = options.poison;
  return CU_OK;
}

static const struct {
  const char *name;
  kernel run;
  size_t words;
} kernels[] = {{"fake_add", add, 4}, {"fake_gather", gather, 6}, {"fake_counters", counters, 1}, {"fake_options", report_options, 1}};

struct cu_function_struct {
  kernel run;
  size_t words;
};
static struct cu_function_struct functions[4];

struct cu_graph_node_struct {
  int has_before;
  unsigned threads;
  cu_function function;
  unsigned long long words[8];
};
struct cu_graph_struct {
  size_t count;
  struct cu_graph_node_struct *nodes[64];
};
struct cu_graph_exec_struct {
  cu_graph graph;
  struct cu_graph_node_struct nodes[64];
};
struct cu_event_struct {
  double milliseconds;
  long long launches; /* before it */
};

static cu_result run(cu_function function, const unsigned long long *words) {
  if (sticky() == CU_OK)
    __atomic_store_n(&sticky_error, function->run(words), __ATOMIC_RELAXED);
  return sticky();
}

static void set_node(struct cu_graph_node_struct *node, const cu_kernel_node_params *parameters) {
  node->function = parameters->function;
  node->threads = parameters->block[0];
  memcpy(node->words, parameters->parameters[0], parameters->function->words * 8);
}

static cu_result fake_cuInit(unsigned flags) { return flags ? CU_ERROR_INVALID_VALUE : CU_OK; }
static cu_result fake_cuDriverGetVersion(int *value) { return *value = 13000, CU_OK; }
static cu_result fake_cuDeviceGet(cu_device *device, int ordinal) { return *device = ordinal, CU_OK; }
static cu_result fake_cuDeviceGetCount(int *count) { return *count = FAKE_DEVICES, CU_OK; }
static cu_result fake_cuDeviceGetAttribute(int *value, int id, cu_device device) {
  int capability = FAKE_CAPABILITY + 0 * device;
  *value = id == CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : id == CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10 : 0;
  return CU_OK;
}
static cu_result fake_cuDeviceGetName(char *text, int length, cu_device device) { return snprintf(text, (size_t)length, "fake %d", device), CU_OK; }
static cu_result fake_cuDevicePrimaryCtxRetain(cu_context *context, cu_device device) { return *context = (cu_context)(uintptr_t)(device + 8), CU_OK; }
static cu_result fake_cuDevicePrimaryCtxRelease(cu_device device) { return (void)device, CU_OK; }
static cu_result fake_cuCtxPushCurrent(cu_context context) { return context ? CU_OK : CU_ERROR_INVALID_CONTEXT; }
static cu_result fake_cuCtxPopCurrent(cu_context *context) { return *context = NULL, CU_OK; }
static cu_result fake_cuModuleLoadData(cu_module *module, const void *image) { return *module = (cu_module)(uintptr_t)image, CU_OK; }
static cu_result fake_cuModuleUnload(cu_module module) { return (void)module, CU_OK; }
static cu_result fake_cuModuleGetFunction(cu_function *function, cu_module module, const char *symbol) {
  (void)module;
  for (size_t i = 0; i < 4; i++)
    if (strcmp(kernels[i].name, symbol) == 0) {
      functions[i].run = kernels[i].run;
      functions[i].words = kernels[i].words;
      *function = &functions[i];
      return CU_OK;
    }
  return CU_ERROR_NOT_FOUND;
}
static cu_result fake_cuFuncSetAttribute(cu_function function, int id, int value) {
  return function && id == CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES && value <= 232448 ? CU_OK : CU_ERROR_INVALID_VALUE;
}
static cu_result fake_cuMemGetInfo(size_t *free_bytes, size_t *total_bytes) { return *free_bytes = 1000, *total_bytes = 2000, CU_OK; }
static cu_result fake_cuMemAlloc(cu_pointer *pointer, size_t bytes) {
  void *block = NULL;
  if (bytes > (size_t)1 << 40 || posix_memalign(&block, 256, bytes) != 0)
    return CU_ERROR_OUT_OF_MEMORY;
  memset(block, 0xFF, bytes);
  pthread_mutex_lock(&lock);
  allocations++;
  pthread_mutex_unlock(&lock);
  *pointer = (cu_pointer)(uintptr_t)block;
  return CU_OK;
}
static cu_result fake_cuMemFree(cu_pointer pointer) {
  pthread_mutex_lock(&lock);
  allocations--;
  pthread_mutex_unlock(&lock);
  free((void *)(uintptr_t)pointer);
  return CU_OK;
}
static cu_result fake_cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  cu_pointer block;
  cu_result result = flags == 3 ? fake_cuMemAlloc(&block, bytes) : CU_ERROR_INVALID_VALUE;
  return *pointer = (void *)(uintptr_t)block, result;
}
static cu_result fake_cuMemHostGetDevicePointer(cu_pointer *pointer, void *host, unsigned flags) {
  return *pointer = (cu_pointer)(uintptr_t)host + flags, CU_OK;
}
static cu_result fake_cuMemFreeHost(void *pointer) { return fake_cuMemFree((cu_pointer)(uintptr_t)pointer); }
/* Copies take turns with kernels, since device memory is no race of host threads: who copies while a kernel writes gets old or new words. */
static cu_result copy(void *to, const void *from, size_t bytes) {
  pthread_mutex_lock(&lock);
  memcpy(to, from, bytes);
  pthread_mutex_unlock(&lock);
  return sticky();
}
static cu_result fake_cuMemcpyHtoDAsync(cu_pointer to, const void *from, size_t bytes, cu_stream stream) {
  return (void)stream, copy((void *)(uintptr_t)to, from, bytes);
}
static cu_result fake_cuMemcpyDtoHAsync(void *to, cu_pointer from, size_t bytes, cu_stream stream) {
  return (void)stream, copy(to, (const void *)(uintptr_t)from, bytes);
}
static cu_result fake_cuMemcpyDtoDAsync(cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream) {
  return fake_cuMemcpyHtoDAsync(to, (const void *)(uintptr_t)from, bytes, stream);
}
static cu_result fake_cuMemsetD8Async(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream) {
  return (void)stream, memset((void *)(uintptr_t)to, value, bytes), CU_OK;
}
static cu_result fake_cuLaunchKernel(cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, cu_stream stream, void **parameters, void **extra) {
  (void)shared, (void)stream;
  if (gx * gy * gz * bx * by * bz == 0 || extra)
    return CU_ERROR_INVALID_VALUE;
  pthread_mutex_lock(&lock);
  int is_refused = stream_launches + 1 == FAKE_REFUSED && !has_refused;
  has_refused |= is_refused;
  stream_launches += !is_refused;
  cu_result result = is_refused ? CU_ERROR_NOT_SUPPORTED : run(function, parameters[0]);
  pthread_mutex_unlock(&lock);
  return result;
}
static cu_result fake_cuLaunchKernelEx(const cu_launch_config *config, cu_function function, void **parameters, void **extra) {
  return (void)config, (void)function, (void)parameters, (void)extra, CU_ERROR_NOT_SUPPORTED;
}
static cu_result fake_cuStreamCreate(cu_stream *stream, unsigned flags) {
  *stream = malloc(1);
  return flags == CU_STREAM_FLAG_NON_BLOCKING ? CU_OK : CU_ERROR_INVALID_VALUE;
}
static cu_result fake_cuStreamDestroy(cu_stream stream) { return free(stream), CU_OK; }
static cu_result fake_cuStreamSynchronize(cu_stream stream) { return (void)stream, sticky(); }
static long long launches(void) {
  pthread_mutex_lock(&lock);
  long long count = graph_launches + stream_launches;
  pthread_mutex_unlock(&lock);
  return count;
}
static cu_result fake_cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags) {
  (void)stream, (void)flags;
  return FAKE_REFUSED && event->launches != launches() ? CU_ERROR_INVALID_VALUE : CU_OK;
}
static cu_result fake_cuGraphCreate(cu_graph *graph, unsigned flags) {
  *graph = calloc(1, sizeof **graph);
  return flags ? CU_ERROR_INVALID_VALUE : CU_OK;
}
static cu_result fake_cuGraphAddKernelNode(cu_graph_node *node, cu_graph graph, const cu_graph_node *dependencies, size_t count,
                          const cu_kernel_node_params *parameters) {
  /* The host code makes chains: each node depends on the one before, by an edge that follows where it is programmatic. */
  if ((count && dependencies[0] != graph->nodes[graph->count - 1]) || graph->count == 64)
    return CU_ERROR_INVALID_VALUE;
  *node = graph->nodes[graph->count++] = calloc(1, sizeof **node);
  set_node(*node, parameters);
  (*node)->has_before = count != 0;
  return CU_OK;
}
static cu_result fake_cuGraphAddDependencies(cu_graph graph, const cu_graph_node *from, const cu_graph_node *to, const cu_graph_edge *edges,
                                             size_t count) {
  if (count != 1 || graph->count < 2 || *from != graph->nodes[graph->count - 2] || *to != graph->nodes[graph->count - 1] ||
      (*to)->has_before || edges->from_port != CU_GRAPH_PORT_PROGRAMMATIC || edges->type != CU_GRAPH_DEPENDENCY_PROGRAMMATIC)
    return CU_ERROR_INVALID_VALUE;
  (*to)->has_before = 1;
  return CU_OK;
}
static cu_result fake_cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, unsigned long long flags) {
  *exec = calloc(1, sizeof **exec);
  (*exec)->graph = graph;
  for (size_t i = 0; i < graph->count; i++) {
    (*exec)->nodes[i] = *graph->nodes[i];
    if (graph->nodes[i]->has_before != (i != 0))
      return CU_ERROR_INVALID_VALUE;
  }
  return flags ? CU_ERROR_INVALID_VALUE : CU_OK;
}
static cu_result fake_cuGraphExecKernelNodeSetParams(cu_graph_exec exec, cu_graph_node node, const cu_kernel_node_params *parameters) {
  for (size_t i = 0; i < exec->graph->count; i++)
    if (exec->graph->nodes[i] == node) {
      if (FAKE_STUBBORN && exec->nodes[i].threads != parameters->block[0])
        return CU_ERROR_NOT_SUPPORTED;
      pthread_mutex_lock(&lock);
      updates++;
      pthread_mutex_unlock(&lock);
      set_node(&exec->nodes[i], parameters);
      return CU_OK;
    }
  return CU_ERROR_INVALID_VALUE;
}
static cu_result fake_cuGraphLaunch(cu_graph_exec exec, cu_stream stream) {
  cu_result result = CU_OK;
  (void)stream;
  pthread_mutex_lock(&lock);
  graph_launches++;
  for (size_t i = 0; i < exec->graph->count && result == CU_OK; i++)
    result = run(exec->nodes[i].function, exec->nodes[i].words);
  pthread_mutex_unlock(&lock);
  return result;
}
static cu_result fake_cuGraphDestroy(cu_graph graph) {
  for (size_t i = 0; i < graph->count; i++)
    free(graph->nodes[i]);
  return free(graph), CU_OK;
}
static cu_result fake_cuGraphExecDestroy(cu_graph_exec exec) { return free(exec), CU_OK; }
static cu_result fake_cuEventCreate(cu_event *event, unsigned flags) { return (void)flags, *event = calloc(1, sizeof **event), CU_OK; }
static cu_result fake_cuEventRecord(cu_event event, cu_stream stream) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->launches = launches();
  event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
  return (void)stream, CU_OK;
}
static cu_result fake_cuEventSynchronize(cu_event event) { return (void)event, sticky(); }
static cu_result fake_cuEventElapsedTime(float *milliseconds, cu_event start, cu_event end) {
  return *milliseconds = (float)(end->milliseconds - start->milliseconds), CU_OK;
}
static cu_result fake_cuEventDestroy(cu_event event) { return free(event), CU_OK; }
static cu_result fake_cuPointerGetAttribute(void *value, int id, cu_pointer pointer) {
  return (void)value, (void)id, (void)pointer, CU_ERROR_INVALID_VALUE;
}
static cu_result fake_cuTensorMapEncodeTiled(cu_tensor_map *map, int type, unsigned rank, void *address, const unsigned long long *extents,
                                             const unsigned long long *strides, const unsigned *box, const unsigned *steps, int interleave,
                                             int swizzle, int promotion, int fill) {
  (void)map, (void)type, (void)rank, (void)address, (void)extents, (void)strides, (void)box, (void)steps, (void)interleave, (void)swizzle;
  return (void)promotion, (void)fill, CU_ERROR_NOT_SUPPORTED;
}
static cu_result fake_cuGetErrorName(cu_result error, const char **text) { return *text = error == 700 ? "FAKE_ILLEGAL_ADDRESS" : "FAKE", CU_OK; }
static cu_result fake_cuGetErrorString(cu_result error, const char **text) { return (void)error, *text = "a fake error", CU_OK; }

#ifdef FAKE_GPU
/* As libcuda.so.1: every function under the name that dlsym asks for. */
#define EXPORTED(name, symbol, parameters) EXPORT extern cu_result exported_##name parameters __asm__(symbol) __attribute__((alias("fake_" #name)));
NAUTILUS_DRIVER_FUNCTIONS(EXPORTED)
#else
int nautilus_emulated_driver(struct nautilus_driver *table);
int nautilus_emulator_configure(const nautilus_emulator_options *given);
const char *nautilus_emulator_last_error(void);

EXPORT int nautilus_emulated_driver(struct nautilus_driver *table) {
#define ROW(name, symbol, parameters) fake_##name,
  static const struct nautilus_driver filled = {sizeof filled, NAUTILUS_DRIVER_FUNCTIONS(ROW)};
  if (table->bytes != sizeof filled)
    return 1;
  *table = filled;
  return 0;
}

EXPORT int nautilus_emulator_configure(const nautilus_emulator_options *given) {
  if (given->order > NAUTILUS_ORDER_RANDOM) {
    snprintf(error_text, sizeof error_text, "order %u is none", given->order);
    return 1;
  }
  options = *given;
  return 0;
}

EXPORT const char *nautilus_emulator_last_error(void) { return error_text; }
#endif
