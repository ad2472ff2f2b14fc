// The blocks of a launch, handed out to the OS threads that run them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "launch.h"

namespace nautilus::emulated {

class Grid {
public:
    explicit Grid(const Launch &launch);

    // Sets BLOCK to the linear index of the next block to run; false where there is none, or one has failed.
    bool next(std::uint64_t &block);
    // Stops the grid; the first failure is kept.
    void stop(Failure failure);
    Failure take_failure() { return std::move(failure_); }

    // A thread of a block has waited for the kernels ahead.
    void note_wait() { has_waited_.store(true, std::memory_order_relaxed); }
    bool has_waited() const { return has_waited_.load(std::memory_order_relaxed); }

    void enter() { ++running_; }
    void leave() { --running_; }
    // Whether another OS thread runs a block.
    bool others_run() const { return running_.load(std::memory_order_relaxed) > 1; }

private:
    std::uint64_t blocks_;
    Order order_;
    // The random order: block i is (i * stride + offset) modulo the number of blocks, which the stride has no factor in common with.
    std::uint64_t stride_ = 1;
    std::uint64_t offset_ = 0;
    std::atomic<std::uint64_t> handed_out_{0};
    std::atomic<int> running_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> has_waited_{false};
    std::mutex failure_mutex_;
    Failure failure_;
};

}  // namespace nautilus::emulated
