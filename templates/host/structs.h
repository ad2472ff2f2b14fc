/* Structures that begin with their size, so that callers and libraries of different ages understand each other. */
#ifndef NAUTILUS_HOST_STRUCTS_H
#define NAUTILUS_HOST_STRUCTS_H

#include <nautilus/abi.h>

/* Reads a caller's options into TO, BYTES long and set to the defaults; NULL leaves them. What an older caller does not have stays
 * the default; what a newer caller has beyond BYTES must be zero. */
nautilus_status struct_read(void *to, size_t bytes, const void *from, const char *name);

/* Writes as much of a filled structure as the caller's has room for. */
nautilus_status struct_write(void *to, const void *from, size_t bytes, const char *name);

#endif
