/* What an emulated image exports: an x86-64 shared library whose kernels run on the CPU.
 *
 * The host code loads it with dlopen (each model handle its own copy, so each has its own options and memory) and finds these
 * functions by dlsym. A caller reaches the options through nautilus_model_options.emulator at nautilus_model_create,
 * or later through nautilus_model_emulator. C99 and C++ can include this file.
 */
#ifndef NAUTILUS_EMULATOR_H
#define NAUTILUS_EMULATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Order in which blocks, and the threads of a block, run. */
enum { NAUTILUS_ORDER_FIFO = 0, NAUTILUS_ORDER_REVERSE = 1, NAUTILUS_ORDER_RANDOM = 2 };

typedef struct nautilus_emulator_options {
  size_t struct_bytes;     /* sizeof(nautilus_emulator_options); fields beyond it have their defaults */
  unsigned int order;      /* NAUTILUS_ORDER_*; default FIFO */
  unsigned int lazy;       /* 1: asynchronous copies and products complete as late as they may; default 0, at once */
  unsigned int poison;     /* 1: shared memory and fresh allocations are filled with 0xFF; default 0 */
  unsigned int threads;    /* threads of the operating system; 0, the default: one a core */
  unsigned long long seed; /* of NAUTILUS_ORDER_RANDOM */
} nautilus_emulator_options;

struct nautilus_driver; /* templates/host/driver.h */

/* Fills the table; table->bytes must equal the image's own idea of it. Returns 0, or 1 where it does not. */
int nautilus_emulated_driver(struct nautilus_driver *table);

/* Sets the options for launches to come. Returns 0, or 1 for a value that is none (the text says which). */
int nautilus_emulator_configure(const nautilus_emulator_options *options);

/* What the last failed driver function of this thread, or the sticky error, was about; "" if nothing failed. */
const char *nautilus_emulator_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
