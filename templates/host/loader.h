/* Fills the driver's table: from libcuda.so.1, or from an emulated image. */
#ifndef NAUTILUS_HOST_LOADER_H
#define NAUTILUS_HOST_LOADER_H

#include <nautilus/abi.h>
#include <nautilus/emulator.h>

#include "driver.h"

struct driver {
  struct nautilus_driver api;
  void *handle; /* of dlopen */
  int image_fd; /* the memory file behind an emulated image; -1 where there is none */
  int (*emulator_configure)(const nautilus_emulator_options *options);
  const char *(*emulator_error)(void);
};

#define NAUTILUS_DRIVER_UNLOADED {{0}, NULL, -1, NULL, NULL}

/* Opens the CUDA driver. NEEDED says, for the error text, what the library holds. */
nautilus_status driver_load_cuda(struct driver *driver, const char *needed);

/* Loads an emulated image; each call its own copy. */
nautilus_status driver_load_emulated(struct driver *driver, const void *image, size_t bytes);

/* Sets the emulator's options. */
nautilus_status driver_configure_emulator(struct driver *driver, const nautilus_emulator_options *options);

/* Closes what was opened, if anything. */
void driver_unload(struct driver *driver);

#endif
