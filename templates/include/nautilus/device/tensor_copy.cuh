// Bulk copies between global and shared memory by a unit of their own (TMA): boxes of a tensor that a map describes, and plain runs of
// bytes. One thread starts a copy for all. From sm_90 on.
//
// A load tells an mbarrier how many bytes have come. Stores form groups of the thread that starts them; what they read must be visible to
// the unit: async_proxy_fence by the threads that wrote it, then a barrier with the one that starts the store.
#pragma once

#include <nautilus/device/mbarrier.cuh>
#include <nautilus/device/platform.cuh>
#include <nautilus/device/shared_memory.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/tensor_copy.h>
#endif

#if NAUTILUS_HAS_SM90

namespace nautilus::device {

// A tensor in global memory and the box of it that one copy moves, as cuTensorMapEncodeTiled writes them. Part of a kernel's arguments,
// which are declared NAUTILUS_GRID_CONSTANT.
struct alignas(64) TensorMap {
    uint64 words[16];
};

// What shall become of the lines of L2 that a load reads.
enum class CacheHint {
    kDefault,
    kEvictFirst,  // read once
    kEvictLast,   // read by many blocks
};

#ifndef NAUTILUS_EMULATED

namespace detail {

// What createpolicy.fractional gives for whole lines.
constexpr uint64 cache_policy(CacheHint hint) {
    return hint == CacheHint::kEvictFirst ? 0x12F0000000000000ull : hint == CacheHint::kEvictLast ? 0x14F0000000000000ull : 0;
}

// An operand has the same number in every form of the instruction, whether that uses it or not.
#define NAUTILUS_TENSOR_LOAD(rank, form, coordinates, rest, ...)                                                 \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" form \
                 " [%0], [%1, {" coordinates "}], [%2]" rest ";" ::"r"(shared),                                  \
                 "l"(map), "r"(barrier), "h"(blocks), "l"(cache_policy(kHint)), __VA_ARGS__                      \
                 : "memory")

#define NAUTILUS_DEFINE_TENSOR_COPIES(rank, load_coordinates, store_coordinates, ...)                                                  \
    template <CacheHint kHint, bool kIsMulticast>                                                                                      \
    NAUTILUS_DEVICE void tensor_load(uint32 shared, const TensorMap *map, uint32 barrier, const int(&at)[rank], uint16 blocks) {       \
        constexpr bool kHasHint = kHint != CacheHint::kDefault;                                                                        \
        if constexpr (kIsMulticast && kHasHint) {                                                                                      \
            NAUTILUS_TENSOR_LOAD(rank, ".multicast::cluster.L2::cache_hint", load_coordinates, ", %3, %4", __VA_ARGS__);               \
        } else if constexpr (kIsMulticast) {                                                                                           \
            NAUTILUS_TENSOR_LOAD(rank, ".multicast::cluster", load_coordinates, ", %3", __VA_ARGS__);                                  \
        } else if constexpr (kHasHint) {                                                                                               \
            NAUTILUS_TENSOR_LOAD(rank, ".L2::cache_hint", load_coordinates, ", %4", __VA_ARGS__);                                      \
        } else {                                                                                                                       \
            NAUTILUS_TENSOR_LOAD(rank, "", load_coordinates, "", __VA_ARGS__);                                                         \
        }                                                                                                                              \
    }                                                                                                                                  \
    NAUTILUS_DEVICE void tensor_store(const TensorMap *map, uint32 shared, const int(&at)[rank]) {                                     \
        asm volatile("cp.async.bulk.tensor." #rank "d.global.shared::cta.tile.bulk_group [%1, {" store_coordinates                     \
                     "}], [%0];" ::"r"(shared),                                                                                        \
                     "l"(map), __VA_ARGS__                                                                                             \
                     : "memory");                                                                                                      \
    }                                                                                                                                  \
    NAUTILUS_DEVICE void tensor_prefetch(const TensorMap *map, const int(&at)[rank]) {                                                 \
        const uint32 shared = 0;                                                                                                       \
        asm volatile("cp.async.bulk.prefetch.tensor." #rank "d.L2.global.tile [%1, {" store_coordinates "}];" ::"r"(shared), "l"(map), \
                     __VA_ARGS__                                                                                                       \
                     : "memory");                                                                                                      \
    }
NAUTILUS_DEFINE_TENSOR_COPIES(1, "%5", "%2", "r"(at[0]))
NAUTILUS_DEFINE_TENSOR_COPIES(2, "%5, %6", "%2, %3", "r"(at[0]), "r"(at[1]))
NAUTILUS_DEFINE_TENSOR_COPIES(3, "%5, %6, %7", "%2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]))
NAUTILUS_DEFINE_TENSOR_COPIES(4, "%5, %6, %7, %8", "%2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]))
NAUTILUS_DEFINE_TENSOR_COPIES(5, "%5, %6, %7, %8, %9", "%2, %3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]))
#undef NAUTILUS_DEFINE_TENSOR_COPIES
#undef NAUTILUS_TENSOR_LOAD

}  // namespace detail

#endif

// Brings a map into the cache for maps, before its first use.
NAUTILUS_DEVICE void tensor_map_prefetch(const TensorMap &map, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::check_tensor_map(&map, 0, site);
#else
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

// Starts a copy of the map's box whose first element is at AT (innermost coordinate first) to shared memory, 128 bytes aligned; BARRIER
// counts the box's bytes. Elements outside of the tensor, also at negative coordinates, become zero and count all the same. The box is
// dense, its rows swizzled by the address in shared memory as the map says. The innermost coordinate is a multiple of 16 bytes: any other
// is an illegal instruction (measured on an H200).
template <CacheHint kHint = CacheHint::kDefault, int kRank>
NAUTILUS_DEVICE void tensor_load(void *shared, const TensorMap &map, Mbarrier *barrier, const int (&at)[kRank],
                                 Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::tensor_load(shared, &map, barrier, at, kRank, site);
#else
    detail::tensor_load<kHint, false>(shared_address(shared), &map, shared_address(barrier), at, 0);
#endif
}

#if NAUTILUS_IS_EXACT_TARGET
// The same into every block of the cluster whose bit is set in BLOCKS, each at the same place of its shared memory, where the barrier at
// the same place counts the bytes. The emulator has clusters of one block.
template <CacheHint kHint = CacheHint::kDefault, int kRank>
NAUTILUS_DEVICE void tensor_load_multicast(void *shared, const TensorMap &map, Mbarrier *barrier, const int (&at)[kRank], uint16 blocks,
                                           Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    if (blocks != 1) emulated::fail("tensor_load_multicast to blocks that the cluster does not have", site);
    emulated::tensor_load(shared, &map, barrier, at, kRank, site);
#else
    detail::tensor_load<kHint, true>(shared_address(shared), &map, shared_address(barrier), at, blocks);
#endif
}
#endif

// Brings a box into L2.
template <int kRank>
NAUTILUS_DEVICE void tensor_prefetch(const TensorMap &map, const int (&at)[kRank], Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::check_tensor_map(&map, kRank, site);
#else
    detail::tensor_prefetch(&map, at);
#endif
}

// Starts a copy of a box from shared memory, 128 bytes aligned; elements outside of the tensor are dropped, but for those in the 16 bytes
// in which a row of the tensor ends: where its extent is no multiple of them, what lies behind it is overwritten. No coordinate is negative,
// and the innermost one is a multiple of 16 bytes: any other is an illegal instruction (both measured on an H200).
template <int kRank>
NAUTILUS_DEVICE void tensor_store(const TensorMap &map, const void *shared, const int (&at)[kRank], Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::tensor_store(&map, shared, at, kRank, site);
#else
    detail::tensor_store(&map, shared_address(shared), at);
#endif
}

// Starts a copy of BYTES, a multiple of 16, between addresses that are too; BARRIER counts them.
NAUTILUS_DEVICE void bulk_load(void *shared, const void *global, int bytes, Mbarrier *barrier, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::bulk_load(shared, global, bytes, barrier, site);
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
                 "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
#endif
}

NAUTILUS_DEVICE void bulk_store(void *global, const void *shared, int bytes, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::bulk_store(global, shared, bytes, site);
#else
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
                 "r"(shared_address(shared)), "r"(bytes)
                 : "memory");
#endif
}

// Brings BYTES into L2: weights, before the wait for what an earlier kernel writes.
NAUTILUS_DEVICE void bulk_prefetch(const void *global, int bytes) {
#ifndef NAUTILUS_EMULATED
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)), "r"(bytes) : "memory");
#endif
}

// Closes the group of stores that this thread has started since the last call.
NAUTILUS_DEVICE void bulk_commit() {
#ifdef NAUTILUS_EMULATED
    emulated::bulk_commit();
#else
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

// Waits until at most kGroupsInFlight of this thread's latest groups are not yet in global memory.
template <int kGroupsInFlight>
NAUTILUS_DEVICE void bulk_wait() {
#ifdef NAUTILUS_EMULATED
    emulated::bulk_wait(kGroupsInFlight, false);
#else
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kGroupsInFlight) : "memory");
#endif
}

// Waits until at most that many have not yet been read from shared memory. A thread does so before it ends.
template <int kGroupsInFlight>
NAUTILUS_DEVICE void bulk_wait_read() {
#ifdef NAUTILUS_EMULATED
    emulated::bulk_wait(kGroupsInFlight, true);
#else
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroupsInFlight) : "memory");
#endif
}

}  // namespace nautilus::device

#endif
