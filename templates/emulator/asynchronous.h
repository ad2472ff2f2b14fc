// Work of asynchronous units: done at once (eager), or as late as it may be (lazy), when what forgot to wait for it goes wrong.
#pragma once

#include <cstddef>
#include <vector>

#include <nautilus/device/emulated/runtime.h>

#include "sanitizer.h"

namespace nautilus::emulated {

// Operations of a block's units that complete by themselves, whatever its threads do.
class AsynchronousQueue {
public:
    bool empty() const { return operations_.empty(); }
    std::size_t size() const { return operations_.size(); }
    void push(const DeferredOperation &operation) { operations_.push_back(operation); }
    void clear() { operations_.clear(); }

    // Carries out one operation; CHOICE says which, and units keep no order among themselves.
    void complete_one(std::size_t choice) {
        DeferredOperation operation = operations_[choice % operations_.size()];
        operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(choice % operations_.size()));
        operation.run(operation.payload);
    }

private:
    std::vector<DeferredOperation> operations_;
};

}  // namespace nautilus::emulated
