// Work of asynchronous units: done at once (eager), or as late as it may be (lazy), when what forgot to wait for it goes wrong.
#pragma once

#include <nautilus/device/emulated/runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "sanitizer.h"
#include "thread.h"

namespace nautilus::emulated {

// Moves the bytes of a cp.async.
void make(const PendingCopy &copy);

// Operations of a block's units that complete by themselves, whatever its threads do.
class AsynchronousQueue {
public:
    bool empty() const { return operations_.empty(); }
    std::size_t size() const { return operations_.size(); }
    const DeferredOperation &front() const { return operations_.front().operation; }
    // COPIES are made before the operation.
    void push(const DeferredOperation &operation, std::vector<PendingCopy> copies = {}) {
        operations_.push_back({operation, std::move(copies)});
    }
    void clear() { operations_.clear(); }

    // Carries out one operation; CHOICE says which, and units keep no order among themselves.
    void complete_one(std::size_t choice) {
        const sanitizer::Ignore unit;
        Entry entry = std::move(operations_[choice % operations_.size()]);
        operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(choice % operations_.size()));
        for (const PendingCopy &copy : entry.copies) make(copy);
        entry.operation.run(entry.operation.payload);
    }

private:
    struct Entry {
        DeferredOperation operation;
        std::vector<PendingCopy> copies;
    };

    std::vector<Entry> operations_;
};

}  // namespace nautilus::emulated
