#include "launch.h"

#include <sched.h>

#include <algorithm>

#include "block.h"
#include "grid.h"
#include "workers.h"

namespace nautilus::emulated {
namespace {

// A block holds up to 64 MiB of stacks and two maps of the kernel's 65,530 for each; more OS threads than these gain little.
constexpr unsigned kMostOsThreads = 16;

// Waking an OS thread costs about as much as running so many threads of a short kernel.
constexpr std::uint64_t kThreadsWorthWaking = 2048;

// The cores that this process may use, which in a container are fewer than there are.
unsigned usable_cores() {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&cores), 1));
}

unsigned os_threads(const Launch &launch) {
    static const unsigned cores = usable_cores();
    const std::uint64_t allowed = launch.options.os_threads ? launch.options.os_threads : cores;
    const std::uint64_t useful = std::max<std::uint64_t>(launch.blocks() * launch.block_threads() / kThreadsWorthWaking, 1);
    return static_cast<unsigned>(std::min({allowed, useful, launch.blocks(), std::uint64_t{kMostOsThreads}}));
}

struct Job {
    const Launch &launch;
    Grid grid;
};

}  // namespace

Failure run(const Launch &launch) {
    static std::mutex one_at_a_time;
    static Workers workers;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    Job job{launch, Grid(launch)};
    workers.run(
        os_threads(launch),
        [](void *context, Block &block) { block.run(static_cast<Job *>(context)->launch, static_cast<Job *>(context)->grid); }, &job);
    return job.grid.take_failure();
}

}  // namespace nautilus::emulated
