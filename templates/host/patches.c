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
  *map = model->payload.maps[index];
  for (uint32_t i = model->map_first[index]; i < model->map_first[index + 1]; i++) {
    const struct payload_patch *patch = &model->payload.patches[model->map_patches[i]];
    if (shapes->sizes[patch->size] < 0)
      return is_negative();
    patch_map(map, patch->field, (uint64_t)shapes->sizes[patch->size]);
  }
  return NAUTILUS_OK;
}

/* Puts a value in its place; values of other variants have none. */
static nautilus_status apply(const nautilus_model *model, const struct payload_patch *patch, struct shapes *shapes) {
  const struct payload *payload = &model->payload;
  int64_t value = shapes->sizes[patch->size];
  size_t row = (size_t)patch->target - model->place.variant->launch_first;
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
  case PATCH_GRID:
    if (value < 1 || value > (patch->field == 0 ? MOST_BLOCKS_X : MOST_BLOCKS_YZ))
      return error_set(NAUTILUS_UNSUPPORTED, "a launch of %lld blocks along dimension %u is not possible", (long long)value,
                       (unsigned)patch->field);
    shapes->grids[model->owner[row]][patch->field] = (uint32_t)value;
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

/* Puts what a row launches in its place. */
static nautilus_status apply_row(const nautilus_model *model, uint32_t row, struct shapes *shapes) {
  const struct payload_launch *launch = &model->launches[row];
  for (int i = 0; i < 3; i++)
    if (model->grid_patches[3 * row + i] > 0)
      TRY(apply(model, &model->payload.patches[model->grid_patches[3 * row + i] - 1], shapes));
  for (uint32_t i = launch->word_first; i < launch->word_first + launch->word_count; i++)
    if (model->word_patches[i] > 0)
      TRY(apply(model, &model->payload.patches[model->word_patches[i] - 1], shapes));
  return NAUTILUS_OK;
}

nautilus_status patches_apply(const nautilus_model *model, struct shapes *shapes) {
  copy_fixed(model, shapes);
  for (size_t i = 0; i < model->patch_count; i++)
    TRY(apply(model, &model->payload.patches[model->patches[i]], shapes));
  for (size_t i = 0; i < model->launch_count; i++)
    TRY(apply_row(model, shapes->rows[i], shapes));
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
