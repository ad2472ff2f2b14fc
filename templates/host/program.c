#include "program.h"

#include <stdlib.h>

#include "error.h"

int program_exists(const nautilus_model *model) { return model->place.variant->step_count > 0; }

static const struct payload_step *first_step(const nautilus_model *model) {
  return model->payload.steps + model->place.variant->step_first;
}

/* Whether launches can be a graph: several, none of which has arguments that move, and none of which is in another one. */
static int is_segment(const nautilus_context *context, const struct payload_step *step) {
  if (step->kind != STEP_LAUNCHES || step->count < 2)
    return 0;
  for (uint32_t i = step->first; i < step->first + step->count; i++)
    if (context->model->moves[i] || context->segment_of[i] != 0)
      return 0;
  return 1;
}

static nautilus_status build_segments(nautilus_context *context) {
  const nautilus_model *model = context->model;
  uint32_t count = model->place.variant->step_count;
  context->segments = calloc(count + 1, sizeof *context->segments);
  context->segment_of = calloc(model->launch_count + 1, sizeof *context->segment_of);
  if (context->segments == NULL || context->segment_of == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a context");
  for (uint32_t i = 0; i < count; i++) {
    const struct payload_step *step = first_step(model) + i;
    if (!is_segment(context, step))
      continue;
    TRY(replay_build(context, &context->segments[i], step->first, step->count));
    for (uint32_t j = step->first; j < step->first + step->count; j++)
      context->segment_of[j] = i + 1;
  }
  return NAUTILUS_OK;
}

nautilus_status program_create(nautilus_context *context) {
  void *read = NULL;
  unsigned int flags = CU_HOST_ALLOC_PORTABLE | CU_HOST_ALLOC_DEVICE_MAP;
  TRY_DRIVER(&context->model->place.driver, cuMemHostAlloc(&read, sizeof *context->read, flags),
             "allocating memory for what decides a branch");
  context->read = read;
  if (context->launch_mode == NAUTILUS_LAUNCH_GRAPH && !shapes_are_open(context->model))
    TRY(build_segments(context));
  return NAUTILUS_OK;
}

nautilus_status program_update(nautilus_context *context, size_t launch) {
  void *pointer;
  if (context->segment_of[launch] == 0)
    return NAUTILUS_OK;
  const struct replay *segment = &context->segments[context->segment_of[launch] - 1];
  size_t first = first_step(context->model)[context->segment_of[launch] - 1].first;
  cu_kernel_node_params parameters = context_parameters(context, launch, &pointer);
  TRY_DRIVER(&context->model->place.driver, cuGraphExecKernelNodeSetParams(segment->exec, segment->nodes[launch - first], &parameters),
             "giving a graph new pointers");
  return NAUTILUS_OK;
}

void program_dispose(nautilus_context *context) {
  for (uint32_t i = 0; context->segments != NULL && i < context->model->place.variant->step_count; i++)
    replay_dispose(context, &context->segments[i]);
  free(context->segments);
  free(context->segment_of);
}

/* Waits for what the stream computes, and reads a value of it. */
static nautilus_status read_back(nautilus_context *context, cu_stream stream, uint32_t word, size_t bytes, int64_t *value) {
  const struct driver *driver = &context->model->place.driver;
  *context->read = 0;
  TRY_DRIVER(driver, cuMemcpyDtoHAsync((void *)(uintptr_t)context->read, context_word(context, word), bytes, stream),
             "reading what decides a branch");
  TRY_DRIVER(driver, cuStreamSynchronize(stream), "waiting for what decides a branch");
  *value = *context->read;
  return context_take_flag(context); /* a loop over what is not to be used may have no end */
}

static nautilus_status copy(nautilus_context *context, cu_stream stream, cu_pointer to, cu_pointer from, uint64_t bytes) {
  if (to != from && bytes > 0)
    TRY_DRIVER(&context->model->place.driver, cuMemcpyDtoDAsync(to, from, bytes, stream), "copying on the device");
  return NAUTILUS_OK;
}

/* Launches kernels: their graph, where they are one; else one by one, with the addresses that move as they are now. */
static nautilus_status launch(nautilus_context *context, cu_stream stream, const struct payload_step *step) {
  const nautilus_model *model = context->model;
  size_t first = step->first, count = step->count;
  const struct replay *segment = context->segments != NULL ? &context->segments[step - first_step(model)] : NULL;
  if (segment != NULL && segment->exec != NULL) {
    TRY_DRIVER(&model->place.driver, cuGraphLaunch(segment->exec, stream), "running a part of the model");
    return NAUTILUS_OK;
  }
  for (size_t i = first; i < first + count; i++) {
    if (!model->moves[i])
      continue;
    unsigned long long *words = context_words(context, i);
    for (uint32_t j = 0; j < context_row(context, i)->word_count; j++)
      words[j] = context_word(context, (size_t)context_row(context, i)->word_first + j);
    TRY(context_encode(context, i));
  }
  return context_launch_each(context, stream, first, count);
}

static nautilus_status run(nautilus_context *context, cu_stream stream, const struct payload_step *steps, uint32_t count);

static nautilus_status choose(nautilus_context *context, cu_stream stream, const struct payload_step *step) {
  int64_t condition;
  if (context->model->payload.words[step->words[0]].kind == WORD_INTEGER)
    condition = (int64_t)context_word(context, step->words[0]);
  else
    TRY(read_back(context, stream, step->words[0], 1, &condition));
  return condition != 0 ? run(context, stream, step + 1, step->held[0]) : run(context, stream, step + 1 + step->held[0], step->held[1]);
}

/* How many iterations there are: at most, where conditions may end the loop before. */
static nautilus_status trips(nautilus_context *context, cu_stream stream, const struct payload_step *step, int64_t *count) {
  int64_t condition = 1;
  *count = INT64_MAX;
  if (step->words[0] != PAYLOAD_NONE && context->model->payload.words[step->words[0]].kind == WORD_INTEGER)
    *count = (int64_t)context_word(context, step->words[0]);
  else if (step->words[0] != PAYLOAD_NONE)
    TRY(read_back(context, stream, step->words[0], sizeof *count, count));
  if (*count > 0 && step->words[1] != PAYLOAD_NONE)
    TRY(read_back(context, stream, step->words[1], 1, &condition));
  if (condition == 0 || *count < 0)
    *count = 0;
  return NAUTILUS_OK;
}

static nautilus_status too_long(const nautilus_context *context, const struct payload_step *step) {
  return error_set(NAUTILUS_NOT_SERVED, "loop '%s' goes on after %lld iterations, the most that the library was compiled for; the outputs "
                   "of this run are not to be used", context->model->payload.strings + step->name, (long long)step->most);
}

/* Where iteration NUMBER reads what is carried, and where it writes: by turns, so that nothing is copied in between. IS_SPARE says where
 * the first one writes. */
static void move_slots(nautilus_context *context, const struct payload_step *step, int64_t number, int is_spare) {
  const struct payload *payload = &context->model->payload;
  for (uint32_t i = 0; i < step->carry_count; i++) {
    const struct payload_carry *carry = &payload->carries[step->carry_first + i];
    cu_pointer places[2] = {context_word(context, carry->result), context_word(context, carry->spare)};
    int turn = (int)((number + is_spare) % 2);
    context->slots[carry->read] = number == 0 ? context_word(context, carry->initial) : places[!turn];
    context->slots[carry->write] = places[turn];
  }
  for (uint32_t i = 0; i < step->element_count; i++) {
    const struct payload_element *element = &payload->elements[step->element_first + i];
    context->slots[element->slot] = context_word(context, element->base) + (cu_pointer)number * context_word(context, element->stride);
  }
}

/* Puts what the last of COUNT iterations left, or what there was before the first, where it belongs. */
static nautilus_status settle(nautilus_context *context, cu_stream stream, const struct payload_step *step, int64_t count, int is_spare) {
  const struct payload *payload = &context->model->payload;
  for (uint32_t i = 0; i < step->carry_count; i++) {
    const struct payload_carry *carry = &payload->carries[step->carry_first + i];
    cu_pointer result = context_word(context, carry->result);
    cu_pointer last = count == 0 ? context_word(context, carry->initial)
                      : (count - 1 + is_spare) % 2 == 0 ? result
                                                        : context_word(context, carry->spare);
    TRY(copy(context, stream, result, last, context_word(context, carry->bytes)));
  }
  return NAUTILUS_OK;
}

static nautilus_status repeat(nautilus_context *context, cu_stream stream, const struct payload_step *step) {
  int64_t count, number = 0, goes_on = 1;
  TRY(trips(context, stream, step, &count));
  /* Where nothing but the count ends the loop, the last iteration writes where the results belong. */
  int is_spare = step->words[2] == PAYLOAD_NONE && count > 0 && (count - 1) % 2 == 1;
  while (goes_on && number < count) {
    if (number == step->most)
      return too_long(context, step);
    move_slots(context, step, number, is_spare);
    TRY(run(context, stream, step + 1, step->held[0]));
    number++;
    if (step->words[2] != PAYLOAD_NONE && number < count)
      TRY(read_back(context, stream, step->words[2], 1, &goes_on));
  }
  return settle(context, stream, step, number, is_spare);
}

static nautilus_status run(nautilus_context *context, cu_stream stream, const struct payload_step *steps, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const struct payload_step *step = &steps[i];
    switch (step->kind) {
    case STEP_LAUNCHES:
      TRY(launch(context, stream, step));
      break;
    case STEP_COPY:
      TRY(copy(context, stream, context_word(context, step->words[0]), context_word(context, step->words[1]),
               context_word(context, step->words[2])));
      break;
    case STEP_REFUSE:
      return error_set(NAUTILUS_NOT_SERVED, "%s", context->model->payload.strings + step->name);
    case STEP_IF:
      TRY(choose(context, stream, step));
      break;
    default:
      TRY(repeat(context, stream, step));
    }
    i += step->held[0] + step->held[1];
  }
  return NAUTILUS_OK;
}

nautilus_status program_run(nautilus_context *context, cu_stream stream) {
  return run(context, stream, context->model->payload.steps + context->model->place.variant->step_first,
             context->model->place.variant->step_count);
}
