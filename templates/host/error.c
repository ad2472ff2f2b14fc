#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char last_error[2048];

const char *nautilus_last_error(void) { return last_error; }

const char *nautilus_status_name(nautilus_status status) {
  static const char *const names[] = {
      "NAUTILUS_OK",           "NAUTILUS_INVALID_ARGUMENT", "NAUTILUS_BAD_LIBRARY",  "NAUTILUS_NO_DRIVER",
      "NAUTILUS_NO_DEVICE",    "NAUTILUS_UNFIT_DEVICE",     "NAUTILUS_OUT_OF_MEMORY", "NAUTILUS_DEVICE_ERROR",
      "NAUTILUS_INDEX_OUT_OF_RANGE", "NAUTILUS_UNSUPPORTED",
      "NAUTILUS_NOT_SERVED"};
  size_t index = (size_t)status;
  return index < sizeof names / sizeof names[0] ? names[index] : "unknown status";
}

nautilus_status error_set(nautilus_status status, const char *format, ...) {
  char text[sizeof last_error]; /* the arguments may point into the text being replaced */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(last_error, text, sizeof text);
  return status;
}

static nautilus_status status_of(cu_result result) {
  switch (result) {
  case CU_ERROR_OUT_OF_MEMORY:
    return NAUTILUS_OUT_OF_MEMORY;
  case CU_ERROR_NO_DEVICE:
  case CU_ERROR_INVALID_DEVICE:
    return NAUTILUS_NO_DEVICE;
  default:
    return NAUTILUS_DEVICE_ERROR;
  }
}

/* Whether the driver will answer every later call of this process with the same error: illegal address, timeout, assertion, and those
 * from the hardware stack error to the launch failure.
 * Source: CUresult in cuda.h: "This leaves the process in an inconsistent state and any further CUDA work will return the same error". */
static int is_sticky(cu_result result) {
  return result == CU_ERROR_ILLEGAL_ADDRESS || result == CU_ERROR_LAUNCH_TIMEOUT || result == CU_ERROR_ASSERT ||
         (result >= CU_ERROR_HARDWARE_STACK && result <= CU_ERROR_LAUNCH_FAILED);
}

nautilus_status error_driver(const struct driver *driver, cu_result result, const char *what) {
  const char *name = NULL, *meaning = NULL, *detail = "", *advice = "";
  if (result == CU_OK)
    return NAUTILUS_OK;
  if (driver->api.cuGetErrorName == NULL || driver->api.cuGetErrorName(result, &name) != CU_OK || name == NULL)
    name = "unknown driver error";
  if (driver->api.cuGetErrorString == NULL || driver->api.cuGetErrorString(result, &meaning) != CU_OK || meaning == NULL)
    meaning = "";
  if (driver->emulator_error != NULL)
    detail = driver->emulator_error();
  if (is_sticky(result))
    advice = driver->emulator_error != NULL ? ". This model can run nothing more: create it anew."
                                            : ". Nothing more can run on this device in this process: start it anew.";
  return error_set(status_of(result), "%s: %s (%d)%s%s%s%s%s", what, name, result, *meaning ? ": " : "", meaning, *detail ? ". " : "",
                   detail, advice);
}
