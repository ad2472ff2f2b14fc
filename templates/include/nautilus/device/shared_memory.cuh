// The one dynamic shared-memory arena of a block. Static __shared__ variables are not used: the emulator has no such storage.
#pragma once

#include <nautilus/device/platform.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/runtime.h>
#endif

namespace nautilus::device {

// Alignment of the arena: what a 128-byte swizzled tile needs.
constexpr int kSharedAlignment = 1024;

// The arena, from OFFSET_BYTES on, as elements of T.
template <typename T>
NAUTILUS_DEVICE T *dynamic_shared(int offset_bytes = 0) {
#ifdef NAUTILUS_EMULATED
    return reinterpret_cast<T *>(emulated::current_block().shared + offset_bytes);
#else
    extern __shared__ __align__(1024) unsigned char nautilus_dynamic_shared[];
    return reinterpret_cast<T *>(nautilus_dynamic_shared + offset_bytes);
#endif
}

// The 32-bit address that PTX instructions and descriptors take.
NAUTILUS_DEVICE uint32 shared_address(const void *pointer, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    return emulated::shared_offset(pointer, site);
#else
    return static_cast<uint32>(__cvta_generic_to_shared(pointer));
#endif
}

}  // namespace nautilus::device
