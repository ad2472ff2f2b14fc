/* Device memory for callers without a CUDA library of their own. */
#include "error.h"
#include "model.h"

nautilus_status nautilus_allocate(nautilus_model *model, size_t bytes, void **pointer) {
  cu_pointer allocated = 0;
  if (model == NULL || pointer == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_allocate: the model or the pointer is NULL");
  *pointer = NULL;
  TRY(model_enter(model));
  nautilus_status status = model_allocate(model, bytes ? bytes : 1, "nautilus_allocate", &allocated);
  model_leave(model);
  *pointer = (void *)(uintptr_t)allocated;
  return status;
}

nautilus_status nautilus_free(nautilus_model *model, void *pointer) {
  if (model == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_free: the model is NULL");
  if (pointer == NULL)
    return NAUTILUS_OK;
  TRY(model_enter(model));
  const struct driver *driver = &model->place.driver;
  nautilus_status status = error_driver(driver, driver->api.cuMemFree((cu_pointer)(uintptr_t)pointer), "nautilus_free");
  model_leave(model);
  return status;
}

static cu_result copy(const struct nautilus_driver *api, void *to, const void *from, size_t bytes, nautilus_direction direction,
                      cu_stream stream) {
  cu_pointer device_to = (cu_pointer)(uintptr_t)to, device_from = (cu_pointer)(uintptr_t)from;
  switch (direction) {
  case NAUTILUS_TO_DEVICE:
    return api->cuMemcpyHtoDAsync(device_to, from, bytes, stream);
  case NAUTILUS_TO_HOST:
    return api->cuMemcpyDtoHAsync(to, device_from, bytes, stream);
  case NAUTILUS_ON_DEVICE:
    return api->cuMemcpyDtoDAsync(device_to, device_from, bytes, stream);
  }
  return CU_ERROR_INVALID_VALUE;
}

nautilus_status nautilus_copy(nautilus_model *model, void *to, const void *from, size_t bytes, nautilus_direction direction,
                              void *stream) {
  if (model == NULL || ((to == NULL || from == NULL) && bytes > 0))
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_copy: the model or a pointer is NULL");
  if (direction != NAUTILUS_TO_DEVICE && direction != NAUTILUS_TO_HOST && direction != NAUTILUS_ON_DEVICE)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "nautilus_copy: direction is %d: it is NAUTILUS_TO_DEVICE, NAUTILUS_TO_HOST or NAUTILUS_ON_DEVICE",
                     (int)direction);
  if (bytes == 0)
    return NAUTILUS_OK;
  TRY(model_enter(model));
  const struct driver *driver = &model->place.driver;
  nautilus_status status = error_driver(driver, copy(&driver->api, to, from, bytes, direction, stream), "nautilus_copy");
  model_leave(model);
  return status;
}
