// Barriers of a block.

#include <cstdio>
#include <string>

#include "block.h"

namespace nautilus::emulated {
namespace {

bool same(Site a, Site b) { return a.line == b.line && a.file == b.file; }

// A barrier instruction is one of a whole warp, so all its lanes must come to the same one.
void check_convergence(const Thread &thread, unsigned id, Site site) {
    Warp &warp = *thread.warp;
    if (warp.lanes_at_barrier == 0) {
        warp.barrier_id = id;
        warp.barrier_site = site;
    } else if (warp.barrier_id != id || !same(warp.barrier_site, site)) {
        fail(FailureKind::kMisuse,
             "the lanes of a warp diverge at a barrier: others wait in " + to_string(warp.barrier_site) + ", this one", site);
    }
    if (++warp.lanes_at_barrier == static_cast<unsigned>(__builtin_popcount(warp.lanes))) warp.lanes_at_barrier = 0;
}

}  // namespace

void barrier(unsigned id, unsigned threads, bool waits, Site site) {
    const sanitizer::Ignore runtime;
    Block &block = this_block();
    Thread &self = this_thread();
    const bool is_whole_block = id == kBlockBarrier;
    if (is_whole_block) {
        threads = block.thread_count();
        if (block.live_threads() != threads) fail(FailureKind::kMisuse, "block_barrier after other threads have finished", site);
    } else if (threads % device::kWarpThreads != 0 || threads > block.thread_count()) {
        fail(FailureKind::kMisuse, "a barrier of " + std::to_string(threads) + " threads, neither whole warps nor of the block,", site);
    }
    if (id >= kBarriers) fail(FailureKind::kMisuse, "a named barrier has an id from 1 to 15; this one is " + std::to_string(id), site);

    Barrier &barrier = block.barrier(id);
    if (barrier.arrived > 0 && barrier.expected != threads) {
        fail(FailureKind::kMisuse,
             "threads disagree on the size of a barrier: " + std::to_string(barrier.expected) + " and " + std::to_string(threads), site);
    }
    if (waits) check_convergence(self, id, site);
    barrier.expected = threads;
    const unsigned round = barrier.meeting.arrive();
    if (++barrier.arrived == threads) {
        barrier.arrived = 0;
        barrier.meeting.complete();
        block.wake_all(barrier.waiting);
        if (waits) block.after_rendezvous(self);
    } else if (waits) {
        barrier.waiting.push(&self);
        block.wait(self, {Wait::Kind::kBarrier, is_whole_block ? "block_barrier" : "named_barrier", id, site});
    }
    if (waits) barrier.meeting.leave(round);
}

void yield(Site site) {
    const sanitizer::Ignore runtime;
    this_block().yield(this_thread(), site);
}

}  // namespace nautilus::emulated
