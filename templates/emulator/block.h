// The executor of one block: its threads, their schedule and their shared memory. Each OS thread has one and runs block after block on it.
#pragma once

#include <cstdint>
#include <memory>

#include "asynchronous.h"
#include "failure.h"
#include "grid.h"
#include "launch.h"
#include "mbarrier.h"
#include "random.h"
#include "sanitizer.h"
#include "shared_memory.h"
#include "stack.h"
#include "thread.h"
#include "warpgroup.h"

namespace nautilus::emulated {

constexpr unsigned kMostBlockThreads = 1024;
constexpr unsigned kBarriers = 16;
constexpr unsigned kBlockBarrier = 0;  // the one of __syncthreads

class Block : public BlockView {
public:
    Block();

    // Runs blocks of the grid until there are no more.
    void run(const Launch &launch, Grid &grid);

    const Options &options() const { return launch_->options; }
    unsigned thread_count() const { return thread_count_; }
    unsigned live_threads() const { return live_; }
    Thread *threads() { return threads_.get(); }
    Barrier &barrier(unsigned id) { return barriers_[id]; }
    Mbarriers &mbarriers() { return mbarriers_; }
    AsynchronousQueue &asynchronous() { return asynchronous_; }
    const SharedMemory &shared_memory() const { return shared_memory_; }
    // Memory for what runs without a switch of threads in between.
    template <typename T>
    T &workspace() {
        static_assert(sizeof(T) <= sizeof workspace_, "a workspace holds it");
        return *reinterpret_cast<T *>(workspace_);
    }

    // Makes a thread runnable.
    void wake(Thread *thread) { ready_[(ready_first_ + ready_count_++) & kRingMask] = thread; }
    void wake_all(ThreadQueue &queue);
    // Runs other threads until this one has been woken.
    void wait(Thread &self, const Wait &wait);
    // Runs the other runnable threads once, and comes back.
    void let_others_run(Thread &self);
    // The same for a thread that waits for something in memory, which another block may have to bring.
    void yield(Thread &self, Site site);
    // Whoever completes a rendezvous stays ahead of those it woke, except in random order.
    void after_rendezvous(Thread &self);
    // For decisions that are open in random order.
    unsigned random_below(unsigned bound) { return random_.below(bound); }
    // Ends the block.
    [[noreturn]] void stop(Failure failure);

    // What a stack runs: one thread after another, forever.
    [[noreturn]] static void stack_main();

private:
    static constexpr unsigned kRingMask = kMostBlockThreads - 1;
    static_assert((kMostBlockThreads & kRingMask) == 0, "the ring has a power of two of places");

    bool prepare(const Launch &launch, Grid &grid);
    bool run_block(std::uint64_t linear_index);
    void number_threads();
    void reset_threads();
    void abandon_threads();
    Thread *take_ready();
    void complete_asynchronous();
    void resume(Thread *next, Stack &own);
    void switch_stack(Stack *from, Stack *to, void *fiber);
    void run_threads(Stack &own);
    void check_finished(Thread &thread);
    void check_units();
    void check_dependencies();

    alignas(64) unsigned char workspace_[64 * 1024];

    const Launch *launch_ = nullptr;
    Grid *grid_ = nullptr;
    Failure failure_;
    SharedMemory shared_memory_;
    Random random_;

    std::unique_ptr<Thread[]> threads_;
    std::unique_ptr<Warp[]> warps_;
    unsigned thread_count_ = 0;
    unsigned live_ = 0;
    std::unique_ptr<Warpgroup[]> warpgroups_;
    Barrier barriers_[kBarriers];
    Mbarriers mbarriers_;
    AsynchronousQueue asynchronous_;

    // The runnable threads, each at most once.
    Thread *ready_[kMostBlockThreads];
    unsigned ready_first_ = 0;
    unsigned ready_count_ = 0;
    std::uint64_t yields_in_vain_ = 0;

    StackPool stacks_;
    Thread *starting_ = nullptr;  // the thread that the stack being switched to is to run
    Stack *starting_on_ = nullptr;
    void *caller_context_ = nullptr;

    // For sanitizers: the calling OS thread, and events that order a block's threads after what is before the block, and before what is
    // after.
    void *caller_fiber_ = nullptr;
    sanitizer::StackBounds caller_stack_;
    char block_starts_ = 0, threads_end_ = 0;
};

// The block and the thread that the calling stack runs.
inline Block &this_block() { return *static_cast<Block *>(stack_top().block); }
inline Thread &this_thread() { return *static_cast<Thread *>(stack_top().thread); }

}  // namespace nautilus::emulated
