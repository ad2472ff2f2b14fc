#include "program.h"

#include <stdlib.h>

#include "counts.h"
#include "error.h"
#include "symbols.h"

int program_exists(const nautilus_model *model) { return model->place.variant->step_count > 0; }

static const struct payload_step *first_step(const nautilus_model *model) {
  return model->payload.steps + model->place.variant->step_first;
}

/* Launches from which on a graph is quicker than they are one by one. */
enum { SEGMENT_LAUNCHES = 2 };

/* Iterations, of those that write to one of two places, after which a graph of their launches is worth its making in the first run too. */
enum { SEGMENT_SKIPS = 8 };

/* What a run goes by. */
struct walk {
  nautilus_context *context;
  cu_stream stream;
  int recur; /* these shapes ran before */
};

static int moves(const nautilus_context *context, const struct payload_step *step) {
  for (uint32_t i = step->first; i < step->first + step->count; i++)
    if (context->model->moves[i])
      return 1;
  return 0;
}

/* The graph of a step's launches for iterations that write to one of two places. */
static struct replay *segment_of(const nautilus_context *context, const struct payload_step *step, int turn) {
  return &context->bucket->segments[2 * (step - first_step(context->model)) + turn];
}

/* Where all sizes are known, what no iteration moves is a graph from the beginning. */
static nautilus_status build_segments(nautilus_context *context) {
  for (uint32_t i = 0; i < context->model->place.variant->step_count; i++) {
    const struct payload_step *step = first_step(context->model) + i;
    if (step->kind == STEP_LAUNCHES && step->count >= SEGMENT_LAUNCHES)
      for (int turn = 0; turn <= moves(context, step); turn++)
        TRY(replay_prepare(context, segment_of(context, step, turn), step->first, step->count));
  }
  return NAUTILUS_OK;
}

/* Room for a value that is copied, ahead of those that kernels write. */
enum { READ_BYTES = 16 };

nautilus_status program_allocate(nautilus_context *context) {
  const struct payload *payload = &context->model->payload;
  const struct driver *driver = &context->model->place.driver;
  unsigned int flags = CU_HOST_ALLOC_PORTABLE | CU_HOST_ALLOC_DEVICE_MAP;
  size_t bytes = READ_BYTES;
  void *read = NULL;
  for (size_t i = 0; i < payload->word_count; i++) {
    size_t end = READ_BYTES + (size_t)payload->words[i].value + sizeof *context->read;
    if (payload->words[i].kind == WORD_HOST && payload->words[i].value < PAYLOAD_HOST_BYTES && end > bytes)
      bytes = end;
  }
  TRY_DRIVER(driver, cuMemHostAlloc(&read, bytes, flags), "allocating memory for what decides a branch");
  context->read = read;
  TRY_DRIVER(driver, cuMemHostGetDevicePointer(&context->read_device, read, 0), "mapping memory for what decides a branch");
  context->read_device += READ_BYTES;
  return NAUTILUS_OK;
}

nautilus_status program_create(nautilus_context *context) {
  if (context->launch_mode != NAUTILUS_LAUNCH_GRAPH)
    return NAUTILUS_OK;
  TRY(buckets_create(context));
  return shapes_are_open(context->model) ? NAUTILUS_OK : build_segments(context);
}

/* Waits for what the stream computes, and reads a value of it. */
static nautilus_status read_back(nautilus_context *context, cu_stream stream, uint32_t word, size_t bytes, int64_t *value) {
  const struct driver *driver = &context->model->place.driver;
  if (context->model->payload.words[word].kind == WORD_HOST) {
    TRY_DRIVER(driver, cuStreamSynchronize(stream), "waiting for what decides a branch");
    const volatile int64_t *written = context->read + (READ_BYTES + context->shapes.word_values[word]) / sizeof *context->read;
    *value = bytes == 1 ? *(const volatile uint8_t *)written : *written;
    return context_take_flag(context);
  }
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

/* Launches kernels: by a graph of these shapes, or as shapes run that did not run before. TURN says to which of two places the iteration
 * around them writes. */
static nautilus_status launch(const struct walk *walk, const struct payload_step *step, int turn) {
  nautilus_context *context = walk->context;
  if (context->buckets != NULL && step->count >= SEGMENT_LAUNCHES) {
    struct replay *segment = segment_of(context, step, moves(context, step) ? turn : 0);
    if (walk->recur || segment->skipped == SEGMENT_SKIPS)
      return replay_run(context, segment, step->first, step->count, walk->stream);
    segment->skipped++;
  }
  return chain_run(context, step->first, step->count, walk->stream);
}

/* Lets numbers that are read behind a step be as before a run: what the last iteration had of them, beside another number of this one,
 * may be more than there is memory for, or than can be launched. */
static void forget_later(nautilus_context *context, const struct payload_step *step) {
  const struct payload_step *end = first_step(context->model) + context->model->place.variant->step_count;
  for (step++; step < end; step++)
    if (step->kind == STEP_READ)
      context->shapes.symbols[step->first] = symbols_first_value(&context->model->payload.symbols[step->first]);
}

/* Waits for a number that a kernel gave, from which on sizes follow. */
static nautilus_status read_size(const struct walk *walk, const struct payload_step *step) {
  int64_t value;
  TRY(read_back(walk->context, walk->stream, step->words[0], sizeof value, &value));
  if (walk->context->model->payload.words[step->words[0]].kind == WORD_ARENA) /* before memory is taken for it */
    TRY(counts_check_word(walk->context->model, walk->context->shapes.word_values[step->words[0]] / sizeof value, value));
  if (walk->context->shapes.symbols[step->first] != value)
    forget_later(walk->context, step);
  return context_give(walk->context, step->first, value, walk->stream);
}

static nautilus_status run(const struct walk *walk, const struct payload_step *steps, uint32_t count, int turn);

static nautilus_status choose(const struct walk *walk, const struct payload_step *step, int turn) {
  nautilus_context *context = walk->context;
  int64_t condition;
  if (context->model->payload.words[step->words[0]].kind == WORD_INTEGER)
    condition = (int64_t)context_word(context, step->words[0]);
  else
    TRY(read_back(context, walk->stream, step->words[0], 1, &condition));
  return condition != 0 ? run(walk, step + 1, step->held[0], turn) : run(walk, step + 1 + step->held[0], step->held[1], turn);
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
    TRY(copy(context, stream, result, last, context_word(context, count == 0 ? carry->initial_bytes : carry->bytes)));
  }
  return NAUTILUS_OK;
}

static nautilus_status repeat(const struct walk *walk, const struct payload_step *step) {
  nautilus_context *context = walk->context;
  int64_t count, number = 0, goes_on = 1;
  TRY(trips(context, walk->stream, step, &count));
  /* Where nothing but the count ends the loop, the last iteration writes where the results belong. */
  int is_spare = step->words[2] == PAYLOAD_NONE && count > 0 && (count - 1) % 2 == 1;
  while (goes_on && number < count) {
    if (number == step->most)
      return too_long(context, step);
    move_slots(context, step, number, is_spare);
    TRY(run(walk, step + 1, step->held[0], (int)((number + is_spare) % 2)));
    number++;
    if (step->words[2] != PAYLOAD_NONE && number < count)
      TRY(read_back(context, walk->stream, step->words[2], 1, &goes_on));
  }
  return settle(context, walk->stream, step, number, is_spare);
}

static nautilus_status run(const struct walk *walk, const struct payload_step *steps, uint32_t count, int turn) {
  nautilus_context *context = walk->context;
  for (uint32_t i = 0; i < count; i++) {
    const struct payload_step *step = &steps[i];
    switch (step->kind) {
    case STEP_LAUNCHES:
      TRY(launch(walk, step, turn));
      break;
    case STEP_COPY:
      TRY(copy(context, walk->stream, context_word(context, step->words[0]), context_word(context, step->words[1]),
               context_word(context, step->words[2])));
      break;
    case STEP_READ:
      TRY(read_size(walk, step));
      break;
    case STEP_REFUSE:
      return error_set(NAUTILUS_NOT_SERVED, "%s", context->model->payload.strings + step->name);
    case STEP_IF:
      TRY(choose(walk, step, turn));
      break;
    default:
      TRY(repeat(walk, step));
    }
    i += step->held[0] + step->held[1];
  }
  return NAUTILUS_OK;
}

nautilus_status program_run(nautilus_context *context, cu_stream stream, int recur) {
  const struct walk walk = {context, stream, recur || !shapes_are_open(context->model)};
  return run(&walk, first_step(context->model), context->model->place.variant->step_count, 0);
}
