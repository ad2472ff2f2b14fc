#include "patches.h"

#include <limits.h>
#include <string.h>

#include "error.h"

/* Most blocks along y or z of a grid, and along x. Source: CUDA C++ Programming Guide 13, Compute Capabilities, technical specifications. */
enum { MOST_BLOCKS_YZ = 65535, MOST_BLOCKS_X = INT_MAX };

/* Chooses what is launched: the first alternative whose condition holds, else the launch itself. */
static void choose(const nautilus_model *model, struct shapes *shapes) {
  for (uint32_t i = 0; i < model->launch_count; i++) {
    uint32_t row = model->launches[i].alternative_first, end = row + model->launches[i].alternative_count;
    while (row < end && shapes->sizes[model->conditions[row]] > 0)
      row++;
    shapes->rows[i] = row < end ? row : i;
  }
}

/* What no patch gives, and what is launched, since that decides which grids count. */
static void copy_fixed(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  choose(model, shapes);
  memcpy(shapes->dims, payload->dims, payload->dim_count * sizeof *shapes->dims);
  for (size_t i = 0; i < model->port_count; i++)
    shapes->port_bytes[i] = payload->ports[i].bytes;
  for (size_t i = 0; i < model->launch_count; i++)
    memcpy(shapes->grids[i], model->launches[shapes->rows[i]].grid, sizeof shapes->grids[i]);
  shapes->arena_bytes = model->place.variant->arena_bytes;
}

static void patch_map(struct payload_map *map, uint32_t field, uint64_t value) {
  if (field < PAYLOAD_MAP_RANK)
    map->extents[field] = value;
  else if (field < PAYLOAD_MAP_FIELDS - 1)
    map->strides[field - PAYLOAD_MAP_RANK] = value;
  else
    map->offset = value;
}

static nautilus_status is_negative(void) {
  return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is negative");
}

nautilus_status patches_map(const nautilus_model *model, const struct shapes *shapes, size_t index, struct payload_map *map) {
  const struct patch_list *list = &model->patch_lists.maps;
  *map = model->payload.maps[index];
  for (uint32_t i = list->first[index]; i < list->first[index + 1]; i++) {
    int64_t value = shapes->sizes[list->puts[i].size];
    if (value < 0)
      return is_negative();
    patch_map(map, list->puts[i].field, (uint64_t)value);
  }
  return NAUTILUS_OK;
}

/* Puts a value in its place, which is not of what a row launches; values of other variants have none. */
static nautilus_status apply(const nautilus_model *model, const struct payload_patch *patch, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  int64_t value = shapes->sizes[patch->size];
  uint64_t most = patch->kind == PATCH_BYTES   ? payload->ports[patch->target].bytes
                  : patch->kind == PATCH_ARENA ? payload->variants[patch->target].arena_bytes
                                               : INT64_MAX;
  if (patch->kind != PATCH_WORD && value < 0)
    return is_negative();
  if (patch->kind != PATCH_WORD && (uint64_t)value > most)
    return error_set(NAUTILUS_BAD_LIBRARY, "the library is damaged: a size that it works out is above its bound");
  switch (patch->kind) {
  case PATCH_DIMENSION:
    shapes->dims[payload->ports[patch->target].dim_first + patch->field] = value;
    break;
  case PATCH_BYTES:
    shapes->port_bytes[patch->target] = (size_t)value;
    break;
  case PATCH_WORD:
    shapes->word_values[patch->target] = (uint64_t)value;
    break;
  default:
    if (&payload->variants[patch->target] == model->place.variant)
      shapes->arena_bytes = (size_t)value;
  }
  return NAUTILUS_OK;
}

static nautilus_status apply_grid(uint32_t field, int64_t value, uint32_t *grid) {
  if (value < 0)
    return is_negative();
  if (value < 1 || value > (field == 0 ? MOST_BLOCKS_X : MOST_BLOCKS_YZ))
    return error_set(NAUTILUS_UNSUPPORTED, "a launch of %lld blocks along dimension %u is not possible", (long long)value, (unsigned)field);
  grid[field] = (uint32_t)value;
  return NAUTILUS_OK;
}

/* Puts what a launch is with these sizes in its place. */
static nautilus_status apply_row(const nautilus_model *model, size_t launch, struct shapes *shapes) {
  const struct patch_list *list = &model->patch_lists.rows;
  uint32_t row = shapes->rows[launch];
  for (uint32_t i = list->first[row]; i < list->first[row + 1]; i++) {
    const struct patch_put *put = &list->puts[i];
    if (put->field < PATCH_GRID_FIELDS)
      TRY(apply_grid(put->field, shapes->sizes[put->size], shapes->grids[launch]));
    else
      shapes->word_values[model->launches[row].word_first + put->field - PATCH_GRID_FIELDS] = (uint64_t)shapes->sizes[put->size];
  }
  return NAUTILUS_OK;
}

nautilus_status patches_apply(const nautilus_model *model, struct shapes *shapes) {
  const struct patch_lists *lists = &model->patch_lists;
  copy_fixed(model, shapes);
  for (size_t i = 0; i < lists->other_count; i++)
    TRY(apply(model, &model->payload.patches[lists->others[i]], shapes));
  for (size_t i = 0; i < model->launch_count; i++)
    TRY(apply_row(model, i, shapes));
  return NAUTILUS_OK;
}

void patches_apply_inputs(const nautilus_model *model, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  copy_fixed(model, shapes);
  shapes->arena_bytes = 0;
  for (size_t i = 0; i < payload->patch_count; i++) {
    const struct payload_patch *patch = &payload->patches[i];
    if (patch->kind == PATCH_BYTES)
      shapes->port_bytes[patch->target] = 0;
    if (patch->kind == PATCH_DIMENSION && patch->target < payload->header->input_count)
      shapes->dims[payload->ports[patch->target].dim_first + patch->field] = shapes->sizes[patch->size];
  }
}
