#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include "context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "error.h"
#include "patches.h"
#include "program.h"
#include "structs.h"
#include "values.h"

/* Alignment of the device buffers of host runs, as cuMemAlloc has. */
enum { STAGING_ALIGNMENT = 256 };
enum { MAP_WORDS = sizeof(cu_tensor_map) / sizeof(unsigned long long) };
/* Of an argument block, in words: a tensor map's 64 bytes. */
enum { BLOCK_ALIGNMENT = 8 };

static size_t round_up(size_t bytes) { return (bytes + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT * STAGING_ALIGNMENT; }

const struct payload_launch *context_row(const nautilus_context *context, size_t launch) {
  return &context->model->launches[context->shapes.rows[launch]];
}

static const struct payload_kernel *kernel_of(const nautilus_context *context, const struct payload_launch *row) {
  return &context->model->payload.kernels[context->model->place.variant->kernel_first + row->kernel];
}

static size_t row_words(const nautilus_context *context, const struct payload_launch *row) {
  return (size_t)kernel_of(context, row)->map_count * MAP_WORDS + row->word_count;
}

/* Room for whichever of its alternatives a launch is. The driver copies a block with its padding. */
static size_t block_words(const nautilus_context *context, size_t launch) {
  const nautilus_model *model = context->model;
  size_t words = row_words(context, &model->launches[launch]);
  for (uint32_t i = 0; i < model->launches[launch].alternative_count; i++) {
    size_t others = row_words(context, &model->launches[model->launches[launch].alternative_first + i]);
    words = others > words ? others : words;
  }
  return (words + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
}

static nautilus_status allocate_tables(nautilus_context *context) {
  const nautilus_model *model = context->model;
  size_t words = 0;
  void *arguments = NULL;
  context->argument_first = calloc(model->launch_count + 1, sizeof *context->argument_first);
  for (size_t i = 0; context->argument_first != NULL && i < model->launch_count; i++)
    context->argument_first[i + 1] = words += block_words(context, i);
  words += BLOCK_ALIGNMENT;
  if (posix_memalign(&arguments, BLOCK_ALIGNMENT * sizeof *context->arguments, words * sizeof *context->arguments) != 0)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  memset(arguments, 0, words * sizeof *context->arguments);
  context->arguments = arguments;
  context->bound = calloc(model->port_count + 1, sizeof *context->bound);
  context->given = calloc(model->port_count + 1, sizeof *context->given);
  context->staging = calloc(model->port_count + 1, sizeof *context->staging);
  context->is_stale = calloc(model->launch_count + 1, sizeof *context->is_stale);
  context->slots = calloc((size_t)model->place.variant->slot_count + 1, sizeof *context->slots);
  if (context->argument_first == NULL || context->bound == NULL || context->given == NULL ||
      context->staging == NULL || context->is_stale == NULL || context->slots == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  return NAUTILUS_OK;
}

static nautilus_status too_small(const nautilus_context *context, size_t needed) {
  return error_set(NAUTILUS_INVALID_ARGUMENT, "the workspace has %zu bytes; the model needs %zu%s", context->workspace_bytes, needed,
                   shapes_are_open(context->model) ? " for these shapes" : "");
}

static nautilus_status take_workspace(nautilus_context *context, const nautilus_context_options *options) {
  size_t needed = context->shapes.arena_bytes;
  if (options->workspace == NULL) {
    context->owns_workspace = 1;
    if (needed == 0)
      return NAUTILUS_OK;
    TRY(model_allocate(context->model, needed, "the workspace of a context", &context->workspace));
    context->workspace_bytes = needed;
    return NAUTILUS_OK;
  }
  context->workspace_bytes = options->workspace_bytes;
  context->workspace = (cu_pointer)(uintptr_t)options->workspace;
  if (context->workspace % NAUTILUS_WORKSPACE_ALIGNMENT != 0)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "the workspace %p is not aligned to %d bytes", options->workspace,
                     NAUTILUS_WORKSPACE_ALIGNMENT);
  return options->workspace_bytes < needed ? too_small(context, needed) : NAUTILUS_OK;
}

/* One block for all inputs and outputs, zeroed: zero is a valid index everywhere, so nautilus_time can run on it. */
static nautilus_status allocate_staging(nautilus_context *context, size_t bytes, cu_pointer *block) {
  TRY(model_allocate(context->model, bytes, "the input and output buffers of a context", block));
  TRY_DRIVER(&context->model->place.driver, cuMemsetD8Async(*block, 0, bytes, context->stream), "clearing the input buffers");
  return NAUTILUS_OK;
}

/* An output that lies in an input needs no room of its own. */
static size_t room_of(const nautilus_context *context, const struct shapes *shapes, size_t port) {
  const struct payload *payload = &context->model->payload;
  return payload->ports[port].shared != 0 && port >= payload->header->input_count ? 0 : round_up(shapes->port_bytes[port]);
}

static size_t staging_bytes(const nautilus_context *context, const struct shapes *shapes) {
  size_t bytes = 0;
  for (size_t i = 0; i < context->model->port_count; i++)
    bytes += room_of(context, shapes, i);
  return bytes ? bytes : STAGING_ALIGNMENT;
}

static void place_staging(nautilus_context *context) {
  size_t bytes = 0;
  for (size_t i = 0; i < context->model->port_count; i++) {
    const struct payload_port *port = &context->model->payload.ports[i];
    int is_inside = port->shared != 0 && i >= context->model->payload.header->input_count;
    context->staging[i] = is_inside ? context->staging[port->shared - 1] : context->staging_block + bytes;
    bytes += room_of(context, &context->shapes, i);
  }
}

/* As long as no run says otherwise, ports are what host runs copy to and from. */
static void bind_staging(nautilus_context *context) {
  memcpy(context->bound, context->staging, context->model->port_count * sizeof *context->bound);
}

static nautilus_status allocate_flag(nautilus_context *context) {
  const struct driver *driver = &context->model->place.driver;
  void *flag = NULL;
  TRY_DRIVER(driver, cuMemHostAlloc(&flag, sizeof *context->flag, CU_HOST_ALLOC_PORTABLE | CU_HOST_ALLOC_DEVICE_MAP),
             "allocating the status word");
  context->flag = flag;
  *context->flag = 0;
  TRY_DRIVER(driver, cuMemHostGetDevicePointer(&context->flag_device, flag, 0), "mapping the status word");
  return NAUTILUS_OK;
}

unsigned long long context_word(const nautilus_context *context, size_t index) {
  const nautilus_model *model = context->model;
  const struct payload_word *word = &model->payload.words[index];
  uint64_t value = context->shapes.word_values[index];
  switch (word->kind) {
  case WORD_INPUT:
    return context->bound[word->index] + value;
  case WORD_OUTPUT:
    return context->bound[model->payload.header->input_count + word->index] + value;
  case WORD_ARENA:
    return context->workspace + value;
  case WORD_WEIGHTS:
    return model->weights + value;
  case WORD_STATUS:
    return context->flag_device;
  case WORD_HOST:
    return context->read_device + value;
  case WORD_SLOT:
    return context->slots[word->index] + value;
  default:
    return value;
  }
}

unsigned long long *context_words(const nautilus_context *context, size_t launch) {
  return context->arguments + context->argument_first[launch] + (size_t)kernel_of(context, context_row(context, launch))->map_count * MAP_WORDS;
}

unsigned long long *context_move(nautilus_context *context, size_t launch) {
  const struct payload_launch *row = context_row(context, launch);
  unsigned long long *words = context_words(context, launch);
  for (uint32_t i = 0; i < row->word_count; i++)
    words[i] = context_word(context, (size_t)row->word_first + i);
  return words;
}

nautilus_status context_encode(const nautilus_context *context, size_t launch) {
  static const unsigned int steps[PAYLOAD_MAP_RANK] = {1, 1, 1, 1, 1};
  const struct payload *payload = &context->model->payload;
  const struct payload_kernel *kernel = kernel_of(context, context_row(context, launch));
  cu_tensor_map *encoded = (cu_tensor_map *)(void *)(context->arguments + context->argument_first[launch]);
  for (uint32_t i = 0; i < kernel->map_count; i++) {
    struct payload_map map;
    TRY(patches_map(context->model, &context->shapes, kernel->map_first + i, &map));
    unsigned long long address = context_words(context, launch)[map.word], extents[PAYLOAD_MAP_RANK], strides[PAYLOAD_MAP_RANK - 1];
    if (address == 0) /* a port that is not bound yet */
      continue;
    for (int d = 0; d < PAYLOAD_MAP_RANK; d++)
      extents[d] = map.extents[d];
    for (int d = 0; d + 1 < PAYLOAD_MAP_RANK; d++)
      strides[d] = map.strides[d];
    cu_result result = context->model->place.driver.api.cuTensorMapEncodeTiled(
        &encoded[i], (int)map.element, map.rank, (void *)(uintptr_t)(address + map.offset), extents, strides, map.box, steps,
        CU_TENSOR_INTERLEAVE_NONE, (int)map.swizzle, CU_TENSOR_L2_PROMOTION_256B, CU_TENSOR_FILL_ZERO);
    if (result != CU_OK) { /* only then a text is worth its time: a run of new shapes encodes hundreds */
      char what[256];
      snprintf(what, sizeof what, "describing operand %u of kernel %s to the copy unit", i, payload->strings + kernel->symbol);
      return error_driver(&context->model->place.driver, result, what);
    }
  }
  return NAUTILUS_OK;
}

nautilus_status context_settle(nautilus_context *context, size_t launch) {
  if (!context->is_stale[launch])
    return NAUTILUS_OK;
  context_move(context, launch);
  TRY(context_encode(context, launch));
  context->is_stale[launch] = 0;
  return NAUTILUS_OK;
}

/* The blocks of all launches are of other sizes or addresses. */
static void forget_arguments(nautilus_context *context) {
  context->generation++;
  memset(context->is_stale, 1, context->model->launch_count);
}

cu_kernel_node_params context_parameters(const nautilus_context *context, size_t index, void **pointer) {
  const struct payload_launch *launch = context_row(context, index);
  cu_kernel_node_params parameters;
  memset(&parameters, 0, sizeof parameters);
  *pointer = context->arguments + context->argument_first[index];
  parameters.function = context->model->functions[launch->kernel];
  memcpy(parameters.grid, context->shapes.grids[index], sizeof parameters.grid);
  memcpy(parameters.block, launch->block, sizeof parameters.block);
  parameters.shared_bytes = launch->shared_bytes;
  parameters.parameters = pointer;
  return parameters;
}

/* Memory for what the host reads of inputs, and for their shapes meanwhile. */
static nautilus_status allocate_values(nautilus_context *context) {
  const struct payload *payload = &context->model->payload;
  size_t count = payload->header->input_count, dims = 0;
  context->reads_values = shapes_read_values(context->model);
  if (!context->reads_values)
    return NAUTILUS_OK;
  for (size_t i = 0; i < count; i++)
    dims += payload->ports[i].rank;
  context->input_dims = calloc(dims + 1, sizeof *context->input_dims);
  context->input_shapes = calloc(count + 1, sizeof *context->input_shapes);
  context->values = calloc(count + 1, sizeof *context->values);
  int is_enough = context->input_dims != NULL && context->input_shapes != NULL && context->values != NULL;
  dims = 0;
  for (size_t i = 0; is_enough && i < count; i++) {
    const struct payload_port *port = &payload->ports[i];
    size_t elements = shapes_read_elements(context->model, i);
    context->input_shapes[i] = context->input_dims + dims;
    memcpy(context->input_shapes[i], context->shapes.dims + port->dim_first, port->rank * sizeof *context->input_dims);
    dims += port->rank;
    if (elements > 0 && (context->values[i] = calloc(elements, values_element_bytes((nautilus_dtype)port->dtype))) == NULL)
      is_enough = 0;
  }
  return is_enough ? NAUTILUS_OK : error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
}

static nautilus_status build(nautilus_context *context, const nautilus_context_options *options) {
  const struct driver *driver = &context->model->place.driver;
  TRY(allocate_tables(context));
  TRY(counts_create(context));
  TRY(shapes_create(context->model, &context->shapes));
  TRY(shapes_create(context->model, &context->next));
  TRY(allocate_values(context));
  TRY_DRIVER(driver, cuStreamCreate(&context->stream, CU_STREAM_FLAG_NON_BLOCKING), "creating a stream");
  TRY(take_workspace(context, options));
  TRY(allocate_flag(context));
  if (!options->device_only) {
    context->staging_bytes = staging_bytes(context, &context->shapes);
    TRY(allocate_staging(context, context->staging_bytes, &context->staging_block));
    place_staging(context);
    context->is_fed = 1;
  }
  if (program_exists(context->model))
    TRY(program_allocate(context));
  bind_staging(context);
  forget_arguments(context);
  int is_open = shapes_are_open(context->model), has_steps = program_exists(context->model);
  if (has_steps)
    TRY(program_create(context));
  if (context->launch_mode == NAUTILUS_LAUNCH_GRAPH && !has_steps)
    TRY(is_open ? buckets_create(context) : replay_build(context, &context->replay, 0, context->model->launch_count));
  if (context->launch_mode == NAUTILUS_LAUNCH_GRAPH && is_open && context->shapes.is_set)
    TRY(chain_create(context));
  if (context->launch_mode == NAUTILUS_LAUNCH_STREAM || is_open || has_steps)
    TRY_DRIVER(driver, cuEventCreate(&context->done, CU_EVENT_FLAG_DISABLE_TIMING), "creating an event");
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "preparing a context");
  return NAUTILUS_OK;
}

/* Frees what there is, also of a context that failed half way. The last error's text stays. */
static void dispose(nautilus_context *context) {
  const struct nautilus_driver *api = &context->model->place.driver.api;
  if (api->cuCtxPushCurrent(context->model->primary) == CU_OK) {
    if (context->stream != NULL)
      api->cuStreamSynchronize(context->stream);
    replay_dispose(context, &context->replay);
    buckets_dispose(context);
    chain_dispose(context);
    if (context->done != NULL)
      api->cuEventDestroy(context->done);
    if (context->staging_block != 0)
      api->cuMemFree(context->staging_block);
    if (context->owns_workspace && context->workspace != 0)
      api->cuMemFree(context->workspace);
    if (context->flag != NULL)
      api->cuMemFreeHost((void *)(uintptr_t)context->flag);
    if (context->read != NULL)
      api->cuMemFreeHost((void *)(uintptr_t)context->read);
    if (context->stream != NULL)
      api->cuStreamDestroy(context->stream);
    model_leave(context->model);
  }
  shapes_destroy(&context->shapes);
  shapes_destroy(&context->next);
  counts_destroy(context);
  for (size_t i = 0; context->values != NULL && i < context->model->payload.header->input_count; i++)
    free(context->values[i]);
  free(context->values);
  free(context->input_shapes);
  free(context->input_dims);
  free(context->arguments);
  free(context->argument_first);
  free(context->bound);
  free(context->given);
  free(context->staging);
  free(context->is_stale);
  free(context->slots);
  free(context);
}

nautilus_status nautilus_context_create(nautilus_model *model, const nautilus_context_options *options, nautilus_context **context) {
  nautilus_context_options chosen = {sizeof chosen, NULL, 0, NAUTILUS_LAUNCH_GRAPH, 0};
  if (model == NULL || context == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_context_create: the model or the pointer to the context is NULL");
  *context = NULL;
  TRY(struct_read(&chosen, sizeof chosen, options, "nautilus_context_options"));
  if (chosen.launch != NAUTILUS_LAUNCH_GRAPH && chosen.launch != NAUTILUS_LAUNCH_STREAM)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "launch is %d: it is NAUTILUS_LAUNCH_GRAPH or NAUTILUS_LAUNCH_STREAM", chosen.launch);
  nautilus_context *made = calloc(1, sizeof *made);
  if (made == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  made->model = model;
  made->launch_mode = (nautilus_launch)chosen.launch;
  nautilus_status status = model_enter(model);
  if (status == NAUTILUS_OK) {
    status = build(made, &chosen);
    model_leave(model);
  }
  if (status != NAUTILUS_OK) {
    dispose(made);
    return status;
  }
  __atomic_add_fetch(&model->context_count, 1, __ATOMIC_RELEASE);
  *context = made;
  return NAUTILUS_OK;
}

/* Waits for the runs so far: what they use is about to be freed. */
static nautilus_status finish_runs(nautilus_context *context) {
  const struct driver *driver = &context->model->place.driver;
  if (context->has_run)
    TRY_DRIVER(driver, cuEventSynchronize(context->done), "waiting for the last run");
  TRY_DRIVER(driver, cuStreamSynchronize(context->stream), "waiting for the last run");
  return NAUTILUS_OK;
}

/* Gets the memory that the next shapes need beyond what there is; without it nothing changes. */
static nautilus_status grow(nautilus_context *context) {
  const struct nautilus_driver *api = &context->model->place.driver.api;
  size_t staged = context->staging_block != 0 ? staging_bytes(context, &context->next) : 0;
  cu_pointer workspace = 0, staging = 0;
  if (context->next.arena_bytes <= context->workspace_bytes && staged <= context->staging_bytes)
    return NAUTILUS_OK;
  if (context->next.arena_bytes > context->workspace_bytes) {
    if (!context->owns_workspace)
      return too_small(context, context->next.arena_bytes);
    TRY(model_allocate(context->model, context->next.arena_bytes, "the workspace of a context", &workspace));
  }
  nautilus_status status = staged > context->staging_bytes ? allocate_staging(context, staged, &staging) : NAUTILUS_OK;
  if (status == NAUTILUS_OK)
    status = finish_runs(context);
  if (status != NAUTILUS_OK) {
    if (workspace != 0)
      api->cuMemFree(workspace);
    if (staging != 0)
      api->cuMemFree(staging);
    return status;
  }
  if (workspace != 0) {
    if (context->workspace != 0)
      api->cuMemFree(context->workspace);
    context->workspace = workspace;
    context->workspace_bytes = context->next.arena_bytes;
  }
  if (staging != 0) {
    api->cuMemFree(context->staging_block);
    context->staging_block = staging;
    context->staging_bytes = staged;
  }
  return NAUTILUS_OK;
}

nautilus_status context_take(nautilus_context *context, const int64_t *const *inputs, const void *const *values) {
  const struct payload *payload = &context->model->payload;
  TRY(shapes_work_out(context->model, inputs, values, &context->next));
  if (context->shapes.is_set && memcmp(context->next.sizes, context->shapes.sizes, payload->size_count * sizeof *context->next.sizes) == 0)
    return NAUTILUS_OK;
  TRY(grow(context));
  struct shapes old = context->shapes;
  context->shapes = context->next;
  context->next = old;
  if (context->staging_block != 0)
    place_staging(context);
  context->is_fed = 0;
  context->counts_are = COUNTS_NONE;
  bind_staging(context);
  forget_arguments(context);
  if (context->buckets == NULL)
    return NAUTILUS_OK;
  buckets_select(context);
  /* Before values of inputs are known, grids are none that can be launched. */
  return context->chain.begins == NULL ? chain_create(context) : NAUTILUS_OK;
}

/* Lets addresses that iterations move point to the same bytes of another workspace: loops around a read go on there. */
static void move_slots(nautilus_context *context, cu_pointer workspace) {
  for (uint32_t i = 0; i < context->model->place.variant->slot_count; i++)
    if (context->slots[i] - context->workspace < context->workspace_bytes)
      context->slots[i] += workspace - context->workspace;
}

/* Gets a larger workspace that holds what the one before did. */
static nautilus_status move_workspace(nautilus_context *context, size_t used, cu_stream stream) {
  const struct driver *driver = &context->model->place.driver;
  size_t needed = context->shapes.arena_bytes;
  cu_pointer workspace = 0;
  if (!context->owns_workspace)
    return too_small(context, needed);
  TRY(model_allocate(context->model, needed, "the workspace of a context", &workspace));
  nautilus_status status = NAUTILUS_OK;
  if (context->workspace != 0 && used > 0)
    status = error_driver(driver, driver->api.cuMemcpyDtoDAsync(workspace, context->workspace, used, stream), "moving the workspace");
  if (status == NAUTILUS_OK)
    status = error_driver(driver, driver->api.cuStreamSynchronize(stream), "moving the workspace");
  cu_pointer freed = status == NAUTILUS_OK ? context->workspace : workspace;
  if (freed != 0)
    driver->api.cuMemFree(freed);
  TRY(status);
  move_slots(context, workspace);
  context->workspace = workspace;
  context->workspace_bytes = needed;
  return NAUTILUS_OK;
}

nautilus_status context_give(nautilus_context *context, size_t symbol, int64_t value, cu_stream stream) {
  size_t used = context->shapes.arena_bytes;
  if (context->shapes.symbols[symbol] == value)
    return NAUTILUS_OK;
  nautilus_status status = shapes_give(context->model, symbol, value, &context->shapes);
  if (status == NAUTILUS_OK && context->shapes.arena_bytes > context->workspace_bytes)
    status = move_workspace(context, used < context->workspace_bytes ? used : context->workspace_bytes, stream);
  if (status == NAUTILUS_OK)
    forget_arguments(context);
  else
    context->shapes.symbols[symbol] = -1; /* the next run is to take it anew, even if it is the same */
  return status;
}

/* Keeps the shapes of the inputs until a run reads the values. */
static nautilus_status keep_shapes(nautilus_context *context, const int64_t *const *inputs) {
  const struct payload *payload = &context->model->payload;
  TRY(shapes_check_inputs(context->model, inputs, &context->next));
  for (size_t i = 0; i < payload->header->input_count; i++)
    if (payload->ports[i].rank > 0)
      memcpy(context->input_shapes[i], inputs[i], payload->ports[i].rank * sizeof *context->input_dims);
  context->reads_values = 1;
  return NAUTILUS_OK;
}

nautilus_status nautilus_context_reshape_values(nautilus_context *context, const int64_t *const *inputs, const void *const *values) {
  if (context == NULL || (inputs == NULL && context->model->payload.header->input_count > 0))
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_context_reshape: the context or the shapes of the inputs are NULL");
  if (context->values != NULL && values == NULL)
    return keep_shapes(context, inputs);
  TRY(model_enter(context->model));
  nautilus_status status = context_take(context, inputs, values);
  if (status == NAUTILUS_OK)
    context->reads_values = 0;
  model_leave(context->model);
  return status;
}

nautilus_status nautilus_context_reshape(nautilus_context *context, const int64_t *const *inputs) {
  return nautilus_context_reshape_values(context, inputs, NULL);
}

nautilus_status nautilus_context_destroy(nautilus_context *context) {
  if (context == NULL)
    return NAUTILUS_OK;
  nautilus_model *model = context->model;
  dispose(context);
  __atomic_sub_fetch(&model->context_count, 1, __ATOMIC_RELEASE);
  return NAUTILUS_OK;
}

void *nautilus_context_stream(const nautilus_context *context) { return context == NULL ? NULL : context->stream; }
