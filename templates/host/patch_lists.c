#include "patch_lists.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "model.h"

static nautilus_status no_memory(void) { return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the model's tables"); }

/* Patches by the word of a row, and by the dimension of its grid, that each gives: 1 + the patch, or 0. */
struct places {
  uint32_t *words, *grids;
  uint8_t *is_owned; /* one a word: whether a row has it */
};

static void free_places(struct places *places) {
  free(places->words);
  free(places->grids);
  free(places->is_owned);
}

/* Sorts patches: those of rows by their places, and those of nothing in particular into a list. */
static nautilus_status sort(nautilus_model *model, struct places *places) {
  const struct payload *payload = &model->payload;
  struct patch_lists *lists = &model->patch_lists;
  places->words = calloc(payload->word_count + 1, sizeof *places->words);
  places->grids = calloc(PATCH_GRID_FIELDS * model->row_count + 1, sizeof *places->grids);
  places->is_owned = calloc(payload->word_count + 1, sizeof *places->is_owned);
  lists->others = calloc(payload->patch_count + 1, sizeof *lists->others);
  if (places->words == NULL || places->grids == NULL || places->is_owned == NULL || lists->others == NULL)
    return no_memory();
  for (size_t i = 0; i < model->row_count; i++)
    memset(places->is_owned + model->launches[i].word_first, 1, model->launches[i].word_count);
  for (uint32_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    size_t row = (size_t)patch->target - model->place.variant->launch_first;
    if (patch->kind == PATCH_WORD && places->is_owned[patch->target])
      places->words[patch->target] = i + 1;
    else if (patch->kind == PATCH_GRID && row < model->row_count)
      places->grids[PATCH_GRID_FIELDS * row + patch->field] = i + 1;
    else if (patch->kind != PATCH_GRID && patch->kind != PATCH_MAP && patch->kind != PATCH_COUNT && patch->kind != PATCH_LIMIT)
      lists->others[lists->other_count++] = i; /* counts and limits, the end of a run tells */
  }
  return NAUTILUS_OK;
}

/* Appends what a patch puts into a field, if there is one, and returns how many puts there are then. */
static uint32_t append(const nautilus_model *model, uint32_t patch, uint32_t field, struct patch_put *puts, uint32_t count) {
  if (patch == 0)
    return count;
  puts[count] = (struct patch_put){model->payload.patches[patch - 1].size, field};
  return count + 1;
}

static nautilus_status list_rows(nautilus_model *model, const struct places *places) {
  struct patch_list *list = &model->patch_lists.rows;
  size_t most = 0;
  uint32_t count = 0;
  for (size_t i = 0; i < model->row_count; i++)
    most += PATCH_GRID_FIELDS + model->launches[i].word_count;
  list->first = calloc(model->row_count + 1, sizeof *list->first);
  list->puts = calloc(most + 1, sizeof *list->puts);
  if (list->first == NULL || list->puts == NULL)
    return no_memory();
  for (size_t i = 0; i < model->row_count; i++) {
    for (uint32_t j = 0; j < PATCH_GRID_FIELDS; j++)
      count = append(model, places->grids[PATCH_GRID_FIELDS * i + j], j, list->puts, count);
    for (uint32_t j = 0; j < model->launches[i].word_count; j++)
      count = append(model, places->words[model->launches[i].word_first + j], PATCH_GRID_FIELDS + j, list->puts, count);
    list->first[i + 1] = count;
  }
  return NAUTILUS_OK;
}

/* Counting sort: how many each, where each begins, then each in its place, which leaves where each ends. */
static nautilus_status list_maps(nautilus_model *model) {
  const struct payload *payload = &model->payload;
  struct patch_list *list = &model->patch_lists.maps;
  list->first = calloc(payload->map_count + 2, sizeof *list->first);
  list->puts = calloc(payload->patch_count + 1, sizeof *list->puts);
  if (list->first == NULL || list->puts == NULL)
    return no_memory();
  for (size_t i = 0; i < payload->patch_count; i++)
    if (payload->patches[i].kind == PATCH_MAP)
      list->first[payload->patches[i].target + 2]++;
  for (size_t i = 2; i < payload->map_count + 2; i++)
    list->first[i] += list->first[i - 1];
  for (uint32_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    if (patch->kind == PATCH_MAP)
      list->puts[list->first[patch->target + 1]++] = (struct patch_put){patch->size, patch->field};
  }
  return NAUTILUS_OK;
}

nautilus_status patch_lists_create(nautilus_model *model) {
  struct places places = {NULL, NULL, NULL};
  nautilus_status status = sort(model, &places);
  if (status == NAUTILUS_OK)
    status = list_rows(model, &places);
  free_places(&places);
  TRY(status);
  return list_maps(model);
}

void patch_lists_destroy(struct patch_lists *lists) {
  free(lists->rows.first);
  free(lists->rows.puts);
  free(lists->maps.first);
  free(lists->maps.puts);
  free(lists->others);
}
