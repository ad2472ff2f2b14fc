#include "target.h"

#include <stdio.h>

#include "error.h"

static const struct payload_variant *find_emulated(const struct payload *payload) {
  for (size_t i = 0; i < payload->variant_count; i++)
    if (payload->variants[i].kind == PAYLOAD_EMULATED)
      return &payload->variants[i];
  return NULL;
}

static int holds_gpu_code(const struct payload *payload) {
  for (size_t i = 0; i < payload->variant_count; i++)
    if (payload->variants[i].kind == PAYLOAD_CUBIN)
      return 1;
  return 0;
}

/* A cubin runs on later minors of its major, one of an `a` target only on its own capability.
 * Source: CUDA C++ Programming Guide, "Binary Compatibility" and "Family- and Architecture-Specific Features". */
static const struct payload_variant *find_fit(const struct payload *payload, uint32_t major, uint32_t minor) {
  const struct payload_variant *best = NULL;
  for (size_t i = 0; i < payload->variant_count; i++) {
    const struct payload_variant *variant = &payload->variants[i];
    if (variant->kind != PAYLOAD_CUBIN || variant->major != major || variant->minor > minor)
      continue;
    if (variant->exact && variant->minor != minor)
      continue;
    if (best == NULL || variant->exact > best->exact || (variant->exact == best->exact && variant->minor > best->minor))
      best = variant;
  }
  return best;
}

static nautilus_status open_device(struct place *place, int ordinal) {
  int count = 0;
  const struct driver *driver = &place->driver;
  cu_result result = driver->api.cuInit(0);
  if (result == CU_ERROR_NO_DEVICE)
    return error_set(NAUTILUS_NO_DEVICE, "the CUDA driver found no GPU");
  if (result != CU_OK) {
    error_driver(driver, result, "the CUDA driver did not start");
    return NAUTILUS_NO_DRIVER;
  }
  TRY_DRIVER(driver, cuDriverGetVersion(&place->driver_version), "asking for the driver's version");
  TRY_DRIVER(driver, cuDeviceGetCount(&count), "counting the devices");
  if (count == 0)
    return error_set(NAUTILUS_NO_DEVICE, "the CUDA driver found no GPU");
  if (ordinal < 0 || ordinal >= count)
    return error_set(NAUTILUS_NO_DEVICE, "there is no device %d: devices 0 to %d were found", ordinal, count - 1);
  TRY_DRIVER(driver, cuDeviceGet(&place->device, ordinal), "opening the device");
  TRY_DRIVER(driver, cuDeviceGetName(place->device_name, (int)sizeof place->device_name, place->device), "asking for its name");
  return NAUTILUS_OK;
}

static nautilus_status choose_emulated(const struct payload *payload, const nautilus_model_options *options, struct place *place,
                                       const char *needed) {
  place->variant = find_emulated(payload);
  if (place->variant == NULL)
    return error_set(NAUTILUS_UNSUPPORTED, "the emulator was asked for. %s Compile it with --target emulated.", needed);
  TRY(payload_check_code(payload, place->variant));
  const struct payload_section *code = &payload->images[place->variant->image_first].code;
  TRY(driver_load_emulated(&place->driver, payload->base + code->offset, code->bytes));
  if (options->emulator != NULL)
    TRY(driver_configure_emulator(&place->driver, options->emulator));
  return open_device(place, options->device);
}

static nautilus_status choose_gpu(const struct payload *payload, const nautilus_model_options *options, struct place *place,
                                  const char *needed) {
  int major = 0, minor = 0;
  TRY(driver_load_cuda(&place->driver, needed));
  TRY(open_device(place, options->device));
  TRY_DRIVER(&place->driver, cuDeviceGetAttribute(&major, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, place->device),
             "asking for its compute capability");
  TRY_DRIVER(&place->driver, cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, place->device),
             "asking for its compute capability");
  place->variant = find_fit(payload, (uint32_t)major, (uint32_t)minor);
  if (place->variant == NULL)
    return error_set(NAUTILUS_UNFIT_DEVICE, "device %d, %s, has compute capability %d.%d. %s Compile it with --target for %d.%d.",
                     options->device, place->device_name, major, minor, needed, major, minor);
  return payload_check_code(payload, place->variant);
}

nautilus_status place_choose(const struct payload *payload, const nautilus_model_options *options, struct place *place) {
  char needed[256];
  int has_gpu = holds_gpu_code(payload);
  payload_needed(payload, needed, sizeof needed);
  switch (options->place) {
  case NAUTILUS_AUTOMATIC:
    return has_gpu ? choose_gpu(payload, options, place, needed) : choose_emulated(payload, options, place, needed);
  case NAUTILUS_GPU:
    if (!has_gpu)
      return error_set(NAUTILUS_UNSUPPORTED, "a GPU was asked for. %s Compile it with --target sm_90a, or what the GPU is.", needed);
    return choose_gpu(payload, options, place, needed);
  case NAUTILUS_EMULATED:
    return choose_emulated(payload, options, place, needed);
  default:
    return error_set(NAUTILUS_INVALID_ARGUMENT, "place is %d: it is NAUTILUS_AUTOMATIC, NAUTILUS_GPU or NAUTILUS_EMULATED",
                     options->place);
  }
}
