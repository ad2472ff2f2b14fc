// Products of matrices by the tensor cores for a warpgroup: four warps, the first of them a multiple of four (wgmma). sm_90a alone, and not
// part of device.cuh.
//
// A is 64 rows, B kColumns columns, from 8 to 256 in steps of 8, over 32 bytes of depth. Operands lie in shared memory and are named by
// descriptors; A may come from registers. Of thread t of the warpgroup, with w = t / 32, g = t % 32 / 4 and i = t % 4, sums hold:
//   sums[4 j] and [4 j + 1]: row 16 w + g, columns 8 j + 2 i and 8 j + 2 i + 1; sums[4 j + 2] and [4 j + 3]: row 16 w + g + 8.
// A in registers is laid out for each warp's 16 rows as mma.cuh says.
//
// The order of calls: wgmma_fence before the first product and whenever other code has touched the sums; products; wgmma_commit; wgmma_wait
// for the group before sums are read or operands are overwritten, with register_fence on the sums after the wait, and before the fence, so
// that the compiler keeps them where they are. Operands that threads have written themselves need async_proxy_fence and a barrier.
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/shared_memory.cuh>
#include <nautilus/device/types.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/warpgroup.h>
#elif NAUTILUS_HAS_WGMMA
#include <nautilus/device/wgmma_instructions.cuh>
#endif

#if NAUTILUS_HAS_WGMMA

namespace nautilus::device {

// Which of an operand's dimensions is contiguous: the depth, or the rows of A and the columns of B. A float operand has the depth.
enum class Major { kDepth, kOuter };

// How 16-byte chunks are swapped in shared memory: within how many bytes. The numbers are those of descriptors.
enum class Swizzle { kNone = 0, k128 = 1, k64 = 2, k32 = 3 };

// Names an operand in shared memory that begins at TILE, 16 bytes aligned. With swizzle S, of S bytes (kNone: 16):
//   kDepth: groups of 8 rows or columns of S bytes each lie STRIDE_BYTES apart; without a swizzle the second 16 bytes of depth lie
//           LEADING_BYTES further, else that does not count.
//   kOuter: 8 depths of S bytes each lie together; the next 8 depths lie STRIDE_BYTES further, the next S bytes of rows or columns
//           LEADING_BYTES (without a swizzle it is the other way round).
// A tile of 128 bytes of depth in 128-byte swizzle, as one box of a tensor map brings it: kDepth, stride 1024.
template <Swizzle kSwizzle>
NAUTILUS_DEVICE uint64 wgmma_descriptor(const void *tile, int leading_bytes, int stride_bytes, Site site = current_site()) {
    const uint32 address = shared_address(tile, site);
#ifdef NAUTILUS_EMULATED
    if ((address | static_cast<uint32>(leading_bytes) | static_cast<uint32>(stride_bytes)) % 16 != 0)
        emulated::fail("wgmma_descriptor of a place or distance that is no multiple of 16 bytes", site);
#endif
    return static_cast<uint64>((address & 0x3FFFF) >> 4) | static_cast<uint64>((leading_bytes & 0x3FFFF) >> 4) << 16 |
           static_cast<uint64>((stride_bytes & 0x3FFFF) >> 4) << 32 | static_cast<uint64>(kSwizzle) << 62;
}

// The descriptor of a place BYTES further, a multiple of 16: the next step of depth is 32 bytes further in kDepth, and in kOuter as far
// as its depths take.
NAUTILUS_DEVICE uint64 wgmma_advance(uint64 descriptor, int bytes) {
    // A place takes 14 bits of the lower word, the only one that changes: as one number, the compiler would carry.
    const uint32 lower = static_cast<uint32>(descriptor) + static_cast<uint32>(bytes >> 4), upper = static_cast<uint32>(descriptor >> 32);
#ifdef NAUTILUS_EMULATED
    return static_cast<uint64>(upper) << 32 | lower;
#else
    uint64 advanced;
    asm("mov.b64 %0, {%1, %2};" : "=l"(advanced) : "r"(lower), "r"(upper));
    return advanced;
#endif
}

// Orders earlier accesses to the sums, and to A in registers, before the products that follow.
NAUTILUS_DEVICE void wgmma_fence() {
#ifdef NAUTILUS_EMULATED
    emulated::warpgroup_fence();
#else
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// Closes the group of products that this warpgroup has started since the last call.
NAUTILUS_DEVICE void wgmma_commit() {
#ifdef NAUTILUS_EMULATED
    emulated::warpgroup_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Waits until at most kGroupsInFlight of the latest groups are incomplete. Each warp waits for its own rows: others may still read
// operands.
template <int kGroupsInFlight>
NAUTILUS_DEVICE void wgmma_wait(Site site = current_site()) {
    static_assert(kGroupsInFlight >= 0 && kGroupsInFlight <= 7, "0 to 7 groups");
#ifdef NAUTILUS_EMULATED
    emulated::warpgroup_wait(kGroupsInFlight, site);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroupsInFlight) : "memory");
#endif
}

// Keeps the compiler from moving, or reusing, registers across this place.
template <int kCount>
NAUTILUS_DEVICE void register_fence(float (&registers)[kCount]) {
#ifndef NAUTILUS_EMULATED
    NAUTILUS_UNROLL
    for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
#endif
}

// Starts sums = A B, or sums += A B where it accumulates, for T half, bfloat16 or float (as tf32).
template <typename T, Major kMajorA = Major::kDepth, Major kMajorB = Major::kDepth, int kSums>
NAUTILUS_DEVICE void wgmma(float (&sums)[kSums], uint64 a, uint64 b, bool accumulates = true, Site site = current_site()) {
    static_assert(kSums % 4 == 0 && kSums <= 128, "from 8 to 256 columns in steps of 8, half as many sums");
    static_assert(sizeof(T) == 2 || (kMajorA == Major::kDepth && kMajorB == Major::kDepth),
                  "float operands are contiguous along the depth");
#ifdef NAUTILUS_EMULATED
    emulated::warpgroup_product(
        sums, {a, b, nullptr, 2 * kSums, emulated::kTensorType<T>, kMajorA == Major::kOuter, kMajorB == Major::kOuter, accumulates}, site);
#else
    detail::Wgmma<2 * kSums>::template run<detail::WgmmaText<T, kMajorA == Major::kOuter, kMajorB == Major::kOuter> >(sums, a, b,
                                                                                                                      accumulates);
#endif
}

// The same with A in registers.
template <typename T, Major kMajorB = Major::kDepth, int kSums>
NAUTILUS_DEVICE void wgmma(float (&sums)[kSums], const uint32 (&a)[4], uint64 b, bool accumulates = true, Site site = current_site()) {
    static_assert(kSums % 4 == 0 && kSums <= 128, "from 8 to 256 columns in steps of 8, half as many sums");
    static_assert(sizeof(T) == 2 || kMajorB == Major::kDepth, "float operands are contiguous along the depth");
#ifdef NAUTILUS_EMULATED
    emulated::warpgroup_product(sums, {0, b, a, 2 * kSums, emulated::kTensorType<T>, false, kMajorB == Major::kOuter, accumulates}, site);
#else
    detail::Wgmma<2 * kSums>::template run<detail::WgmmaText<T, false, kMajorB == Major::kOuter> >(sums, a, b, accumulates);
#endif
}

}  // namespace nautilus::device

#endif
