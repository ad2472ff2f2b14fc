#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "kinds.h"
#include "structs.h"
#include "weights.h"

int nautilus_abi_version(void) { return NAUTILUS_ABI_VERSION; }

nautilus_status model_enter(const nautilus_model *model) {
  TRY_DRIVER(&model->place.driver, cuCtxPushCurrent(model->primary), "entering the device's context");
  return NAUTILUS_OK;
}

void model_leave(const nautilus_model *model) {
  cu_context popped;
  model->place.driver.api.cuCtxPopCurrent(&popped);
}

nautilus_status model_allocate(const nautilus_model *model, size_t bytes, const char *what, cu_pointer *pointer) {
  size_t free_bytes = 0, total_bytes = 0;
  const struct driver *driver = &model->place.driver;
  cu_result result = driver->api.cuMemAlloc(pointer, bytes);
  if (result != CU_ERROR_OUT_OF_MEMORY)
    return error_driver(driver, result, what);
  *pointer = 0;
  driver->api.cuMemGetInfo(&free_bytes, &total_bytes);
  return error_set(NAUTILUS_OUT_OF_MEMORY, "%s needs %zu bytes of device memory; %zu of %zu are free on %s", what, bytes, free_bytes,
                   total_bytes, model->place.device_name);
}

static nautilus_status load_modules(nautilus_model *model) {
  const struct payload_variant *variant = model->place.variant;
  char what[128];
  model->modules = calloc(variant->image_count + 1, sizeof *model->modules);
  if (model->modules == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for %u modules", variant->image_count);
  snprintf(what, sizeof what, "loading the code for %s with CUDA driver %d.%d", model->payload.strings + variant->name,
           model->place.driver_version / 1000, model->place.driver_version % 1000 / 10);
  for (uint32_t i = 0; i < variant->image_count; i++) {
    const void *code = model->payload.base + model->payload.images[variant->image_first + i].code.offset;
    TRY_DRIVER(&model->place.driver, cuModuleLoadData(&model->modules[i], code), what);
  }
  return NAUTILUS_OK;
}

static nautilus_status load_functions(nautilus_model *model) {
  const struct payload_variant *variant = model->place.variant;
  const struct payload_kernel *kernels = model->payload.kernels + variant->kernel_first;
  const struct driver *driver = &model->place.driver;
  char what[256];
  model->functions = calloc(variant->kernel_count + 1, sizeof *model->functions);
  if (model->functions == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for %u functions", variant->kernel_count);
  for (uint32_t i = 0; i < variant->kernel_count; i++) {
    const char *symbol = model->payload.strings + kernels[i].symbol;
    snprintf(what, sizeof what, "finding kernel %s", symbol);
    TRY_DRIVER(driver, cuModuleGetFunction(&model->functions[i], model->modules[kernels[i].image], symbol), what);
    snprintf(what, sizeof what, "giving kernel %s its %u bytes of shared memory", symbol, kernels[i].shared_bytes);
    if (kernels[i].shared_bytes > 0)
      TRY_DRIVER(driver, cuFuncSetAttribute(model->functions[i], CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES, (int)kernels[i].shared_bytes), what);
  }
  return NAUTILUS_OK;
}

static nautilus_status load_weights(nautilus_model *model) {
  const struct driver *driver = &model->place.driver;
  size_t bytes = model->payload.header->weights.bytes;
  struct weights weights;
  if (bytes == 0)
    return NAUTILUS_OK;
  TRY(weights_open(&model->payload, &weights));
  nautilus_status status = model_allocate(model, bytes, "the model's weights", &model->weights);
  if (status == NAUTILUS_OK)
    status = error_driver(driver, driver->api.cuMemcpyHtoDAsync(model->weights, weights.data, bytes, NULL), "copying the weights");
  if (status == NAUTILUS_OK)
    status = error_driver(driver, driver->api.cuStreamSynchronize(NULL), "copying the weights");
  weights_close(&weights);
  return status;
}

/* Which port a word names: inputs first, then outputs; -1 for any other word. */
static ptrdiff_t port_of(const nautilus_model *model, const struct payload_word *word) {
  if (word->kind == WORD_INPUT)
    return (ptrdiff_t)word->index;
  return word->kind == WORD_OUTPUT ? (ptrdiff_t)(model->payload.header->input_count + word->index) : -1;
}

/* Which launch each row of the variant belongs to, and when it is launched. */
static nautilus_status list_owners(nautilus_model *model) {
  model->row_count = model->launch_count;
  for (size_t i = 0; i < model->launch_count; i++) {
    size_t end = (size_t)model->launches[i].alternative_first + model->launches[i].alternative_count;
    if (model->launches[i].alternative_count > 0 && end > model->row_count)
      model->row_count = end;
  }
  model->owner = calloc(model->row_count + 1, sizeof *model->owner);
  model->conditions = calloc(model->row_count + 1, sizeof *model->conditions);
  if (model->owner == NULL || model->conditions == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the model's tables");
  for (uint32_t i = 0; i < model->launch_count; i++) {
    model->owner[i] = i;
    for (uint32_t j = 0; j < model->launches[i].alternative_count; j++)
      model->owner[model->launches[i].alternative_first + j] = i;
  }
  for (size_t i = 0; i < model->row_count; i++)
    model->conditions[i] = model->launches[i].condition;
  return NAUTILUS_OK;
}

/* Counting sort of the words that name ports: how many each, where each begins, then each in its place. */
static nautilus_status list_uses(nautilus_model *model) {
  size_t total = 0;
  size_t *next = calloc(model->port_count + 1, sizeof *next);
  model->use_first = calloc(model->port_count + 1, sizeof *model->use_first);
  if (next != NULL && model->use_first != NULL) {
    for (size_t i = 0; i < model->row_count; i++)
      for (uint32_t j = 0; j < model->launches[i].word_count; j++) {
        ptrdiff_t port = port_of(model, &model->payload.words[model->launches[i].word_first + j]);
        if (port >= 0)
          next[port + 1]++;
      }
    for (size_t i = 0; i < model->port_count; i++)
      model->use_first[i + 1] = next[i + 1] += next[i];
    total = next[model->port_count];
    model->uses = calloc(total + 1, sizeof *model->uses);
  }
  if (model->uses == NULL) {
    free(next);
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the model's tables");
  }
  for (uint32_t i = 0; i < model->row_count; i++)
    for (uint32_t j = 0; j < model->launches[i].word_count; j++) {
      ptrdiff_t port = port_of(model, &model->payload.words[model->launches[i].word_first + j]);
      if (port >= 0)
        model->uses[next[port]++] = i;
    }
  free(next);
  return NAUTILUS_OK;
}

/* Finds the launches that may begin before the one ahead of them has ended, whatever is launched in their place. */
static nautilus_status list_waits(nautilus_model *model) {
  model->waits = calloc(model->launch_count + 1, sizeof *model->waits);
  if (model->waits == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the model's tables");
  memset(model->waits, 1, model->launch_count);
  for (size_t i = 0; i < model->row_count; i++)
    model->waits[model->owner[i]] &= (model->launches[i].flags & LAUNCH_DEPENDENT) != 0;
  return NAUTILUS_OK;
}

/* Finds the launches whose arguments move. */
static nautilus_status list_moves(nautilus_model *model) {
  model->moves = calloc(model->launch_count + 1, sizeof *model->moves);
  if (model->moves == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for the model's tables");
  for (size_t i = 0; i < model->launch_count; i++)
    for (uint32_t j = 0; j < model->launches[i].word_count; j++)
      model->moves[i] |= model->payload.words[model->launches[i].word_first + j].kind == WORD_SLOT;
  return NAUTILUS_OK;
}

static void write_digest(const uint8_t *digest, char *text) {
  for (size_t i = 0; i < 32; i++)
    snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static nautilus_status load(nautilus_model *model) {
  TRY(load_modules(model));
  TRY(load_functions(model));
  return load_weights(model);
}

static nautilus_status build(nautilus_model *model, const nautilus_model_options *options) {
  const struct payload_header *header;
  TRY(payload_open(&model->payload));
  header = model->payload.header;
  write_digest(header->model_digest, model->digests[0]);
  write_digest(header->manifest_digest, model->digests[1]);
  write_digest(header->plan_digest, model->digests[2]);
  write_digest(header->weights_digest, model->digests[3]);
  model->port_count = (size_t)header->input_count + header->output_count;
  TRY(place_choose(&model->payload, options, &model->place));
  model->launches = model->payload.launches + model->place.variant->launch_first;
  model->launch_count = model->place.variant->launch_count;
  TRY(list_owners(model));
  TRY(patch_lists_create(model));
  TRY(list_uses(model));
  TRY(kinds_list(model));
  TRY(list_waits(model));
  TRY(list_moves(model));
  TRY_DRIVER(&model->place.driver, cuDevicePrimaryCtxRetain(&model->primary, model->place.device), "opening the device's context");
  TRY(model_enter(model));
  nautilus_status status = load(model);
  model_leave(model);
  return status;
}

/* Frees what there is; a model that failed half way is freed so too. The last error's text stays. */
static void dispose(nautilus_model *model) {
  const struct nautilus_driver *api = &model->place.driver.api;
  if (model->primary != NULL) {
    if (api->cuCtxPushCurrent(model->primary) == CU_OK) {
      if (model->weights != 0)
        api->cuMemFree(model->weights);
      for (uint32_t i = 0; model->modules != NULL && i < model->place.variant->image_count; i++)
        if (model->modules[i] != NULL)
          api->cuModuleUnload(model->modules[i]);
      model_leave(model);
    }
    api->cuDevicePrimaryCtxRelease(model->place.device);
  }
  driver_unload(&model->place.driver);
  free(model->modules);
  free(model->functions);
  free(model->use_first);
  free(model->uses);
  free(model->owner);
  free(model->conditions);
  patch_lists_destroy(&model->patch_lists);
  free(model->kinds);
  free(model->waits);
  free(model->moves);
  free(model);
}

nautilus_status nautilus_model_create(const nautilus_model_options *options, nautilus_model **model) {
  static const struct driver unloaded = NAUTILUS_DRIVER_UNLOADED;
  nautilus_model_options chosen = {sizeof chosen, 0, NAUTILUS_AUTOMATIC, NULL};
  if (model == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_model_create: the pointer to the model is NULL");
  *model = NULL;
  TRY(struct_read(&chosen, sizeof chosen, options, "nautilus_model_options"));
  nautilus_model *made = calloc(1, sizeof *made);
  if (made == NULL)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the host has no memory for a model");
  made->place.driver = unloaded;
  nautilus_status status = build(made, &chosen);
  if (status != NAUTILUS_OK)
    dispose(made);
  else
    *model = made;
  return status;
}

nautilus_status nautilus_model_destroy(nautilus_model *model) {
  if (model == NULL)
    return NAUTILUS_OK;
  int alive = __atomic_load_n(&model->context_count, __ATOMIC_ACQUIRE);
  if (alive > 0)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "%d contexts of the model are alive: destroy them first", alive);
  dispose(model);
  return NAUTILUS_OK;
}

nautilus_status nautilus_model_emulator(nautilus_model *model, const struct nautilus_emulator_options *options) {
  if (model == NULL || options == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_model_emulator: the model or the options are NULL");
  return driver_configure_emulator(&model->place.driver, options);
}
