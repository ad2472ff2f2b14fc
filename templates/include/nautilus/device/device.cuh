// Everything that kernel text uses of the machine. Each function has two twins: inline PTX or a CUDA builtin, and a C++ one for the
// emulator (NAUTILUS_EMULATED). No CUDA header is included, and this directory is the only place with inline PTX.
//
// Macros and integer types are in platform.cuh, in namespace nautilus; functions in nautilus::device. Call these qualified, or after
// `using namespace device;` inside namespace nautilus (at global scope exp and the like are ambiguous). Every synchronising call ends
// with a defaulted Site, which only the emulator uses. Each header begins with what it is for; what needs sm_90 or sm_90a says so, and
// compiles elsewhere as long as it is not called. wgmma.cuh and outer_products.cuh are for few kernels, and not included here.
#pragma once

#include <nautilus/device/async_copy.cuh>
#include <nautilus/device/atomics.cuh>
#include <nautilus/device/barrier.cuh>
#include <nautilus/device/cluster.cuh>
#include <nautilus/device/dependency.cuh>
#include <nautilus/device/execution.cuh>
#include <nautilus/device/export.cuh>
#include <nautilus/device/math.cuh>
#include <nautilus/device/matrix.cuh>
#include <nautilus/device/mbarrier.cuh>
#include <nautilus/device/memory.cuh>
#include <nautilus/device/mma.cuh>
#include <nautilus/device/platform.cuh>
#include <nautilus/device/register_share.cuh>
#include <nautilus/device/shared_memory.cuh>
#include <nautilus/device/tensor_copy.cuh>
#include <nautilus/device/types.cuh>
#include <nautilus/device/warp.cuh>
