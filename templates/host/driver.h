/* The CUDA driver as the host code sees it: types of our own and one table of functions.
 *
 * The host code never includes cuda.h and never links libcuda: it fills `struct nautilus_driver` by dlsym from libcuda.so.1,
 * or lets an emulated image fill it (see nautilus/emulator.h). C99 and C++ can include this file.
 *
 * Source of every signature, structure and number: cuda.h of the CUDA Toolkit 13.0 (driver API); names in the comments are those
 * of that header. A test compiles this file beside cuda.h, where one is installed, and compares them.
 */
#ifndef NAUTILUS_HOST_DRIVER_H
#define NAUTILUS_HOST_DRIVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cu_result;                        /* CUresult */
typedef int cu_device;                        /* CUdevice */
typedef unsigned long long cu_pointer;        /* CUdeviceptr_v2 */
typedef struct cu_context_struct *cu_context; /* CUcontext */
typedef struct cu_module_struct *cu_module;   /* CUmodule */
typedef struct cu_function_struct *cu_function;
typedef struct cu_stream_struct *cu_stream;   /* 0 is the legacy default stream */
typedef struct cu_event_struct *cu_event;
typedef struct cu_graph_struct *cu_graph;
typedef struct cu_graph_node_struct *cu_graph_node;
typedef struct cu_graph_exec_struct *cu_graph_exec;

enum { /* CUresult: those that the host code tells apart or that the emulator returns */
  CU_OK = 0,                             /* CUDA_SUCCESS */
  CU_ERROR_INVALID_VALUE = 1,            /* CUDA_ERROR_INVALID_VALUE */
  CU_ERROR_OUT_OF_MEMORY = 2,            /* CUDA_ERROR_OUT_OF_MEMORY */
  CU_ERROR_NOT_INITIALIZED = 3,          /* CUDA_ERROR_NOT_INITIALIZED */
  CU_ERROR_STUB_LIBRARY = 34,            /* CUDA_ERROR_STUB_LIBRARY */
  CU_ERROR_NO_DEVICE = 100,              /* CUDA_ERROR_NO_DEVICE */
  CU_ERROR_INVALID_DEVICE = 101,         /* CUDA_ERROR_INVALID_DEVICE */
  CU_ERROR_INVALID_IMAGE = 200,          /* CUDA_ERROR_INVALID_IMAGE */
  CU_ERROR_INVALID_CONTEXT = 201,        /* CUDA_ERROR_INVALID_CONTEXT */
  CU_ERROR_NO_BINARY_FOR_GPU = 209,      /* CUDA_ERROR_NO_BINARY_FOR_GPU */
  CU_ERROR_INVALID_HANDLE = 400,         /* CUDA_ERROR_INVALID_HANDLE */
  CU_ERROR_NOT_FOUND = 500,              /* CUDA_ERROR_NOT_FOUND */
  CU_ERROR_NOT_READY = 600,              /* CUDA_ERROR_NOT_READY */
  CU_ERROR_ILLEGAL_ADDRESS = 700,        /* CUDA_ERROR_ILLEGAL_ADDRESS */
  CU_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,/* CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES */
  CU_ERROR_LAUNCH_TIMEOUT = 702,         /* CUDA_ERROR_LAUNCH_TIMEOUT: the emulator's deadlock */
  CU_ERROR_ASSERT = 710,                 /* CUDA_ERROR_ASSERT */
  CU_ERROR_HARDWARE_STACK = 714,         /* CUDA_ERROR_HARDWARE_STACK_ERROR */
  CU_ERROR_MISALIGNED_ADDRESS = 716,     /* CUDA_ERROR_MISALIGNED_ADDRESS */
  CU_ERROR_LAUNCH_FAILED = 719,          /* CUDA_ERROR_LAUNCH_FAILED */
  CU_ERROR_NOT_SUPPORTED = 801,          /* CUDA_ERROR_NOT_SUPPORTED */
  CU_ERROR_SYSTEM_DRIVER_MISMATCH = 803, /* CUDA_ERROR_SYSTEM_DRIVER_MISMATCH */
  CU_ERROR_UNKNOWN = 999                 /* CUDA_ERROR_UNKNOWN */
};

enum { /* CUdevice_attribute */
  CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,                /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
  CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,            /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
  CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,            /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR */
  CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97    /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
};

enum { CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES = 8 };       /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
enum { CU_STREAM_FLAG_NON_BLOCKING = 1 };                /* CU_STREAM_NON_BLOCKING */
enum { CU_EVENT_FLAG_DEFAULT = 0, CU_EVENT_FLAG_DISABLE_TIMING = 2 };
enum { CU_HOST_ALLOC_PORTABLE = 1, CU_HOST_ALLOC_DEVICE_MAP = 2 };      /* CU_MEMHOSTALLOC_* */
enum { CU_POINTER_MEMORY_TYPE = 2, CU_POINTER_DEVICE_ORDINAL = 9 };     /* CU_POINTER_ATTRIBUTE_* */
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 };                      /* CU_MEMORYTYPE_* */
enum { CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };               /* CU_LAUNCH_ATTRIBUTE_* */

enum { /* CUtensorMapDataType */
  CU_TENSOR_UINT8 = 0,            /* CU_TENSOR_MAP_DATA_TYPE_UINT8 */
  CU_TENSOR_UINT16 = 1,           /* CU_TENSOR_MAP_DATA_TYPE_UINT16 */
  CU_TENSOR_UINT32 = 2,           /* CU_TENSOR_MAP_DATA_TYPE_UINT32 */
  CU_TENSOR_INT32 = 3,            /* CU_TENSOR_MAP_DATA_TYPE_INT32 */
  CU_TENSOR_UINT64 = 4,           /* CU_TENSOR_MAP_DATA_TYPE_UINT64 */
  CU_TENSOR_INT64 = 5,            /* CU_TENSOR_MAP_DATA_TYPE_INT64 */
  CU_TENSOR_FLOAT16 = 6,          /* CU_TENSOR_MAP_DATA_TYPE_FLOAT16 */
  CU_TENSOR_FLOAT32 = 7,          /* CU_TENSOR_MAP_DATA_TYPE_FLOAT32 */
  CU_TENSOR_FLOAT64 = 8,          /* CU_TENSOR_MAP_DATA_TYPE_FLOAT64 */
  CU_TENSOR_BFLOAT16 = 9,         /* CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 */
  CU_TENSOR_FLOAT32_FTZ = 10,     /* CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ */
  CU_TENSOR_TFLOAT32 = 11,        /* CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: rounded to nearest even as it is loaded */
  CU_TENSOR_TFLOAT32_FTZ = 12,    /* CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ */
  CU_TENSOR_16U6_ALIGN16B = 15    /* CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: the last, of packed types that are not used */
};
enum { CU_TENSOR_INTERLEAVE_NONE = 0, CU_TENSOR_INTERLEAVE_32B = 2 };   /* CU_TENSOR_MAP_INTERLEAVE_* */
enum { /* CUtensorMapSwizzle */
  CU_TENSOR_SWIZZLE_NONE = 0,           /* CU_TENSOR_MAP_SWIZZLE_NONE */
  CU_TENSOR_SWIZZLE_32B = 1,            /* CU_TENSOR_MAP_SWIZZLE_32B */
  CU_TENSOR_SWIZZLE_64B = 2,            /* CU_TENSOR_MAP_SWIZZLE_64B */
  CU_TENSOR_SWIZZLE_128B = 3,           /* CU_TENSOR_MAP_SWIZZLE_128B */
  CU_TENSOR_SWIZZLE_128B_ATOM_64B = 6   /* CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B: the last */
};
enum { /* CUtensorMapL2promotion */
  CU_TENSOR_L2_PROMOTION_NONE = 0,      /* CU_TENSOR_MAP_L2_PROMOTION_NONE */
  CU_TENSOR_L2_PROMOTION_128B = 2,      /* CU_TENSOR_MAP_L2_PROMOTION_L2_128B */
  CU_TENSOR_L2_PROMOTION_256B = 3       /* CU_TENSOR_MAP_L2_PROMOTION_L2_256B */
};
enum { CU_TENSOR_FILL_ZERO = 0, CU_TENSOR_FILL_NAN = 1 };               /* CU_TENSOR_MAP_FLOAT_OOB_FILL_* */

typedef struct cu_tensor_map { /* CUtensorMap: opaque, and part of the arguments of a kernel */
  unsigned long long words[16];
} __attribute__((aligned(64))) cu_tensor_map;

typedef struct cu_kernel_node_params { /* CUDA_KERNEL_NODE_PARAMS_v2 */
  cu_function function;
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  void **parameters;  /* one pointer a parameter; ours have exactly one */
  void **extra;       /* unused, 0 */
  void *kernel;       /* unused, 0 */
  cu_context context; /* unused, 0 */
} cu_kernel_node_params;

typedef struct cu_graph_edge { /* CUgraphEdgeData */
  unsigned char from_port;
  unsigned char to_port;
  unsigned char type;
  unsigned char reserved[5];
} cu_graph_edge;
enum { CU_GRAPH_PORT_PROGRAMMATIC = 1 };       /* CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC */
enum { CU_GRAPH_DEPENDENCY_PROGRAMMATIC = 1 }; /* CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC */

typedef struct cu_launch_attribute { /* CUlaunchAttribute */
  unsigned int id;
  unsigned int pad;
  union {
    unsigned long long words[8];
    int programmatic_stream_serialization_allowed;
    unsigned int cluster[3];
  } value;
} cu_launch_attribute;

typedef struct cu_launch_config { /* CUlaunchConfig */
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  cu_stream stream;
  cu_launch_attribute *attributes;
  unsigned int attribute_count;
} cu_launch_config;

/* Every driver function that the host code may call: X(member, symbol that dlsym asks for, parameters).
 * Symbols carry the version suffix that cuda.h's macros give them; the oldest driver that has them all is 12.3. */
#define NAUTILUS_DRIVER_FUNCTIONS(X)                                                                                            \
  X(cuInit, "cuInit", (unsigned int flags))                                                                                     \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                                                   \
  X(cuDeviceGet, "cuDeviceGet", (cu_device *device, int ordinal))                                                               \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                                                         \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device))                                \
  X(cuDeviceGetName, "cuDeviceGetName", (char *name, int length, cu_device device))                                             \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cu_context *context, cu_device device))                              \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (cu_device device))                                              \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (cu_context context))                                                              \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (cu_context *context))                                                               \
  X(cuModuleLoadData, "cuModuleLoadData", (cu_module *module, const void *image))                                               \
  X(cuModuleUnload, "cuModuleUnload", (cu_module module))                                                                       \
  X(cuModuleGetFunction, "cuModuleGetFunction", (cu_function *function, cu_module module, const char *name))                    \
  X(cuFuncSetAttribute, "cuFuncSetAttribute", (cu_function function, int attribute, int value))                                 \
  X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free_bytes, size_t *total_bytes))                                                 \
  X(cuMemAlloc, "cuMemAlloc_v2", (cu_pointer *pointer, size_t bytes))                                                           \
  X(cuMemFree, "cuMemFree_v2", (cu_pointer pointer))                                                                            \
  X(cuMemHostAlloc, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned int flags))                                       \
  X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (cu_pointer *pointer, void *host, unsigned int flags))           \
  X(cuMemFreeHost, "cuMemFreeHost", (void *pointer))                                                                            \
  X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (cu_pointer to, const void *from, size_t bytes, cu_stream stream))               \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *to, cu_pointer from, size_t bytes, cu_stream stream))                     \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))                \
  X(cuMemsetD8Async, "cuMemsetD8Async", (cu_pointer to, unsigned char value, size_t bytes, cu_stream stream))                   \
  X(cuLaunchKernel, "cuLaunchKernel",                                                                                           \
    (cu_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,                 \
     unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, cu_stream stream, void **parameters, void **extra)) \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                                                       \
    (const cu_launch_config *config, cu_function function, void **parameters, void **extra))                                    \
  X(cuStreamCreate, "cuStreamCreate", (cu_stream *stream, unsigned int flags))                                                  \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (cu_stream stream))                                                                  \
  X(cuStreamSynchronize, "cuStreamSynchronize", (cu_stream stream))                                                             \
  X(cuStreamWaitEvent, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned int flags))                             \
  X(cuGraphCreate, "cuGraphCreate", (cu_graph *graph, unsigned int flags))                                                      \
  X(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2",                                                                            \
    (cu_graph_node *node, cu_graph graph, const cu_graph_node *dependencies, size_t dependency_count,                           \
     const cu_kernel_node_params *parameters))                                                                                  \
  X(cuGraphAddDependencies, "cuGraphAddDependencies_v2",                                                                        \
    (cu_graph graph, const cu_graph_node *from, const cu_graph_node *to, const cu_graph_edge *edges, size_t count))             \
  X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", (cu_graph_exec *exec, cu_graph graph, unsigned long long flags))\
  X(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",                                                        \
    (cu_graph_exec exec, cu_graph_node node, const cu_kernel_node_params *parameters))                                          \
  X(cuGraphLaunch, "cuGraphLaunch", (cu_graph_exec exec, cu_stream stream))                                                     \
  X(cuGraphDestroy, "cuGraphDestroy", (cu_graph graph))                                                                         \
  X(cuGraphExecDestroy, "cuGraphExecDestroy", (cu_graph_exec exec))                                                             \
  X(cuEventCreate, "cuEventCreate", (cu_event * event, unsigned int flags))                                                     \
  X(cuEventRecord, "cuEventRecord", (cu_event event, cu_stream stream))                                                         \
  X(cuEventSynchronize, "cuEventSynchronize", (cu_event event))                                                                 \
  X(cuEventElapsedTime, "cuEventElapsedTime", (float *milliseconds, cu_event start, cu_event end))                              \
  X(cuEventDestroy, "cuEventDestroy_v2", (cu_event event))                                                                      \
  X(cuPointerGetAttribute, "cuPointerGetAttribute", (void *value, int attribute, cu_pointer pointer))                           \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                                           \
    (cu_tensor_map *map, int type, unsigned int rank, void *address, const unsigned long long *extents,                         \
     const unsigned long long *strides, const unsigned int *box, const unsigned int *steps, int interleave, int swizzle,        \
     int promotion, int fill))                                                                                                  \
  X(cuGetErrorName, "cuGetErrorName", (cu_result error, const char **text))                                                     \
  X(cuGetErrorString, "cuGetErrorString", (cu_result error, const char **text))

/* The table. Every member is set once it is filled. */
struct nautilus_driver {
  size_t bytes; /* sizeof(struct nautilus_driver), set by the host before it asks for the table to be filled */
#define NAUTILUS_DRIVER_MEMBER(name, symbol, parameters) cu_result(*name) parameters;
  NAUTILUS_DRIVER_FUNCTIONS(NAUTILUS_DRIVER_MEMBER)
#undef NAUTILUS_DRIVER_MEMBER
};

#ifdef __cplusplus
}
#endif

#endif
