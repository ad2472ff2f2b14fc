/* A model on a device: code and weights. Nothing in it changes once it is created, except the count of its contexts. */
#ifndef NAUTILUS_HOST_MODEL_H
#define NAUTILUS_HOST_MODEL_H

#include "patch_lists.h"
#include "payload.h"
#include "target.h"

struct nautilus_model {
  struct payload payload;
  struct place place;
  cu_context primary; /* the device's primary context */
  cu_module *modules;     /* one an image of the variant */
  cu_function *functions; /* one a kernel of the variant */
  cu_pointer weights;
  const struct payload_launch *launches; /* of the variant, then what is launched in their place */
  size_t launch_count;
  size_t row_count;       /* of both */
  uint32_t *owner;        /* one a row: the launch that it is, or in whose place it is launched */
  uint32_t *conditions;   /* one a row, of those of alternatives: side by side, since each run of new shapes reads many */
  struct patch_lists patch_lists;
  size_t port_count;
  size_t *use_first; /* rows that take the address of port i: uses[use_first[i]] up to uses[use_first[i + 1]] */
  uint32_t *uses;
  uint32_t *kinds;        /* one a launch: the first launch that may launch the kernels that it may, and only these */
  uint8_t *waits;         /* one a launch: whether each of its alternatives waits by itself for the launch before it */
  uint8_t *moves;         /* one a launch: whether an argument of it is an address that moves during a run */
  char digests[4][65]; /* model, manifest, plan, weights in hexadecimal */
  int context_count;   /* atomic */
};

/* Makes the device's primary context current for the calls between the two. */
nautilus_status model_enter(const nautilus_model *model);
void model_leave(const nautilus_model *model);

/* cuMemAlloc with an error that says what it was for, what it needed and what there was. */
nautilus_status model_allocate(const nautilus_model *model, size_t bytes, const char *what, cu_pointer *pointer);

#endif
