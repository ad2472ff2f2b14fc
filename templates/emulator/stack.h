// The stacks on which emulated threads run.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <nautilus/device/emulated/runtime.h>

#include "sanitizer.h"

namespace nautilus::emulated {

class Block;

// A stack runs one thread to its end, then the next. A thread that blocks keeps its stack, so a block needs as many stacks as threads
// wait at once, and a kernel that never waits needs one.
struct Stack {
    char *base = nullptr;     // a multiple of kStackBytes; the lowest page is a guard
    void *context = nullptr;  // where it was left

    sanitizer::StackBounds bounds() const { return {base, kStackBytes}; }
    StackTop &top() const { return *reinterpret_cast<StackTop *>(base + kStackBytes - sizeof(StackTop)); }
};

// Hands out idle stacks of one block and makes new ones at need.
class StackPool {
public:
    explicit StackPool(Block &block) : block_(block) {}
    ~StackPool();
    StackPool(const StackPool &) = delete;
    StackPool &operator=(const StackPool &) = delete;

    // Returns an idle stack, or null where memory ran out.
    Stack *take() {
        if (idle_.empty() && !grow()) return nullptr;
        Stack *stack = idle_.back();
        idle_.pop_back();
        return stack;
    }
    void give_back(Stack *stack) { (sanitizer::kWatchesThreads ? resting_ : idle_).push_back(stack); }

    // Under ThreadSanitizer a stack is used once in a block: two threads that run one after the other on it, in no order that the kernel has
    // made, would seem to race for it.
    void begin_block() {
        idle_.insert(idle_.end(), resting_.begin(), resting_.end());
        resting_.clear();
    }

    // Makes every stack idle and fresh, whatever it was doing.
    void reset();

private:
    bool grow();
    void prepare(Stack &stack, std::size_t number);

    Block &block_;
    std::vector<void *> regions_;
    std::vector<std::unique_ptr<Stack>> stacks_;
    std::vector<Stack *> idle_;
    std::vector<Stack *> resting_;
};

}  // namespace nautilus::emulated
