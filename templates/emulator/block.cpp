#include "block.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

#include "context.h"
#include "tensor_copy.h"

namespace nautilus::emulated {
namespace {

// Yields in a row, with nothing else happening in the block, until its threads are taken to wait for what never comes.
constexpr std::uint64_t kMostYieldsInVain = 1'000'000;

// In random order one switch in so many completes an asynchronous operation although threads could run.
constexpr unsigned kCompletionOdds = 16;

void reset_counts(Thread &thread) {
    thread.copy_groups = thread.bulk_groups = thread.product_groups = 0;
    thread.products = 0;
    thread.has_product_fence = false;
}

sanitizer::StackBounds stack_of_os_thread() {
    pthread_attr_t attributes;
    void *bottom = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
    return {bottom, bytes};
}

}  // namespace

Block::Block()
    : BlockView(),
      threads_(new Thread[kMostBlockThreads]),
      warps_(new Warp[kMostBlockThreads / device::kWarpThreads]),
      warpgroups_(new Warpgroup[kMostBlockThreads / device::kWarpThreads / kWarpsOfWarpgroup]),
      stacks_(*this) {}

// ---- blocks

void Block::run(const Launch &launch, Grid &grid) {
    grid.enter();
    caller_fiber_ = sanitizer::current_fiber();
    if (sanitizer::kWatchesAddresses) caller_stack_ = stack_of_os_thread();
    std::uint64_t linear_index;
    if (!prepare(launch, grid)) {
        grid.stop({FailureKind::kOutOfMemory, "no memory for the shared memory of a block"});
    } else {
        while (grid.next(linear_index)) {
            if (!run_block(linear_index)) grid.stop(std::move(failure_));
        }
    }
    grid.leave();
}

bool Block::prepare(const Launch &launch, Grid &grid) {
    launch_ = &launch;
    grid_ = &grid;
    extent = launch.block;
    grid_extent = launch.grid;
    thread_count_ = static_cast<unsigned>(launch.block_threads());
    number_threads();
    if (!shared_memory_.resize(launch.shared_bytes)) return false;
    shared = shared_memory_.data();
    shared_bytes = launch.shared_bytes;
    return true;
}

void Block::number_threads() {
    for (unsigned i = 0; i < thread_count_; ++i) {
        Thread &thread = threads_[i];
        thread.linear_index = i;
        thread.index = {i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y};
        thread.lane = i % device::kWarpThreads;
        thread.warp = &warps_[i / device::kWarpThreads];
    }
    for (unsigned first = 0; first < thread_count_; first += device::kWarpThreads) {
        const unsigned lanes = thread_count_ - first;
        Warp &warp = warps_[first / device::kWarpThreads];
        warp.number = first / device::kWarpThreads;
        warp.warpgroup = &warpgroups_[warp.number / kWarpsOfWarpgroup];
        warp.first_thread = &threads_[first];
        warp.lanes = lanes < device::kWarpThreads ? (1u << lanes) - 1 : device::kFullMask;
    }
}

bool Block::run_block(std::uint64_t linear_index) {
    index.x = static_cast<unsigned>(linear_index % grid_extent.x);
    index.y = static_cast<unsigned>(linear_index / grid_extent.x % grid_extent.y);
    index.z = static_cast<unsigned>(linear_index / grid_extent.x / grid_extent.y);
    random_ = Random(mix(options().seed) + linear_index);
    if (options().poison) shared_memory_.poison();
    failure_ = {};
    reset_threads();
    stacks_.begin_block();

    Stack *stack = stacks_.take();
    if (!stack) {
        failure_ = {FailureKind::kOutOfMemory, "no memory for the stack of a thread"};
        return false;
    }
    starting_ = take_ready();
    starting_on_ = stack;
    sanitizer::release(&block_starts_);
    switch_stack(nullptr, stack, starting_->fiber);
    sanitizer::acquire(&threads_end_);
    if (failure_) {
        abandon_threads();
    } else if (!shared_memory_.check_guards()) {
        failure_ = block_failure(FailureKind::kIllegalAddress, *this, "a write outside of the dynamic shared memory");
    } else {
        check_dependencies();
    }
    if (!failure_) {
        for (unsigned i = 0; i < thread_count_; ++i) sanitizer::destroy_fiber(threads_[i].fiber);
    }
    return !failure_;
}

void Block::reset_threads() {
    for (unsigned i = 0; i < thread_count_; ++i) {
        threads_[i].finished = false;
        threads_[i].fiber = sanitizer::create_fiber();
        ready_[i] = &threads_[i];
    }
    has_waited = is_idle = false;
    ready_first_ = 0;
    ready_count_ = live_ = thread_count_;
    yields_in_vain_ = 0;
    for (unsigned i = 0; i * device::kWarpThreads < thread_count_; ++i) {
        warps_[i].live = warps_[i].lanes;
        warps_[i].lanes_at_barrier = 0;
        warps_[i].warpgroup->clear();
    }
    mbarriers_.clear();
    // Arrivals that nobody waited for may be left over.
    for (Barrier &barrier : barriers_) barrier = {};
}

// After a failure threads are wherever they were.
void Block::abandon_threads() {
    if (sanitizer::kWatchesThreads) {  // in the name of each, what it has done comes before what the caller does next
        for (unsigned i = 0; i < thread_count_; ++i) {
            sanitizer::switch_to_fiber(threads_[i].fiber);
            sanitizer::release(&threads_end_);
        }
        sanitizer::switch_to_fiber(caller_fiber_);
        sanitizer::acquire(&threads_end_);
    }
    for (unsigned i = 0; i < thread_count_; ++i) {
        threads_[i].stack = nullptr;
        threads_[i].wait = {};
        threads_[i].copies.clear();
        threads_[i].stores.clear();
        reset_counts(threads_[i]);
    }
    for (unsigned i = 0; i * device::kWarpThreads < thread_count_; ++i) {
        for (Collective &collective : warps_[i].collectives) collective.arrived = 0;
        warps_[i].collectives_in_progress = 0;
        warps_[i].sums.clear();
    }
    asynchronous_.clear();
    stacks_.reset();
}

void Block::stop(Failure failure) {
    failure_ = std::move(failure);
    sanitizer::switch_to_fiber(caller_fiber_);
    sanitizer::before_switch(nullptr, caller_stack_);
    void *abandoned;
    nautilus_switch_context(&abandoned, caller_context_);
    __builtin_unreachable();
}

// ---- threads

void Block::stack_main() {
    sanitizer::after_switch(nullptr, nullptr);
    Block &block = this_block();
    block.run_threads(*block.starting_on_);
    __builtin_unreachable();
}

void Block::run_threads(Stack &own) {
    for (;;) {
        Thread &thread = *starting_;
        thread.stack = &own;
        own.top().thread = &thread;
        sanitizer::switch_to_fiber(thread.fiber);
        sanitizer::acquire(&block_starts_);
        launch_->kernel->run(launch_->arguments);
        sanitizer::release(&threads_end_);
        sanitizer::switch_to_fiber(caller_fiber_);
        check_finished(thread);
        thread.stack = nullptr;
        thread.finished = true;
        thread.warp->live &= ~(1u << thread.lane);
        --live_;
        yields_in_vain_ = 0;

        if (live_ == 0) check_units();
        Thread *next = take_ready();
        if (!next && live_ > 0) stop(deadlock_failure(*this));
        if (next && !next->stack && !sanitizer::kWatchesThreads) {
            starting_ = next;
            continue;
        }
        // The stack goes on here when it is next taken, with another thread, perhaps of another block.
        stacks_.give_back(&own);
        if (next) {
            resume(next, own);
        } else {
            switch_stack(&own, nullptr, caller_fiber_);
        }
    }
}

void Block::check_finished(Thread &thread) {
    if (!thread.copies.empty()) {
        const Site started = thread.copies.front().site;
        stop(thread_failure(FailureKind::kMisuse, *this, thread, "the thread ends with a cp.async in flight, started", started));
    }
    if (barriers_[kBlockBarrier].arrived > 0) {
        const Site waiting = barriers_[kBlockBarrier].waiting.first->wait.site;
        stop(thread_failure(FailureKind::kMisuse, *this, thread, "the thread ends while others wait at block_barrier", waiting));
    }
    for (const PendingStore &store : thread.stores) {
        if (store.is_read) continue;
        stop(thread_failure(FailureKind::kMisuse, *this, thread, "the thread ends while a store still reads shared memory, started",
                            store.site));
    }
    write_taken_stores(thread);
    for (const auto &sums : thread.warp->sums) {
        if (!sums->registers[thread.lane]) continue;
        const StartedProduct &product = thread.warp->warpgroup->products.back();
        stop(thread_failure(FailureKind::kMisuse, *this, thread, "the thread ends with a wgmma in flight, started", product.site));
    }
    reset_counts(thread);
}

// Nothing may outlive the block's shared memory.
void Block::check_units() {
    for (unsigned first = 0; first < thread_count_; first += kWarpsOfWarpgroup * device::kWarpThreads) {
        const Warpgroup &group = *threads_[first].warp->warpgroup;
        if (group.products.empty()) continue;
        stop(block_failure(FailureKind::kMisuse, *this,
                           "not all warps of a warpgroup have started the wgmma in " + to_string(group.products.front().site)));
    }
    if (asynchronous_.empty()) return;
    const DeferredOperation &operation = asynchronous_.front();
    stop(block_failure(FailureKind::kMisuse, *this,
                       "the block ends with a " + std::string(operation.name) + " in flight, started in " + to_string(operation.site)));
}

void Block::check_dependencies() {
    if (has_waited) {
        grid_->note_wait();
    } else if (launch_->is_dependent && !is_idle) {
        failure_ = block_failure(FailureKind::kMisuse, *this,
                                 "no thread has called dependency_wait, although the launch may begin before those ahead of it have ended");
    }
}

Thread *Block::take_ready() {
    while (!asynchronous_.empty()) {
        const bool at_random = options().order == Order::kRandom && random_.below(kCompletionOdds) == 0;
        if (ready_count_ > 0 && !at_random) break;
        complete_asynchronous();
    }
    if (ready_count_ == 0) return nullptr;
    --ready_count_;
    switch (options().order) {
        case Order::kReverse:
            return ready_[(ready_first_ + ready_count_) & kRingMask];
        case Order::kRandom:
            std::swap(ready_[ready_first_ & kRingMask], ready_[(ready_first_ + random_.below(ready_count_ + 1)) & kRingMask]);
            break;
        case Order::kFifo:
            break;
    }
    return ready_[ready_first_++ & kRingMask];
}

void Block::complete_asynchronous() {
    const unsigned count = static_cast<unsigned>(asynchronous_.size());
    asynchronous_.complete_one(options().order == Order::kRandom ? random_.below(count) : 0);
    yields_in_vain_ = 0;
}

void Block::resume(Thread *next, Stack &own) {
    Stack *stack = next->stack;
    if (!stack) {
        stack = stacks_.take();
        if (!stack) stop({FailureKind::kOutOfMemory, "no memory for the stack of a thread"});
        starting_ = next;
        starting_on_ = stack;
    }
    switch_stack(&own, stack, next->fiber);
}

// Null stands for the stack of the OS thread.
void Block::switch_stack(Stack *from, Stack *to, void *fiber) {
    void *fake_stack = nullptr;
    sanitizer::switch_to_fiber(fiber);
    sanitizer::before_switch(&fake_stack, to ? to->bounds() : caller_stack_);
    nautilus_switch_context(from ? &from->context : &caller_context_, to ? to->context : caller_context_);
    sanitizer::after_switch(fake_stack, nullptr);
}

void Block::wake_all(ThreadQueue &queue) {
    for (Thread *thread = queue.first; thread;) {
        Thread *next = thread->next_waiting;
        wake(thread);
        thread = next;
    }
    queue = {};
}

void Block::wait(Thread &self, const Wait &wait) {
    self.wait = wait;
    yields_in_vain_ = 0;
    Thread *next = take_ready();
    if (!next) stop(deadlock_failure(*this));
    // An asynchronous operation may have woken the thread itself.
    if (next != &self) resume(next, *self.stack);
    self.wait.kind = Wait::Kind::kNothing;
}

void Block::let_others_run(Thread &self) {
    if (options().order == Order::kReverse) {  // the newest of the ring runs first: this thread must go to the other end
        ready_[--ready_first_ & kRingMask] = &self;
        ++ready_count_;
    } else {
        wake(&self);
    }
    Thread *next = take_ready();
    if (next != &self) resume(next, *self.stack);
}

void Block::after_rendezvous(Thread &self) {
    if (options().order == Order::kRandom) let_others_run(self);
}

void Block::yield(Thread &self, Site site) {
    self.wait = {Wait::Kind::kPause, "pause", 0, site};
    // Once every runnable thread has had its turn in vain, it is time for the units, or for other blocks.
    if (++yields_in_vain_ > 2 * live_) {
        if (!asynchronous_.empty()) {
            complete_asynchronous();
        } else if (grid_->others_run()) {
            sched_yield();
        } else if (yields_in_vain_ > kMostYieldsInVain) {
            stop(deadlock_failure(*this));
        }
    }
    let_others_run(self);
    self.wait.kind = Wait::Kind::kNothing;
}

}  // namespace nautilus::emulated
