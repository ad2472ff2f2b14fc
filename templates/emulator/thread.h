// The state of threads, warps and barriers of a block.
#pragma once

#include <nautilus/device/emulated/runtime.h>

#include <vector>

#include "sanitizer.h"

namespace nautilus::emulated {

struct Stack;
struct Warp;

// A cp.async that has not been carried out yet.
struct PendingCopy {
    void *destination;
    const void *source;
    unsigned bytes;
    unsigned source_bytes;
    unsigned group;
    Site site;
};

// What a blocked thread waits for; the deadlock report reads it.
struct Wait {
    enum class Kind { kNothing, kBarrier, kCollective, kPause };

    Kind kind = Kind::kNothing;
    const char *name = nullptr;
    unsigned id_or_mask = 0;
    Site site = {};
};

struct Thread : ThreadView {
    Warp *warp = nullptr;
    Stack *stack = nullptr;  // null before the thread starts and after its end
    Thread *next_waiting = nullptr;
    bool finished = false;
    Wait wait;

    unsigned copy_groups = 0;  // committed so far
    std::vector<PendingCopy> copies;

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
};

}  // namespace nautilus::emulated
