#include "kinds.h"

#include <stdlib.h>

#include "error.h"

/* A row that may be launched in the place of a launch: the launch itself, or an alternative. */
static const struct payload_launch *row_of(const nautilus_model *model, const struct payload_launch *launch, uint32_t number) {
  return number == 0 ? launch : &model->launches[launch->alternative_first + number - 1];
}

static int is_like(const nautilus_model *model, const struct payload_launch *one, const struct payload_launch *other) {
  if (one->alternative_count != other->alternative_count)
    return 0;
  for (uint32_t i = 0; i <= one->alternative_count; i++) {
    const struct payload_launch *a = row_of(model, one, i), *b = row_of(model, other, i);
    if (a->kernel != b->kernel || a->word_count != b->word_count || a->flags != b->flags)
      return 0;
  }
  return 1;
}

/* A number that launches of one kind have in common. Source: FNV-1a, 64 bits. */
static uint64_t digest(const nautilus_model *model, const struct payload_launch *launch) {
  uint64_t value = 14695981039346656037u;
  for (uint32_t i = 0; i <= launch->alternative_count; i++)
    value = (value ^ row_of(model, launch, i)->kernel) * 1099511628211u;
  return value;
}

/* Returns the first launch of LAUNCH's kind. FIRSTS is a table of one more than such launches, by their digests, that is half empty. */
static uint32_t first_like(const nautilus_model *model, uint32_t *firsts, size_t capacity, uint32_t launch) {
  size_t place = digest(model, &model->launches[launch]) & (capacity - 1);
  while (firsts[place] && !is_like(model, &model->launches[firsts[place] - 1], &model->launches[launch]))
    place = (place + 1) & (capacity - 1);
  if (firsts[place] == 0)
    firsts[place] = launch + 1;
  return firsts[place] - 1;
}

nautilus_status kinds_list(nautilus_model *model) {
  size_t capacity = 2; /* a power of two */
  while (capacity < 2 * (size_t)model->launch_count)
    capacity *= 2;
  uint32_t *firsts = calloc(capacity, sizeof *firsts);
  model->kinds = calloc(model->launch_count + 1, sizeof *model->kinds);
  if (firsts == NULL || model->kinds == NULL) {
    free(firsts);
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the model's tables");
  }
  for (uint32_t i = 0; i < model->launch_count; i++)
    model->kinds[i] = first_like(model, firsts, capacity, i);
  free(firsts);
  return NAUTILUS_OK;
}

int kinds_are_equal(const nautilus_model *model, size_t first, size_t other, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (model->kinds[first + i] != model->kinds[other + i])
      return 0;
  return 1;
}
