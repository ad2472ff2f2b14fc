/* Argument blocks of launches: words, and the tensor maps ahead of them. */
#define _POSIX_C_SOURCE 200112L /* posix_memalign */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "error.h"
#include "patches.h"

enum { MAP_WORDS = sizeof(cu_tensor_map) / sizeof(unsigned long long) };
/* Of an argument block, in words: a tensor map's 64 bytes. */
enum { BLOCK_ALIGNMENT = 8 };

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

nautilus_status context_allocate_blocks(nautilus_context *context) {
  const nautilus_model *model = context->model;
  size_t words = 0;
  void *arguments = NULL;
  context->argument_first = calloc(model->launch_count + 1, sizeof *context->argument_first);
  context->is_stale = calloc(model->launch_count + 1, sizeof *context->is_stale);
  for (size_t i = 0; context->argument_first != NULL && i < model->launch_count; i++)
    context->argument_first[i + 1] = words += block_words(context, i);
  words += BLOCK_ALIGNMENT;
  if (context->argument_first == NULL || context->is_stale == NULL ||
      posix_memalign(&arguments, BLOCK_ALIGNMENT * sizeof *context->arguments, words * sizeof *context->arguments) != 0)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  memset(arguments, 0, words * sizeof *context->arguments);
  context->arguments = arguments;
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
void context_forget(nautilus_context *context) {
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
