// Clusters: blocks that run at once and reach each other's shared memory. From sm_90 on; before it, and in the emulator, a cluster is one
// block.
#pragma once

#include <nautilus/device/barrier.cuh>
#include <nautilus/device/mbarrier.cuh>
#include <nautilus/device/platform.cuh>
#include <nautilus/device/shared_memory.cuh>

namespace nautilus::device {

// Every thread of every block of the cluster waits for every other and sees its writes.
NAUTILUS_DEVICE void cluster_barrier(Site site = current_site()) {
#if defined(NAUTILUS_EMULATED) || !NAUTILUS_HAS_SM90
    block_barrier(site);
#else
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// The same in two steps that order no memory but for mbarriers that are initialised, and fenced, before the first: a thread arrives, and later
// waits until every thread of the cluster has. A barrier that orders all writes waits for those to global memory too.
NAUTILUS_DEVICE void cluster_arrive() {
#if !defined(NAUTILUS_EMULATED) && NAUTILUS_HAS_SM90
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

NAUTILUS_DEVICE void cluster_wait(Site site = current_site()) {
#if defined(NAUTILUS_EMULATED) || !NAUTILUS_HAS_SM90
    block_barrier(site);
#else
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Reads the float that lies in block RANK where SHARED lies in this one, between two cluster barriers.
NAUTILUS_DEVICE float load_shared_at(const float *shared, int rank, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    if (rank != 0) emulated::fail("load_shared_at a block that the cluster does not have", site);
    return *shared;
#elif !NAUTILUS_HAS_SM90
    return *shared;
#else
    float value;
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %1, %2;\n"
        "ld.shared::cluster.f32 %0, [there];\n"
        "}"
        : "=f"(value)
        : "r"(shared_address(shared)), "r"(rank)
        : "memory");
    return value;
#endif
}

// The same of 16 bytes that are aligned to that: of what lies side by side, a fourth of the requests.
template <typename Vec>
NAUTILUS_DEVICE Vec load_shared_vector_at(const Vec *shared, int rank, Site site = current_site()) {
  static_assert(sizeof(Vec) == 16, "one access");
#ifdef NAUTILUS_EMULATED
  if (rank != 0) emulated::fail("load_shared_vector_at a block that the cluster does not have", site);
  return *shared;
#elif !NAUTILUS_HAS_SM90
  return *shared;
#else
  struct alignas(16) Words {
    uint32 words[4];
  } value;
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %4, %5;\n"
      "ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [there];\n"
      "}"
      : "=r"(value.words[0]), "=r"(value.words[1]), "=r"(value.words[2]), "=r"(value.words[3])
      : "r"(shared_address(shared)), "r"(rank)
      : "memory");
  return bit_cast<Vec>(value);
#endif
}

#if NAUTILUS_HAS_SM90

// Writes 16 bytes to the place of block RANK where SHARED lies in this one, aligned to that. The barrier that lies there where BARRIER lies in
// this one counts them, and who has waited for it sees them. A kernel that does this has NAUTILUS_CLUSTER, be it of one block: without a
// cluster the instruction is an illegal one. The emulator has clusters of one block.
NAUTILUS_DEVICE void store_shared_async(float *shared, const float (&values)[4], Mbarrier *barrier, int rank, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    if (rank != 0) emulated::fail("store_shared_async at a block that the cluster does not have", site);
    emulated::store_async(shared, values, sizeof values, barrier, site);
#else
    asm volatile(
        "{\n"
        ".reg .b32 there, barrier;\n"
        "mapa.shared::cluster.u32 there, %0, %6;\n"
        "mapa.shared::cluster.u32 barrier, %1, %6;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [there], {%2, %3, %4, %5}, [barrier];\n"
        "}" ::"r"(shared_address(shared)),
        "r"(shared_address(barrier)), "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(rank)
        : "memory");
#endif
}

// The number of this block in its cluster.
NAUTILUS_DEVICE int cluster_rank() {
#ifdef NAUTILUS_EMULATED
    return 0;
#else
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
#endif
}

// How many blocks the cluster has.
NAUTILUS_DEVICE int cluster_blocks() {
#ifdef NAUTILUS_EMULATED
    return 1;
#else
    int blocks;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
#endif
}

// Counts this thread as arrived at the barrier that lies in block RANK where BARRIER lies in this one. Its reads of shared memory are done
// before; what it wrote is not ordered for other blocks, since that would wait for all of its memory accesses.
NAUTILUS_DEVICE void mbarrier_arrive_at(Mbarrier *barrier, int rank, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    if (rank != 0) emulated::fail("mbarrier_arrive_at a block that the cluster does not have", site);
    mbarrier_arrive(barrier, site);
#else
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
        "}" ::"r"(shared_address(barrier)),
        "r"(rank)
        : "memory");
#endif
}

#endif

}  // namespace nautilus::device
