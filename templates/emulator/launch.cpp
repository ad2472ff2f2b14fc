#include "launch.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "block.h"
#include "grid.h"
#include "lifetime.h"
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

// What launches share. A child of fork cannot use its parent's: that has threads which the child lacks, and locks that these may hold.
struct Machine {
    const pid_t process = getpid();
    std::mutex one_at_a_time;
    Workers workers;
};

class MachineOfProcess {
public:
    ~MachineOfProcess() {
        if (Machine *machine = machine_; machine && machine->process == getpid()) delete machine;
    }

    Machine &get() {
        Machine *known = machine_;
        while (!known || known->process != getpid()) {
            // A parent's machine is left as it is.
            auto made = std::make_unique<Machine>();
            if (machine_.compare_exchange_strong(known, made.get())) return *made.release();
        }
        return *known;
    }

private:
    std::atomic<Machine *> machine_{nullptr};
};

struct Job {
    const Launch &launch;
    Grid grid;
};

}  // namespace

Failure run(const Launch &launch) {
    Machine &machine = lasting<MachineOfProcess>().get();
    const std::lock_guard<std::mutex> lock(machine.one_at_a_time);
    Job job{launch, Grid(launch)};
    machine.workers.run(
        os_threads(launch),
        [](void *context, Block &block) { block.run(static_cast<Job *>(context)->launch, static_cast<Job *>(context)->grid); }, &job);
    Failure failure = job.grid.take_failure();
    // Then a launch behind it waits for it, and it for none.
    if (!failure && launch.is_dependent && !job.grid.has_waited())
        return {FailureKind::kMisuse, "all blocks have nothing to do, and none has called dependency_wait, which orders other launches"};
    return failure;
}

}  // namespace nautilus::emulated
