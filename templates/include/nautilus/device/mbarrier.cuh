// Barriers in shared memory that count arrivals of threads and bytes of asynchronous copies (mbarrier). From sm_90 on.
//
// A phase ends when the arrivals that it expects have come and no bytes are outstanding; the next expects as many arrivals again. Phases
// are numbered from 0, and a thread waits for one by its parity: for the n'th use of a stage in a ring, n % 2. A wait for the parity of
// the phase before the current one returns at once, so a producer's first wait for free stages is for parity 1.
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/shared_memory.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/mbarrier.h>
#endif

#if NAUTILUS_HAS_SM90

namespace nautilus::device {

struct alignas(8) Mbarrier {
    uint64 bits;
};

// Prepares a barrier whose phases expect ARRIVALS arrivals, at least 1. One thread does it, then mbarrier_init_fence and a block barrier.
NAUTILUS_DEVICE void mbarrier_init(Mbarrier *barrier, int arrivals, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::mbarrier_init(barrier, arrivals, site);
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
#endif
}

// Makes initialised barriers visible to bulk copies and to the other blocks of a cluster.
NAUTILUS_DEVICE void mbarrier_init_fence() {
#ifndef NAUTILUS_EMULATED
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Ends the life of a barrier, whose memory may then be used for something else.
NAUTILUS_DEVICE void mbarrier_invalidate(Mbarrier *barrier, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::mbarrier_invalidate(barrier, site);
#else
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}

// Counts this thread as arrived; what it wrote before is visible to those that wait for the phase.
NAUTILUS_DEVICE void mbarrier_arrive(Mbarrier *barrier, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::mbarrier_arrive(barrier, 0, site);
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}

// Lets the phase also wait for BYTES of copies, less than 2^20 in all.
NAUTILUS_DEVICE void mbarrier_expect(Mbarrier *barrier, int bytes, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::mbarrier_expect(barrier, bytes, site);
#else
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
#endif
}

// Both: expects BYTES, then counts this thread as arrived.
NAUTILUS_DEVICE void mbarrier_arrive_expect(Mbarrier *barrier, int bytes, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::mbarrier_arrive(barrier, bytes, site);
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
#endif
}

// Whether the phase of PARITY, 0 or 1, has ended. It may wait a while for that, and may say no too early: call it in a loop.
NAUTILUS_DEVICE bool mbarrier_try_wait(Mbarrier *barrier, int parity, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    return emulated::mbarrier_try_wait(barrier, parity, site);
#else
    uint32 has_ended;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(has_ended)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
    return has_ended != 0;
#endif
}

// Waits until the phase of PARITY has ended.
NAUTILUS_DEVICE void mbarrier_wait(Mbarrier *barrier, int parity, Site site = current_site()) {
    while (!mbarrier_try_wait(barrier, parity, site)) {
    }
}

// Lets the barrier count one arrival, of those that it expects, when all cp.async that this thread has started before are done. These are
// then waited for at the barrier alone, not with cp_async_wait.
NAUTILUS_DEVICE void cp_async_arrive(Mbarrier *barrier, Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::copy_async_arrive(barrier, site);
#else
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}

// Orders what this thread has written to shared memory, or has seen others write, before later bulk copies from there and wgmma.
NAUTILUS_DEVICE void async_proxy_fence() {
#ifndef NAUTILUS_EMULATED
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace nautilus::device

#endif
