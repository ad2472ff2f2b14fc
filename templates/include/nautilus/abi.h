/* The C interface of a library that Nautilus compiled. C99; C++ can include it too.
 *
 * A library holds one model: its weights, a plan, and code for one or more targets. It needs libc and, unless it is emulated, the
 * CUDA driver (libcuda.so.1), which it opens itself; no CUDA toolkit, no framework. Weights above 1 GiB, and where the user wished so,
 * lie in a .safetensors file, which must stay beside the library under its name.
 *
 *     nautilus_model *model;
 *     nautilus_context *context;
 *     if (nautilus_model_create(NULL, &model) || nautilus_context_create(model, NULL, &context) ||
 *         nautilus_run_host(context, inputs, outputs))
 *       fprintf(stderr, "%s\n", nautilus_last_error());
 *
 * Rules that hold throughout:
 * - Every call that can fail returns a status; nautilus_last_error() then says what was found and what was needed.
 * - A structure begins with its size, which the caller sets to sizeof. Fields that a newer header adds are zero to an older caller.
 * - Tensors are dense, row-major, in ONNX order, except inputs and outputs that share memory (nautilus_tensor). A bool is one byte, 0 or 1. An element of 4 or 2 bits takes a byte of its own, in whose
 *   low bits it stands, as in ml_dtypes (ONNX packs several to a byte in a file, but not here); bits above are ignored, and zero in outputs.
 * - The caller owns inputs, outputs, streams, and a workspace that it passed. Strings and shapes handed out belong to the model.
 * - A model may be used by any number of threads. A context by one at a time (except nautilus_synchronize and nautilus_check);
 *   several contexts of one model run concurrently.
 * - Where a model has branches or loops whose course only the run knows, nautilus_run waits for the stream whenever a value decides how it
 *   goes on; such a run cannot be captured into a CUDA graph.
 * - nautilus_run and nautilus_run_host allocate nothing, except that of a model with open dimensions the second run with the same
 *   shapes builds the graphs that later ones replay, or a long loop in the first, and that of a model in which values of inputs, or numbers
 *   that kernels give, decide what has to be planned for, a run takes memory for sizes beyond those before.
 * - Device memory and streams are of the device's primary context, the one that the CUDA runtime and the frameworks use.
 * - All libraries export these same names: a program that uses two of them opens each with dlopen(..., RTLD_LOCAL) and asks dlsym.
 */
#ifndef NAUTILUS_ABI_H
#define NAUTILUS_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NAUTILUS_API __attribute__((visibility("default")))
#else
#define NAUTILUS_API
#endif

#define NAUTILUS_ABI_VERSION 1

/* The version of the library's interface; compatible with this header where it equals NAUTILUS_ABI_VERSION. */
NAUTILUS_API int nautilus_abi_version(void);

typedef enum nautilus_status {
  NAUTILUS_OK = 0,
  NAUTILUS_INVALID_ARGUMENT = 1,   /* a null or misaligned pointer, a value out of range, a structure of unknown size */
  NAUTILUS_BAD_LIBRARY = 2,        /* the file, or that of its weights, is missing, truncated, damaged or another's; or it was stripped */
  NAUTILUS_NO_DRIVER = 3,          /* libcuda.so.1 is missing, or too old */
  NAUTILUS_NO_DEVICE = 4,          /* no GPU, or none with this number */
  NAUTILUS_UNFIT_DEVICE = 5,       /* the library holds no code for this GPU */
  NAUTILUS_OUT_OF_MEMORY = 6,      /* of the device or of the host */
  NAUTILUS_DEVICE_ERROR = 7,       /* the driver refused a call, or a kernel failed */
  NAUTILUS_INDEX_OUT_OF_RANGE = 8, /* the model met an index outside its axis; the outputs of that run are not to be used */
  NAUTILUS_UNSUPPORTED = 9,        /* not on this target, or not as the context was created */
  NAUTILUS_NOT_SERVED = 10         /* a loop went on for too long, or a branch was taken that cannot be for the library's shapes */
} nautilus_status;

/* What the last call that failed on this thread was about: one paragraph, never NULL. Valid until the thread's next call. */
NAUTILUS_API const char *nautilus_last_error(void);

/* The name of a status, for example "NAUTILUS_NO_DRIVER". */
NAUTILUS_API const char *nautilus_status_name(nautilus_status status);

/* ---- Tensors ------------------------------------------------------------------------------------------------------------- */

/* Element types. Source of the numbers: TensorProto.DataType in onnx.proto. */
typedef enum nautilus_dtype {
  NAUTILUS_F32 = 1,
  NAUTILUS_U8 = 2,
  NAUTILUS_I8 = 3,
  NAUTILUS_U16 = 4,
  NAUTILUS_I16 = 5,
  NAUTILUS_I32 = 6,
  NAUTILUS_I64 = 7,
  NAUTILUS_UCS4 = 8, /* text: 32-bit code points; the last dimension is the most that a string has, a shorter one ends in zeros */
  NAUTILUS_BOOL = 9,
  NAUTILUS_F16 = 10,
  NAUTILUS_F64 = 11,
  NAUTILUS_U32 = 12,
  NAUTILUS_U64 = 13,
  NAUTILUS_BF16 = 16,
  NAUTILUS_F8E4M3FN = 17,
  NAUTILUS_F8E4M3FNUZ = 18,
  NAUTILUS_F8E5M2 = 19,
  NAUTILUS_F8E5M2FNUZ = 20,
  NAUTILUS_U4 = 21,
  NAUTILUS_I4 = 22,
  NAUTILUS_F4E2M1 = 23,
  NAUTILUS_F8E8M0 = 24,
  NAUTILUS_U2 = 25,
  NAUTILUS_I2 = 26
} nautilus_dtype;

typedef struct nautilus_tensor {
  size_t struct_bytes; /* sizeof(nautilus_tensor) */
  const char *name;    /* as in the ONNX model, UTF-8 */
  nautilus_dtype dtype;
  uint32_t rank;
  const int64_t *shape; /* rank numbers; -1 where a dimension is open, or computed */
  size_t bytes;         /* of the dense tensor, at its largest; where memory is shared, of all of that */
  uint32_t shared;      /* of an input: 1 + the number of the output that has the same memory, and the other way round; 0: it has its own */
  uint32_t axis;        /* where memory is shared: the dimension along which the output is the input and some rows more */
  int64_t capacity;     /* where memory is shared: the rows along it that there is room for */
  size_t read_elements; /* of an input: how many elements, from the first on, the host reads, since they decide shapes; 0: none */
} nautilus_tensor;

/* Shared memory: the cache of a decoder (nautilus compile --inplace-cache). The caller allocates one tensor whose shape is that of the
 * input with CAPACITY in place of dimension AXIS, dense and row-major, and passes its address as the input; as the output the same
 * address, or NULL. The rows of the input lie at the front along AXIS; a run writes those that the output has beyond them right behind,
 * and copies nothing. The next run takes the output's shape as the input's. Memory behind the rows need not be set. */

/* ---- Targets ------------------------------------------------------------------------------------------------------------- */

typedef struct nautilus_target {
  size_t struct_bytes; /* sizeof(nautilus_target) */
  const char *name;    /* for example "sm_90a" or "emulated" */
  int32_t major;       /* compute capability; 0.0 where emulated */
  int32_t minor;
  int32_t exact;       /* 1: runs on this compute capability only; 0: also on later minors of the same major */
  int32_t emulated;    /* 1: runs on the CPU */
} nautilus_target;

/* Targets that the library holds code for. Needs no driver. An unreadable library holds none. */
NAUTILUS_API size_t nautilus_target_count(void);
NAUTILUS_API nautilus_status nautilus_target_describe(size_t index, nautilus_target *target);

/* ---- Model --------------------------------------------------------------------------------------------------------------- */

typedef struct nautilus_model nautilus_model;
struct nautilus_emulator_options; /* nautilus/emulator.h */

/* Where the model shall run.
 * AUTOMATIC is the GPU; it is the emulator only in a library that holds nothing else, never because a GPU is missing or unfit. */
typedef enum nautilus_place { NAUTILUS_AUTOMATIC = 0, NAUTILUS_GPU = 1, NAUTILUS_EMULATED = 2 } nautilus_place;

typedef struct nautilus_model_options {
  size_t struct_bytes; /* sizeof(nautilus_model_options) */
  int32_t device;      /* number of the GPU, as in CUDA; default 0 */
  int32_t place;       /* nautilus_place */
  const struct nautilus_emulator_options *emulator; /* NULL: defaults. Ignored on a GPU */
} nautilus_model_options;

/* Loads code and weights onto the device. OPTIONS may be NULL.
 * Of the targets with the device's major compute capability, an exact one that equals the device's is taken first, then the one
 * with the highest minor that is not above the device's. */
NAUTILUS_API nautilus_status nautilus_model_create(const nautilus_model_options *options, nautilus_model **model);

/* Frees it. Refused while contexts of it are alive. NULL is ignored. */
NAUTILUS_API nautilus_status nautilus_model_destroy(nautilus_model *model);

typedef struct nautilus_model_info {
  size_t struct_bytes;         /* sizeof(nautilus_model_info) */
  const char *target;          /* the target chosen */
  const char *device;          /* name of the GPU or of the emulator */
  int32_t emulated;            /* 1: runs on the CPU; times say nothing about a GPU */
  int32_t driver_version;      /* 1000 * major + 10 * minor */
  size_t input_count;
  size_t output_count;
  size_t launch_count;         /* kernels launched in one run; of branches and loops, each that may be, once */
  size_t workspace_bytes;      /* device memory that one context needs beside inputs and outputs, at most */
  size_t weight_bytes;         /* device memory that the model holds */
  const char *model_digest;    /* SHA-256 of the ONNX model, in hexadecimal */
  const char *manifest_digest; /* SHA-256 of the manifest written beside the library */
  const char *plan_digest;     /* SHA-256 of the plan */
  const char *weights_digest;  /* SHA-256 of the weights */
  const char *version;         /* of the Nautilus that made the library */
  size_t dimension_count;      /* open dimensions */
  size_t counted_count;        /* outputs of which the model computes a dimension: nautilus_output_shapes */
} nautilus_model_info;

NAUTILUS_API nautilus_status nautilus_model_describe(const nautilus_model *model, nautilus_model_info *info);
NAUTILUS_API nautilus_status nautilus_input(const nautilus_model *model, size_t index, nautilus_tensor *tensor);
NAUTILUS_API nautilus_status nautilus_output(const nautilus_model *model, size_t index, nautilus_tensor *tensor);

/* ---- Open dimensions ----------------------------------------------------------------------------------------------------- */

/* A dimension whose size is known only when the model runs. */
typedef struct nautilus_dimension {
  size_t struct_bytes; /* sizeof(nautilus_dimension) */
  const char *name;    /* as the model calls it, or an input's name and a number */
  int64_t low;         /* its sizes: LOW to HIGH, */
  int64_t high;
  int64_t divisor;     /* multiples of this */
} nautilus_dimension;

NAUTILUS_API nautilus_status nautilus_dimension_describe(const nautilus_model *model, size_t index, nautilus_dimension *dimension);

/* What the outputs' shapes and a context's workspace are for the inputs' shapes; where the model computes a dimension, what that is at
 * most. INPUTS holds one array a input, of as many numbers as it has dimensions; OUTPUTS, whose arrays are written, may be NULL or hold
 * NULL, and so may WORKSPACE_BYTES be. Where a run waits for a number that a kernel gives and plans what follows by it (steps `read` of the
 * manifest), this is the workspace without that: a context's own one grows within the run, and one of the caller's has to be large enough,
 * or the run is an error. */
NAUTILUS_API nautilus_status nautilus_shapes(const nautilus_model *model, const int64_t *const *inputs, int64_t *const *outputs,
                                             size_t *workspace_bytes);

/* Inputs whose values decide shapes (the axes of a reduction, the shape of a Reshape; read_elements of nautilus_tensor). A context reads
 * them when a run begins: nautilus_run_host from host memory, nautilus_run by a copy from the device for which it waits, on the run's
 * stream. Then it works out all sizes, checks the values, and takes what memory they need, all before anything is launched. A value
 * out of its range is an error that names input, element, value and range; the context can be used as before. A caller who has the values
 * in host memory passes them to nautilus_context_reshape_values instead, and the runs to come read none.
 *
 * nautilus_shapes_of_values is nautilus_shapes with such values: VALUES holds one address in host memory for each input, dense as the
 * input; NULL for one that decides nothing. VALUES may be NULL where no input decides shapes. */
NAUTILUS_API nautilus_status nautilus_shapes_of_values(const nautilus_model *model, const int64_t *const *inputs,
                                                       const void *const *values, int64_t *const *outputs, size_t *workspace_bytes);

/* Sets the emulator's options for runs to come; NAUTILUS_UNSUPPORTED on a GPU. */
NAUTILUS_API nautilus_status nautilus_model_emulator(nautilus_model *model, const struct nautilus_emulator_options *options);

/* ---- Context ------------------------------------------------------------------------------------------------------------- */

typedef struct nautilus_context nautilus_context;

/* GRAPH replays one CUDA graph, built when the context is created; STREAM launches kernel after kernel. CUDA does not capture the
 * launch of a graph: a caller that captures its stream into a graph of its own uses a STREAM context, and that on this stream only. */
typedef enum nautilus_launch { NAUTILUS_LAUNCH_GRAPH = 0, NAUTILUS_LAUNCH_STREAM = 1 } nautilus_launch;

typedef struct nautilus_context_options {
  size_t struct_bytes;    /* sizeof(nautilus_context_options) */
  void *workspace;        /* device memory that the caller owns, aligned to NAUTILUS_WORKSPACE_ALIGNMENT; NULL: allocate it */
  size_t workspace_bytes; /* size of it; at least workspace_bytes of nautilus_model_info */
  int32_t launch;         /* nautilus_launch */
  int32_t device_only;    /* 1: no device buffers for nautilus_run_host and nautilus_time, which are then unsupported */
} nautilus_context_options;

#define NAUTILUS_WORKSPACE_ALIGNMENT 256
#define NAUTILUS_POINTER_ALIGNMENT 16

/* Everything that one run at a time needs: workspace, graph, stream, buffers for host runs. OPTIONS may be NULL. */
NAUTILUS_API nautilus_status nautilus_context_create(nautilus_model *model, const nautilus_context_options *options,
                                                     nautilus_context **context);

/* Sets the shapes of the inputs for the runs to come. A context of a model with open dimensions begins with their smallest sizes. The
 * first run with new shapes goes by graphs that the context has for all shapes; the second one makes a graph of its own, of which a context
 * keeps the eight last used. Memory that larger shapes need is allocated here, and waits for the runs so far; a workspace that the caller
 * owns must suffice. After an error the context runs with the shapes that it had. */
NAUTILUS_API nautilus_status nautilus_context_reshape(nautilus_context *context, const int64_t *const *inputs);

/* The same, with the values of inputs that decide shapes, as nautilus_shapes_of_values takes them: the runs to come take their sizes from
 * these, whatever their inputs hold, until the next call of either function. nautilus_context_reshape, or VALUES of NULL, lets each run
 * read its own again, which is how a context begins. */
NAUTILUS_API nautilus_status nautilus_context_reshape_values(nautilus_context *context, const int64_t *const *inputs,
                                                             const void *const *values);

/* Waits for the context's own stream and frees it. Runs on the caller's streams must have ended. NULL is ignored. */
NAUTILUS_API nautilus_status nautilus_context_destroy(nautilus_context *context);

/* The context's own stream (a CUstream). */
NAUTILUS_API void *nautilus_context_stream(const nautilus_context *context);

/* ---- Run ----------------------------------------------------------------------------------------------------------------- */

/* Enqueues one run on STREAM (a CUstream or cudaStream_t; NULL is the legacy default stream) and returns at once.
 *
 * INPUTS and OUTPUTS hold one device pointer for each input and output, in order, aligned to NAUTILUS_POINTER_ALIGNMENT; a tensor
 * without elements may be NULL. The arrays are read before the call returns, the tensors when the stream comes to it. Pointers and
 * stream may differ between runs; runs of one context never overlap on the device, whatever their streams. On an emulated model
 * pointers are host memory and the run has ended when the call returns.
 *
 * An index out of range in an earlier run of this context that nobody has asked about yet is reported here, once, before anything
 * is launched: call nautilus_synchronize to learn of it in time. */
NAUTILUS_API nautilus_status nautilus_run(nautilus_context *context, const void *const *inputs, void *const *outputs, void *stream);

/* Waits for STREAM and reports what went wrong on the device since the last report. */
NAUTILUS_API nautilus_status nautilus_synchronize(nautilus_context *context, void *stream);

/* Reports an index out of range that a run so far met, without waiting. */
NAUTILUS_API nautilus_status nautilus_check(nautilus_context *context);

/* One run with tensors in host memory: copies in, runs on the context's own stream, copies out, waits. No alignment needed. */
NAUTILUS_API nautilus_status nautilus_run_host(nautilus_context *context, const void *const *inputs, void *const *outputs);

/* The shapes of the outputs of the last run, which was enqueued on STREAM: waits for it, and reports what went wrong on the device. Where the
 * model computes how large an output is (NonZero, NonMaxSuppression, ...), nautilus_tensor says -1 of that dimension, and nautilus_shapes what
 * it is at most: the caller gives memory for that much, of which the run fills, densely, what this call says. OUTPUTS holds one array an
 * output, of as many numbers as it has dimensions, or NULL. After nautilus_run_host nothing is waited for, and STREAM does not matter. Before
 * a run with the context's shapes there are none to tell: NAUTILUS_INVALID_ARGUMENT, where the model computes any. */
NAUTILUS_API nautilus_status nautilus_output_shapes(nautilus_context *context, int64_t *const *outputs, void *stream);

/* Times runs on the context's own stream with device events, over the inputs of the last nautilus_run_host (zeros before it).
 * After WARMUP runs, each of SAMPLES samples is RUNS runs back to back: MICROSECONDS[i] is the time of one of them. */
NAUTILUS_API nautilus_status nautilus_time(nautilus_context *context, size_t samples, size_t runs, size_t warmup,
                                           float *microseconds);

/* ---- Device memory, for callers without a CUDA library of their own ------------------------------------------------------- */

NAUTILUS_API nautilus_status nautilus_allocate(nautilus_model *model, size_t bytes, void **pointer);
NAUTILUS_API nautilus_status nautilus_free(nautilus_model *model, void *pointer);

/* Copies on STREAM. Pageable host memory may be reused when the call returns from TO_DEVICE, but is filled by TO_HOST only once the
 * stream was synchronised. */
typedef enum nautilus_direction { NAUTILUS_TO_DEVICE = 0, NAUTILUS_TO_HOST = 1, NAUTILUS_ON_DEVICE = 2 } nautilus_direction;
NAUTILUS_API nautilus_status nautilus_copy(nautilus_model *model, void *to, const void *from, size_t bytes,
                                           nautilus_direction direction, void *stream);

#ifdef __cplusplus
}
#endif

#endif
