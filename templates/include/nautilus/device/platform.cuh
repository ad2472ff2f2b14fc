// Macros and integer types that hide whether kernel text is compiled for a GPU (NVRTC) or for the emulator (a host C++ compiler).
#pragma once

#ifdef NAUTILUS_EMULATED

#define __global__ __attribute__((visibility("default")))
#define __device__
// Forced as on the device: an array passed by reference stays in registers only where its callee is inlined.
#define NAUTILUS_DEVICE inline __attribute__((always_inline))
// As on the device, an array indexed by unrolled loops stays in registers. Loops of sixteen turns would run products of 512³ 1.05 to 1.1 times
// as fast, but GCC would take 1.5 times as long for products by mma.sync and twice as long for the convolutions of DenseNet-121; with loops of
// two turns products of halves take twice as long to run.
#ifdef __clang__
#define NAUTILUS_UNROLL _Pragma("unroll 16")
#else
#define NAUTILUS_UNROLL _Pragma("GCC unroll 4")
#endif
#define NAUTILUS_LAUNCH_BOUNDS(...)
#define NAUTILUS_CLUSTER(blocks)
#define NAUTILUS_GRID_CONSTANT

#else

#define NAUTILUS_DEVICE __device__ __forceinline__
#define NAUTILUS_UNROLL _Pragma("unroll")
#define NAUTILUS_LAUNCH_BOUNDS(...) __launch_bounds__(__VA_ARGS__)
#define NAUTILUS_GRID_CONSTANT __grid_constant__

#endif

// What the target has; the emulator has everything.
#if __CUDA_ARCH__ >= 900
#define NAUTILUS_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)  // of a kernel, along x
#elif !defined(NAUTILUS_EMULATED)
#define NAUTILUS_CLUSTER(blocks)
#endif
#if defined(NAUTILUS_EMULATED) || __CUDA_ARCH__ >= 900
#define NAUTILUS_HAS_SM90 1  // stmatrix, mbarriers that count bytes, bulk copies and tensor maps, clusters
#else
#define NAUTILUS_HAS_SM90 0
#endif
#if defined(NAUTILUS_EMULATED) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define NAUTILUS_HAS_WGMMA 1  // products by warpgroups: sm_90a alone
#else
#define NAUTILUS_HAS_WGMMA 0
#endif
#if NAUTILUS_HAS_WGMMA || defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL)
#define NAUTILUS_IS_EXACT_TARGET 1  // what `a` targets alone have: setmaxnreg, multicast
#else
#define NAUTILUS_IS_EXACT_TARGET 0
#endif

namespace nautilus {

using int8 = signed char;
using int16 = short;
using int32 = int;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

static_assert(sizeof(int16) == 2 && sizeof(int32) == 4 && sizeof(int64) == 8, "fixed-width integers");

namespace device {

constexpr int kWarpThreads = 32;
constexpr uint32 kFullMask = 0xFFFFFFFFu;

// Reinterprets the bytes of a value as another type of the same size.
template <typename To, typename From>
NAUTILUS_DEVICE To bit_cast(From value) {
    return __builtin_bit_cast(To, value);
}

// The place in kernel text of a synchronising call, so that the emulator can name it; nothing on the device.
#ifdef NAUTILUS_EMULATED
struct Site {
    const char *file;
    unsigned line;
};
// As a default argument this yields the line of the caller.
constexpr Site current_site(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return {file, line}; }
#else
struct Site {};
NAUTILUS_DEVICE constexpr Site current_site() { return {}; }
#endif

}  // namespace device
}  // namespace nautilus
