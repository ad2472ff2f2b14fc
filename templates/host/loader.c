#define _GNU_SOURCE /* memfd_create, RTLD_NODELETE */
#include "loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

/* Where each function lies in the table, and its name in libcuda. */
static const struct {
  size_t offset;
  const char *symbol;
} functions[] = {
#define ROW(name, symbol, parameters) {offsetof(struct nautilus_driver, name), symbol},
    NAUTILUS_DRIVER_FUNCTIONS(ROW)
#undef ROW
};

/* dlsym into a function pointer: C99 has no cast for it, so its bytes are copied. */
static int find(void *handle, const char *symbol, void *pointer) {
  void *address = dlsym(handle, symbol);
  memcpy(pointer, &address, sizeof address);
  return address != NULL;
}

nautilus_status driver_load_cuda(struct driver *driver, const char *needed) {
  int version = 0;
  /* NODELETE: the driver has threads and exit handlers of its own, which must not lose their code. */
  driver->handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (driver->handle == NULL)
    return error_set(NAUTILUS_NO_DRIVER, "no CUDA driver was found (%s). %s Install the NVIDIA driver, CUDA 12.3 or newer.", dlerror(),
                     needed);
  driver->api.bytes = sizeof driver->api;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (find(driver->handle, functions[i].symbol, (char *)&driver->api + functions[i].offset))
      continue;
    if (driver->api.cuDriverGetVersion != NULL)
      driver->api.cuDriverGetVersion(&version);
    return error_set(NAUTILUS_NO_DRIVER, "the CUDA driver, version %d.%d, is too old: it has no %s. CUDA 12.3 or newer is needed.",
                     version / 1000, version % 1000 / 10, functions[i].symbol);
  }
  return NAUTILUS_OK;
}

/* Writes the image to a file in memory, since dlopen wants a file. The descriptor stays open as long as the image is loaded. */
static nautilus_status write_image(struct driver *driver, const char *image, size_t bytes) {
  driver->image_fd = memfd_create("nautilus-emulated", MFD_CLOEXEC);
  if (driver->image_fd < 0)
    return error_set(NAUTILUS_OUT_OF_MEMORY, "the emulated code could not be loaded: memfd_create: %s", strerror(errno));
  while (bytes > 0) {
    ssize_t written = write(driver->image_fd, image, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return error_set(NAUTILUS_OUT_OF_MEMORY, "the emulated code could not be loaded: write: %s", strerror(errno));
    image += written;
    bytes -= (size_t)written;
  }
  return NAUTILUS_OK;
}

/* Writes a path of a descriptor that no other file ever has. dlopen knows a file by its path, also one that stayed loaded after its descriptor
 * was closed and its number given to another: so the path spells the inode, a step that stays in the folder for each bit. */
static nautilus_status write_path(int descriptor, char *path, size_t room) {
  struct stat file;
  size_t at = (size_t)snprintf(path, room, "/proc/self/fd");
  if (fstat(descriptor, &file) != 0)
    return error_set(NAUTILUS_UNFIT_DEVICE, "the emulated code could not be loaded: fstat: %s", strerror(errno));
  for (unsigned long long bits = file.st_ino; bits > 0; bits >>= 1)
    at += (size_t)snprintf(path + at, room - at, bits & 1 ? "/." : "/");
  snprintf(path + at, room - at, "/%d", descriptor);
  return NAUTILUS_OK;
}

nautilus_status driver_load_emulated(struct driver *driver, const void *image, size_t bytes) {
  int (*fill)(struct nautilus_driver *table);
  char path[192]; /* two characters for each of 64 bits, and what is around them */
  TRY(write_image(driver, image, bytes));
  TRY(write_path(driver->image_fd, path, sizeof path));
  driver->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver->handle == NULL)
    return error_set(NAUTILUS_UNFIT_DEVICE, "the emulated code could not be loaded: %s", dlerror());
  if (!find(driver->handle, "nautilus_emulated_driver", &fill) ||
      !find(driver->handle, "nautilus_emulator_configure", &driver->emulator_configure) ||
      !find(driver->handle, "nautilus_emulator_last_error", &driver->emulator_error))
    return error_set(NAUTILUS_BAD_LIBRARY, "the emulated code does not export what it should: %s", dlerror());
  driver->api.bytes = sizeof driver->api;
  if (fill(&driver->api) != 0)
    return error_set(NAUTILUS_BAD_LIBRARY, "the emulated code was built for another version of the host code");
  return NAUTILUS_OK;
}

nautilus_status driver_configure_emulator(struct driver *driver, const nautilus_emulator_options *options) {
  if (driver->emulator_configure == NULL)
    return error_set(NAUTILUS_UNSUPPORTED, "the model runs on a GPU: it has no emulator to set options of");
  if (driver->emulator_configure(options) != 0)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "emulator options: %s", driver->emulator_error());
  return NAUTILUS_OK;
}

void driver_unload(struct driver *driver) {
  static const struct driver unloaded = NAUTILUS_DRIVER_UNLOADED;
  if (driver->handle != NULL)
    dlclose(driver->handle);
  if (driver->image_fd >= 0)
    close(driver->image_fd);
  *driver = unloaded;
}
