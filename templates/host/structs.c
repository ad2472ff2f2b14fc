#include "structs.h"

#include <string.h>

#include "error.h"

/* Larger than any structure will be: a size above it was never set. */
enum { MOST_BYTES = 4096 };

static nautilus_status size_of(const void *structure, const char *name, size_t *bytes) {
  memcpy(bytes, structure, sizeof *bytes);
  if (*bytes < sizeof *bytes || *bytes > MOST_BYTES)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "%s begins with the size %zu: set it to sizeof(%s)", name, *bytes, name);
  return NAUTILUS_OK;
}

nautilus_status struct_read(void *to, size_t bytes, const void *from, const char *name) {
  const char *source = from;
  size_t given;
  if (from == NULL)
    return NAUTILUS_OK;
  TRY(size_of(from, name, &given));
  for (size_t i = bytes; i < given; i++)
    if (source[i] != 0)
      return error_set(NAUTILUS_INVALID_ARGUMENT, "%s sets a field that this library, of an older interface, does not know", name);
  memcpy(to, from, given < bytes ? given : bytes);
  return NAUTILUS_OK;
}

nautilus_status struct_write(void *to, const void *from, size_t bytes, const char *name) {
  size_t room, head = sizeof(size_t);
  if (to == NULL)
    return error_set(NAUTILUS_INVALID_ARGUMENT, "the pointer to %s is NULL", name);
  TRY(size_of(to, name, &room));
  if (room > bytes) {
    memset((char *)to + bytes, 0, room - bytes);
    room = bytes;
  }
  memcpy((char *)to + head, (const char *)from + head, room - head);
  return NAUTILUS_OK;
}
