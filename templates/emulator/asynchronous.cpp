// cp.async, and the queue of units that complete by themselves.

#include "asynchronous.h"

#include <nautilus/device/emulated/mbarrier.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "block.h"
#include "mbarrier.h"

namespace nautilus::emulated {
namespace {

// In the name of the thread that has started it.
void carry_out(const PendingCopy &copy) {
    const sanitizer::Watch accesses_of_the_kernel;
    make(copy);
}

}  // namespace

void make(const PendingCopy &copy) {
    std::memcpy(copy.destination, copy.source, copy.source_bytes);
    std::memset(static_cast<char *>(copy.destination) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

void check_shared(const void *pointer, unsigned bytes, const char *operation, Site site) {
    if (!this_block().shared_memory().contains(pointer, bytes)) {
        fail(FailureKind::kIllegalAddress, std::string(operation) + " outside of the dynamic shared memory", site);
    }
}

unsigned shared_offset(const void *pointer, Site site) {
    check_shared(pointer, 0, "an address", site);
    return static_cast<unsigned>(static_cast<const unsigned char *>(pointer) - this_block().shared);
}

void copy_async(void *destination, const void *source, unsigned bytes, unsigned source_bytes, Site site) {
    const sanitizer::Ignore runtime;
    check_shared(destination, bytes, "cp.async to", site);
    check_alignment("cp.async to shared memory", destination, bytes, site);
    if (source_bytes > bytes) fail(FailureKind::kMisuse, "cp.async with more source bytes than bytes", site);
    if (source_bytes > 0) check_alignment("cp.async from global memory", source, bytes, site);
    const Options &options = this_block().options();
    Thread &self = this_thread();
    const PendingCopy copy = {destination, source, bytes, source_bytes, self.copy_groups, site};
    if (!options.lazy) {
        carry_out(copy);
        return;
    }
    // Reading before the wait, or while the place still held what another thread needs, now gives a NaN.
    if (options.poison) {
        const sanitizer::Watch accesses_of_the_kernel;
        std::memset(destination, kPoison, bytes);
    }
    self.copies.push_back(copy);
}

void copy_async_commit() { ++this_thread().copy_groups; }

void copy_async_wait(unsigned groups_in_flight) {
    const sanitizer::Ignore runtime;
    Thread &self = this_thread();
    if (self.copies.empty()) return;
    // As late as may be: after whatever the other threads can do without this one.
    this_block().let_others_run(self);
    std::size_t kept = 0;
    for (const PendingCopy &copy : self.copies) {
        if (copy.group + groups_in_flight < self.copy_groups) {
            carry_out(copy);
        } else {
            self.copies[kept++] = copy;
        }
    }
    self.copies.resize(kept);
}

void copy_async_arrive(void *barrier, Site site) {
    struct Arrival {
        unsigned barrier;
        Site site;
    };
    const sanitizer::Ignore runtime;
    Thread &self = this_thread();
    const unsigned offset = check_mbarrier(barrier, "cp_async_arrive", site);
    if (self.copies.empty()) {
        // The copies, if there were any, were made in this thread's name.
        this_block().mbarriers().find(offset)->meeting.arrive();
        complete_arrival(this_block(), offset, site);
        return;
    }
    const Arrival arrival = {offset, site};
    DeferredOperation operation = {};
    operation.run = [](void *payload) {
        Arrival arrival;
        std::memcpy(&arrival, payload, sizeof arrival);
        complete_arrival(this_block(), arrival.barrier, arrival.site);
    };
    operation.name = "cp_async_arrive";
    operation.site = site;
    std::memcpy(operation.payload, &arrival, sizeof arrival);
    this_block().asynchronous().push(operation, std::exchange(self.copies, {}));
}

void defer(const DeferredOperation &operation) {
    const sanitizer::Ignore runtime;
    if (this_block().options().lazy) {
        this_block().asynchronous().push(operation);
    } else {
        DeferredOperation now = operation;
        now.run(now.payload);
    }
}

}  // namespace nautilus::emulated
