// Programmatic dependent launch: overlap of a kernel's start with the end of the one before it. Nothing below sm_90.
#pragma once

#include <nautilus/device/platform.cuh>

#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/runtime.h>
#endif

namespace nautilus::device {

// Waits until the kernels before this one have finished and their writes are visible. Every kernel of a chain calls it before its
// first access to memory that another kernel writes: ordering is not transitive otherwise. The emulator stops a launch that does not.
NAUTILUS_DEVICE void dependency_wait() {
#ifdef NAUTILUS_EMULATED
    emulated::note_dependency_wait();
#elif __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// What a thread calls that leaves before that, having touched no memory. In a grid of an open extent all of them may leave, and then nobody
// has waited; one of a fixed extent has a block that stays.
template <class Extent>
NAUTILUS_DEVICE void dependency_wait_if_open() {
    if constexpr (!Extent::kIsStatic) {
        dependency_wait();
    } else {
#ifdef NAUTILUS_EMULATED
        emulated::note_idle_block();
#endif
    }
}

// Allows the next kernel to start; best after the main loop, since waiting blocks hold shared memory.
NAUTILUS_DEVICE void dependency_trigger() {
#if !defined(NAUTILUS_EMULATED) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace nautilus::device
