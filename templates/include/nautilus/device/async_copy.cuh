// cp.async: copies from global to shared memory that complete in groups.
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/shared_memory.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/runtime.h>
#endif

namespace nautilus::device {

// Starts a copy of kBytes (4, 8 or 16) from global to shared memory, both aligned to kBytes; the bytes past SOURCE_BYTES become zero,
// and with SOURCE_BYTES 0 nothing is read. 16-byte copies bypass L1.
template <int kBytes>
NAUTILUS_DEVICE void cp_async(void *shared, const void *global, int source_bytes = kBytes, Site site = current_site()) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
#ifdef NAUTILUS_EMULATED
    emulated::copy_async(shared, global, kBytes, static_cast<unsigned>(source_bytes), site);
#else
    if constexpr (kBytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)),
                     "r"(source_bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(shared)), "l"(__cvta_generic_to_global(global)),
                     "n"(kBytes), "r"(source_bytes)
                     : "memory");
    }
#endif
}

// A place in shared memory from which further ones lie at distances in bytes that become part of an instruction.
#ifdef NAUTILUS_EMULATED
using SharedPlace = unsigned char *;
NAUTILUS_DEVICE SharedPlace shared_place(void *shared) { return static_cast<unsigned char *>(shared); }
#else
using SharedPlace = uint32;
NAUTILUS_DEVICE SharedPlace shared_place(void *shared) { return shared_address(shared); }
#endif

// The copy of cp_async to BYTES behind PLACE.
template <int kBytes>
NAUTILUS_DEVICE void cp_async_behind(SharedPlace place, int bytes, const void *global, int source_bytes = kBytes, Site site = current_site()) {
    static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "cp.async copies 4, 8 or 16 bytes");
#ifdef NAUTILUS_EMULATED
    emulated::copy_async(place + bytes, global, kBytes, static_cast<unsigned>(source_bytes), site);
#else
    if constexpr (kBytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place + bytes), "l"(__cvta_generic_to_global(global)),
                     "r"(source_bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place + bytes), "l"(__cvta_generic_to_global(global)),
                     "n"(kBytes), "r"(source_bytes)
                     : "memory");
    }
#endif
}

NAUTILUS_DEVICE void cp_async16(void *shared, const void *global, int source_bytes = 16, Site site = current_site()) {
    cp_async<16>(shared, global, source_bytes, site);
}

// Closes the group of copies that this thread has started since the last call.
NAUTILUS_DEVICE void cp_async_commit() {
#ifdef NAUTILUS_EMULATED
    emulated::copy_async_commit();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most kGroupsInFlight of this thread's latest groups are incomplete. Other threads see the data after a barrier.
template <int kGroupsInFlight>
NAUTILUS_DEVICE void cp_async_wait() {
#ifdef NAUTILUS_EMULATED
    emulated::copy_async_wait(kGroupsInFlight);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsInFlight) : "memory");
#endif
}

}  // namespace nautilus::device
