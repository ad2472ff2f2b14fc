// The state of threads, warps and barriers of a block.
#pragma once

#include <nautilus/device/emulated/runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "sanitizer.h"

namespace nautilus::emulated {

struct Stack;
struct Sums;
struct Warp;
struct Warpgroup;

// A cp.async that has not been carried out yet.
struct PendingCopy {
    void *destination;
    const void *source;
    unsigned bytes;
    unsigned source_bytes;
    unsigned group;
    Site site;
};

// A bulk copy to global memory that is not finished: what it reads may still change, then what it writes may still be unwritten.
struct PendingStore {
    bool is_box;
    bool is_read;
    unsigned group;
    Site site;
    alignas(8) unsigned char copy[128];  // of a box: which one
    void *global;                        // of a run of bytes: from where to where
    unsigned shared;
    unsigned bytes;
    std::vector<unsigned char> data;  // once it has been read
};

// What a blocked thread waits for; the deadlock report reads it.
struct Wait {
    enum class Kind { kNothing, kBarrier, kMbarrier, kCollective, kPause };

    Kind kind = Kind::kNothing;
    const char *name = nullptr;
    unsigned id_or_mask = 0;  // of an mbarrier: its place in shared memory
    Site site = {};
    unsigned parity = 0;
};

struct Thread : ThreadView {
    Warp *warp = nullptr;
    Stack *stack = nullptr;  // null before the thread starts and after its end
    Thread *next_waiting = nullptr;
    bool finished = false;
    Wait wait;

    unsigned copy_groups = 0;  // committed so far
    std::vector<PendingCopy> copies;
    unsigned bulk_groups = 0;
    std::vector<PendingStore> stores;

    std::uint64_t products = 0;   // of its warpgroup, started so far
    unsigned product_groups = 0;  // committed so far
    bool has_product_fence = false;

    void *fiber = nullptr;  // of ThreadSanitizer
};

struct ThreadQueue {
    Thread *first = nullptr;
    Thread *last = nullptr;

    void push(Thread *thread) {
        thread->next_waiting = nullptr;
        (first ? last->next_waiting : first) = thread;
        last = thread;
    }
};

struct Barrier {
    unsigned expected = 0;
    unsigned arrived = 0;
    ThreadQueue waiting;
    sanitizer::Meeting meeting;
};

// A rendezvous in progress; free while nobody has arrived.
struct Collective {
    unsigned mask = 0;
    unsigned arrived = 0;
    const char *name = nullptr;
    Combine combine = nullptr;
    Site site = {};
    sanitizer::Meeting meeting;
};

struct Warp {
    unsigned number = 0;
    Thread *first_thread = nullptr;
    unsigned lanes = 0;  // that exist
    unsigned live = 0;   // that have not finished
    // A lane waits in one of them at most, so there are never more than lanes, and each lane has one payload.
    Collective collectives[device::kWarpThreads];
    int collectives_in_progress = 0;
    void *payloads[device::kWarpThreads] = {};

    // Barrier instructions are for whole warps: where its lanes are at the current one.
    unsigned lanes_at_barrier = 0;
    unsigned barrier_id = 0;
    Site barrier_site = {};

    Warpgroup *warpgroup = nullptr;
    std::vector<std::unique_ptr<Sums>> sums;  // that tensor cores are adding to
};

}  // namespace nautilus::emulated
