// Registers moved between the warpgroups of a block (setmaxnreg): producers give theirs to consumers. sm_90a and later `a` targets.
//
// It works only where the compiler knows the block's size and registers: NAUTILUS_LAUNCH_BOUNDS(threads, 1).
#pragma once

#include <nautilus/device/platform.cuh>

#if NAUTILUS_IS_EXACT_TARGET

namespace nautilus::device {

// Keeps REGISTERS a thread, a multiple of 8 from 24 to 256, and gives the others back. All warps of a warpgroup do so.
template <int kRegisters>
NAUTILUS_DEVICE void release_registers() {
    static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "a multiple of 8 from 24 to 256");
#ifndef NAUTILUS_EMULATED
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

// Waits until REGISTERS a thread are there.
template <int kRegisters>
NAUTILUS_DEVICE void acquire_registers() {
    static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0, "a multiple of 8 from 24 to 256");
#ifndef NAUTILUS_EMULATED
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
#endif
}

}  // namespace nautilus::device

#endif
