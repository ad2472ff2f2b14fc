/* The weights in host memory: in the payload, or mapped from the file beside this library that nautilus_cli/artifact/weights_file.py
 * writes: a .safetensors file. Its head was read when the library was made; here only its checksum counts. */
#ifndef NAUTILUS_HOST_WEIGHTS_H
#define NAUTILUS_HOST_WEIGHTS_H

#include "payload.h"

struct weights {
  const char *data; /* the weights section */
  void *map;        /* the whole file; NULL where the weights lie in the payload */
  size_t map_bytes;
};

/* Finds the weights; a file is looked for beside this library, then beside what its path leads to. */
nautilus_status weights_open(const struct payload *payload, struct weights *weights);

/* Unmaps the file, if there is one. */
void weights_close(struct weights *weights);

#endif
