#define _GNU_SOURCE /* dladdr, realpath */
#include "weights.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

static const char again[] = "Copy library and weights together, or compile the model again.";

/* Opens NAME in the folder of LIBRARY; -1 with errno where that fails. The path is left in PATH. */
static int open_beside(const char *library, const char *name, char *path, size_t bytes) {
  const char *slash = strrchr(library, '/');
  int folder = slash == NULL ? 0 : (int)(slash - library + 1);
  if ((size_t)snprintf(path, bytes, "%.*s%s", folder, library, name) >= bytes) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, and not waited for */
}

/* Beside the path that the loader knows; else, where that is a link or a descriptor's, beside the file itself. */
static int open_file(const char *name, char *path, size_t bytes) {
  Dl_info info;
  if (!dladdr(again, &info) || info.dli_fname == NULL) {
    errno = ENOENT;
    return -1;
  }
  int file = open_beside(info.dli_fname, name, path, bytes);
  char *real = file < 0 ? realpath(info.dli_fname, NULL) : NULL;
  if (real != NULL)
    file = open_beside(real, name, path, bytes);
  free(real);
  return file;
}

static nautilus_status check(const struct payload_header *header, const struct weights *weights, const char *path) {
  const struct payload_section *section = &header->weights;
  size_t wanted = section->offset + section->bytes;
  const char *wrong = weights->map_bytes < wanted ? "are truncated" : "do not end where they should";
  if (weights->map_bytes < section->offset)
    return error_set(NAUTILUS_BAD_LIBRARY, "the weights in %s %s: the file has %zu bytes of %zu. %s", path, wrong, weights->map_bytes,
                     wanted, again);
  if (payload_crc32(0, weights->map, section->offset) != header->weights_head_crc)
    return error_set(NAUTILUS_BAD_LIBRARY, "the weights in %s are not those that this library was compiled with. %s", path, again);
  if (weights->map_bytes != wanted)
    return error_set(NAUTILUS_BAD_LIBRARY, "the weights in %s %s: the file has %zu bytes of %zu. %s", path, wrong, weights->map_bytes,
                     wanted, again);
  return NAUTILUS_OK;
}

nautilus_status weights_open(const struct payload *payload, struct weights *weights) {
  const struct payload_header *header = payload->header;
  const char *name = payload->strings + header->weights_file;
  char path[4096];
  struct stat status;
  memset(weights, 0, sizeof *weights);
  if (!header->has_weights_file) {
    weights->data = payload->base + header->weights.offset;
    return NAUTILUS_OK;
  }
  int file = open_file(name, path, sizeof path);
  if (file < 0)
    return error_set(NAUTILUS_BAD_LIBRARY, "the weights of this library lie in a file of their own beside it, %s: %s. %s", name,
                     strerror(errno), again);
  int failed = fstat(file, &status) != 0;
  if (!failed && status.st_size > 0) {
    weights->map_bytes = (size_t)status.st_size;
    weights->map = mmap(NULL, weights->map_bytes, PROT_READ, MAP_PRIVATE, file, 0);
    failed = weights->map == MAP_FAILED;
  }
  int reason = errno;
  close(file);
  if (failed) {
    memset(weights, 0, sizeof *weights);
    return error_set(NAUTILUS_BAD_LIBRARY, "the weights in %s cannot be read: %s", path, strerror(reason));
  }
  nautilus_status checked = check(header, weights, path);
  if (checked != NAUTILUS_OK)
    weights_close(weights);
  else
    weights->data = (const char *)weights->map + header->weights.offset;
  return checked;
}

void weights_close(struct weights *weights) {
  if (weights->map != NULL)
    munmap(weights->map, weights->map_bytes);
  memset(weights, 0, sizeof *weights);
}
