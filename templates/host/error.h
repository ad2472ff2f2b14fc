/* The text of the last error, one for each thread, and how driver errors become statuses. */
#ifndef NAUTILUS_HOST_ERROR_H
#define NAUTILUS_HOST_ERROR_H

#include <nautilus/abi.h>

#include "loader.h"

/* Stores the text and returns STATUS. */
nautilus_status error_set(nautilus_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* NAUTILUS_OK for CU_OK; else stores "WHAT: name (number): meaning" with the emulator's own text, and returns the fitting status. */
nautilus_status error_driver(const struct driver *driver, cu_result result, const char *what);

#define TRY(call)                   \
  do {                              \
    nautilus_status try_ = (call);  \
    if (try_ != NAUTILUS_OK)        \
      return try_;                  \
  } while (0)

/* Calls a driver function of the table; WHAT says in words what it was for. */
#define TRY_DRIVER(driver, call, what) TRY(error_driver((driver), (driver)->api.call, (what)))

#endif
