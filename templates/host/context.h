/* A context: what one run at a time needs. Everything is allocated when it is created. */
#ifndef NAUTILUS_HOST_CONTEXT_H
#define NAUTILUS_HOST_CONTEXT_H

#include <pthread.h>

#include "buckets.h"
#include "chain.h"

struct nautilus_context {
  nautilus_model *model;
  nautilus_launch launch_mode;
  cu_stream stream; /* its own */
  struct shapes shapes; /* of the runs to come */
  struct shapes next;   /* where those of the next change are worked out */
  int64_t *input_dims;  /* where the host reads values of inputs: the shapes of the inputs of the runs to come, one behind another */
  int64_t **input_shapes; /* where that of each begins */
  void **values;        /* where it keeps what it reads of each; NULL where it reads nothing */
  int reads_values;     /* whether each run reads them; 0 where the caller gave them */
  /* Whoever takes the flag holds this until it has read what the run that failed had counted, and whoever moves the workspace, meanwhile:
   * another thread may ask while one gives the context larger shapes. */
  pthread_mutex_t workspace_lock;
  cu_pointer workspace;
  size_t workspace_bytes;
  int owns_workspace;
  cu_pointer staging_block; /* device buffers of host runs; 0 where the context is device-only */
  size_t staging_bytes;
  cu_pointer *staging;      /* one address a port */
  int is_fed;               /* what lies there are inputs, or zeros; else whatever a run of other shapes left */
  volatile uint32_t *flag;  /* host-mapped: a kernel that meets an index out of range stores 1 */
  cu_pointer flag_device;

  unsigned long long *arguments; /* the argument blocks of all launches, one after another, each aligned to 64 bytes */
  size_t *argument_first;        /* where the block of each launch begins: tensor maps, then words; then where the last one ends */
  uint64_t generation;           /* how often all of them became others */
  cu_pointer *bound;             /* addresses of the ports */
  cu_pointer *given;             /* addresses that the caller passed to the call under way */
  uint8_t *is_stale;             /* one a launch: whether its block, or its node of the graph for all runs, is of other sizes or addresses */
  int has_stale;

  int64_t *counts;      /* numbers that kernels gave, as they were read last: the first words of the workspace */
  size_t count_words;   /* how many of them are read */
  size_t limit_words;   /* how many of them are read where a run failed */
  int64_t *count_dims;  /* room for the dimensions of a port */
  enum { COUNTS_NONE, COUNTS_WRITTEN, COUNTS_READ } counts_are; /* of no run with these shapes; in the workspace; in COUNTS, too */

  struct replay replay;   /* where all shapes are fixed */
  struct bucket *buckets; /* where some are open: BUCKETS of them; one where the plan has steps and none is open */
  struct bucket *bucket;  /* that of the shapes to run */
  struct chain chain;     /* where some are open: what runs shapes that did not run before */
  uint64_t clock;

  cu_pointer *slots;        /* where the plan has steps: addresses that move while it runs */
  volatile int64_t *read;   /* then, host memory: where what decides a step is copied to, and behind it, where kernels write it */
  cu_pointer read_device;   /* where they do */

  cu_event done;         /* where runs are not all of one graph: the end of the last one */
  cu_stream last_stream; /* where that run was enqueued */
  int has_run;
};

/* What is launched for the shapes to run. */
const struct payload_launch *context_row(const nautilus_context *context, size_t launch);

/* The parameters of a launch as its block is now. POINTER is where the driver finds the block's address. */
cu_kernel_node_params context_parameters(const nautilus_context *context, size_t launch, void **pointer);

/* What a word of the payload is worth now: an address, or the integer. */
unsigned long long context_word(const nautilus_context *context, size_t index);

/* The words of a launch's block. */
unsigned long long *context_words(const nautilus_context *context, size_t launch);

/* Fills the words of a launch's block with sizes and addresses as they are now, and returns them. Its maps stay as they are. */
unsigned long long *context_move(nautilus_context *context, size_t launch);

/* Encodes the tensor maps of a launch for the addresses that its words hold. */
nautilus_status context_encode(const nautilus_context *context, size_t launch);

/* Brings a launch's block up to sizes and addresses, which is put off until the launch is near: the device then has others to run. */
nautilus_status context_settle(nautilus_context *context, size_t launch);

/* Allocates the blocks of all launches. */
nautilus_status context_allocate_blocks(nautilus_context *context);

/* The blocks of all launches are of other sizes or addresses. */
void context_forget(nautilus_context *context);

/* Refuses a workspace of the caller that is smaller than NEEDED. */
nautilus_status context_too_small(const nautilus_context *context, size_t needed);

/* Takes the addresses of all ports and remembers which launches they are for. */
void context_bind(nautilus_context *context, const cu_pointer *ports);

/* Runs the model with the addresses that were taken: by graphs, or where the context was created so, one launch after another. */
nautilus_status context_launch(nautilus_context *context, cu_stream stream);

/* Launches COUNT kernels from FIRST on, one by one, with the addresses that move as they are now. */
nautilus_status context_launch_each(nautilus_context *context, cu_stream stream, size_t first, size_t count);

/* Takes the shapes of the inputs, and what the host reads of them, for the runs to come. Within model_enter. */
nautilus_status context_take(nautilus_context *context, const int64_t *const *inputs, const void *const *values);

/* Takes the value of a symbol that a step of a run reads on STREAM, which has ended so far: what follows is launched and lies as it says. */
nautilus_status context_give(nautilus_context *context, size_t symbol, int64_t value, cu_stream stream);

/* Goes on with another workspace, and returns the one before, of which no thread reads any more. */
cu_pointer context_exchange_workspace(nautilus_context *context, cu_pointer workspace, size_t bytes);

/* Reports an index out of range once. */
nautilus_status context_take_flag(nautilus_context *context);

#endif
