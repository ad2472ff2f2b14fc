// One launch of a kernel over a grid.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <nautilus/device/emulated/runtime.h>

#include "failure.h"
#include "options.h"

namespace nautilus::emulated {

struct Launch {
    const KernelEntry *kernel;
    Index3 grid;
    Index3 block;
    unsigned shared_bytes;
    const void *arguments;
    Options options;
    bool is_dependent = false;  // it may begin before the launch ahead of it has ended

    std::uint64_t blocks() const { return std::uint64_t{grid.x} * grid.y * grid.z; }
    std::uint64_t block_threads() const { return std::uint64_t{block.x} * block.y * block.z; }
};

// Runs the launch to its end, or to its first failure. One launch runs at a time.
Failure run(const Launch &launch);

}  // namespace nautilus::emulated
