// Barriers of a block and of part of it.
#pragma once

#include <nautilus/device/platform.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/runtime.h>
#endif

namespace nautilus::device {

// Every thread of the block waits for every other; none may have exited.
NAUTILUS_DEVICE void block_barrier(Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::barrier(0, 0, true, site);
#else
    __syncthreads();
#endif
}

// THREADS threads (a multiple of 32, whole warps) of the block wait for each other at barrier ID, 1 to 15.
NAUTILUS_DEVICE void named_barrier(int id, int threads, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), true, site);
#else
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

// Counts this thread towards the THREADS of barrier ID without waiting.
NAUTILUS_DEVICE void named_barrier_arrive(int id, int threads, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads), false, site);
#else
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

// The lanes of MASK wait for each other and see each other's writes.
NAUTILUS_DEVICE void warp_barrier(uint32 mask = kFullMask, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::rendezvous(mask, "warp_barrier", nullptr, [](void **, unsigned) {}, site);
#else
    __syncwarp(mask);
#endif
}

// Orders this thread's writes before its later ones, for the whole device.
NAUTILUS_DEVICE void device_fence() {
#ifdef NAUTILUS_EMULATED
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
    __threadfence();
#endif
}

}  // namespace nautilus::device
