// What kernel text sees of the emulator: a few structs and functions, no system header, so that it compiles fast.
// The definitions are in templates/emulator and are compiled once.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus::emulated {

using device::Site;

struct Index3 {
    unsigned x, y, z;
};

// The part of a thread that kernel text reads directly.
struct ThreadView {
    Index3 index;
    unsigned linear_index;
    unsigned lane;
};

// The part of a block that kernel text reads directly, and what it notes about itself.
struct BlockView {
    Index3 index;
    Index3 extent;
    Index3 grid_extent;
    unsigned char *shared;
    unsigned shared_bytes;
    bool has_waited;  // a thread has, for the kernels ahead
    bool is_idle;     // a thread has left, since the block has nothing to do
};

// A kernel as a function of its argument block.
struct KernelEntry {
    const char *name;
    void (*run)(const void *arguments);
    unsigned argument_bytes;
};

// Makes a kernel known to the emulated driver when the image is loaded.
struct KernelRegistration {
    explicit KernelRegistration(const KernelEntry &kernel);

    const KernelEntry &entry;
    KernelRegistration *next;
};

// Every emulated thread runs on a stack of this size, aligned to it, whose highest bytes are a StackTop.
constexpr unsigned long kStackBytes = 64 * 1024;

struct StackTop {
    ThreadView *thread;
    BlockView *block;
};

// Found from the stack pointer: thread-local storage would not do, since a thread may block on one call and resume on another stack.
NAUTILUS_DEVICE const StackTop &stack_top() {
    unsigned long stack_pointer;
    asm("movq %%rsp, %0" : "=r"(stack_pointer));
    return *reinterpret_cast<const StackTop *>((stack_pointer | (kStackBytes - 1)) + 1 - sizeof(StackTop));
}

NAUTILUS_DEVICE const ThreadView &current_thread() { return *stack_top().thread; }
NAUTILUS_DEVICE const BlockView &current_block() { return *stack_top().block; }

// A launch that may begin before those ahead have ended fails where a block notes neither, or no block has waited.
NAUTILUS_DEVICE void note_dependency_wait() { stack_top().block->has_waited = true; }
NAUTILUS_DEVICE void note_idle_block() { stack_top().block->is_idle = true; }

// Stops the launch with an error of the calling thread.
[[noreturn]] void fail(const char *message, Site site);
// Stops the launch: ADDRESS is not aligned for an access of BYTES.
[[noreturn]] void fail_misaligned(const char *operation, const void *address, unsigned bytes, Site site);

// Barrier ID; 0 is that of the whole block, whatever THREADS says. A thread that does not wait arrives and goes on.
void barrier(unsigned id, unsigned threads, bool waits, Site site);

// Lets other threads run; returns at once where no other thread can.
void yield(Site site);

// Combines what the lanes of MASK deposited: LANES[i] is the payload of lane i. Runs once, on the stack of the last lane.
using Combine = void (*)(void **lanes, unsigned mask);

// Waits until every lane of MASK has called with the same NAME, COMBINE and SITE, then returns with the payloads combined.
void rendezvous(unsigned mask, const char *name, void *payload, Combine combine, Site site);

// cp.async of BYTES, of which the last BYTES - SOURCE_BYTES become zero.
void copy_async(void *destination, const void *source, unsigned bytes, unsigned source_bytes, Site site);
void copy_async_commit();
void copy_async_wait(unsigned groups_in_flight);

// Work of an asynchronous unit, with what it needs to know by value: the thread that started it may be gone when it is done.
struct DeferredOperation {
    void (*run)(void *payload);
    const char *name = "operation";
    Site site = {"", 0};
    alignas(64) unsigned char payload[192];
};
// Does the operation at once (eager), or when no thread can run, and in random order at any time before (lazy).
void defer(const DeferredOperation &operation);

// Offset of POINTER in the dynamic shared memory; fails where it is outside.
unsigned shared_offset(const void *pointer, Site site);
// Checks that BYTES at POINTER are in the dynamic shared memory.
void check_shared(const void *pointer, unsigned bytes, const char *operation, Site site);

NAUTILUS_DEVICE void check_alignment(const char *operation, const void *address, unsigned bytes, Site site) {
    if (__builtin_expect((reinterpret_cast<unsigned long>(address) & (bytes - 1)) != 0, 0))
        fail_misaligned(operation, address, bytes, site);
}

}  // namespace nautilus::emulated
