// Where a thread is in its block and grid.
#pragma once

#include <nautilus/device/platform.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/runtime.h>
#endif

namespace nautilus::device {

struct Index3 {
    int x, y, z;
};

#ifdef NAUTILUS_EMULATED

NAUTILUS_DEVICE Index3 to_index3(const emulated::Index3 &index) {
    return {static_cast<int>(index.x), static_cast<int>(index.y), static_cast<int>(index.z)};
}
NAUTILUS_DEVICE Index3 thread_index() { return to_index3(emulated::current_thread().index); }
NAUTILUS_DEVICE Index3 block_index() { return to_index3(emulated::current_block().index); }
NAUTILUS_DEVICE Index3 block_extent() { return to_index3(emulated::current_block().extent); }
NAUTILUS_DEVICE Index3 grid_extent() { return to_index3(emulated::current_block().grid_extent); }
NAUTILUS_DEVICE int lane_index() { return static_cast<int>(emulated::current_thread().lane); }
NAUTILUS_DEVICE int warp_index() { return static_cast<int>(emulated::current_thread().linear_index) / kWarpThreads; }

// Gives other threads a turn; for loops that wait on memory.
NAUTILUS_DEVICE void pause(Site site = current_site()) { emulated::yield(site); }

#else

NAUTILUS_DEVICE Index3 thread_index() {
    return {static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y), static_cast<int>(threadIdx.z)};
}
NAUTILUS_DEVICE Index3 block_index() { return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)}; }
NAUTILUS_DEVICE Index3 block_extent() { return {static_cast<int>(blockDim.x), static_cast<int>(blockDim.y), static_cast<int>(blockDim.z)}; }
NAUTILUS_DEVICE Index3 grid_extent() { return {static_cast<int>(gridDim.x), static_cast<int>(gridDim.y), static_cast<int>(gridDim.z)}; }
NAUTILUS_DEVICE int linear_thread_index() { return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)); }
NAUTILUS_DEVICE int lane_index() {
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
// No broadcast to tell the compiler that the value is uniform: that would be a collective, which a branch of some lanes must not call.
NAUTILUS_DEVICE int warp_index() { return linear_thread_index() / kWarpThreads; }

NAUTILUS_DEVICE void pause(Site = {}) { __nanosleep(20); }

#endif

}  // namespace nautilus::device
