#include "stack.h"

#include <sys/mman.h>

#include <cstdint>

#include "block.h"
#include "context.h"

namespace nautilus::emulated {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kStacksPerRegion = 32;
// One stack more than is used, since a region is aligned within its mapping.
constexpr std::size_t kRegionBytes = (kStacksPerRegion + 1) * kStackBytes;

}  // namespace

StackPool::~StackPool() {
    for (void *region : regions_) munmap(region, kRegionBytes);
}

bool StackPool::grow() {
    void *region = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return false;
    regions_.push_back(region);
    auto address = reinterpret_cast<std::uintptr_t>(region);
    address = (address + kStackBytes - 1) & ~(kStackBytes - 1);
    for (std::size_t i = 0; i < kStacksPerRegion; ++i) {
        auto stack = std::make_unique<Stack>();
        stack->base = reinterpret_cast<char *>(address + i * kStackBytes);
        // Without the guard an overflow would go unnoticed, which is no reason not to run.
        (void)mprotect(stack->base, kGuardBytes, PROT_NONE);
        prepare(*stack, stacks_.size());
        idle_.push_back(stack.get());
        stacks_.push_back(std::move(stack));
    }
    return true;
}

void StackPool::prepare(Stack &stack, std::size_t number) {
    // Equal frames of stacks that are 64 KiB apart would fall into one set of the cache: shift each by a number of lines of its own.
    constexpr std::size_t kColours = 61, kLineBytes = 64;
    char *usable_end = reinterpret_cast<char *>(&stack.top()) - (number % kColours) * kLineBytes;
    usable_end -= reinterpret_cast<std::uintptr_t>(usable_end) % kLineBytes;
    sanitizer::allow(stack.base + kGuardBytes, kStackBytes - kGuardBytes);  // what abandoned frames have left
    stack.top() = {nullptr, &block_};
    stack.context = make_context(usable_end, &Block::stack_main);
}

void StackPool::reset() {
    idle_.clear();
    resting_.clear();
    for (std::size_t i = 0; i < stacks_.size(); ++i) {
        prepare(*stacks_[i], i);
        idle_.push_back(stacks_[i].get());
    }
}

}  // namespace nautilus::emulated
