// What the sanitizers must be told of fibers. The runtime itself is compiled without instrumentation, so that they watch kernels only; it is
// compiled with NAUTILUS_SANITIZE_THREAD or NAUTILUS_SANITIZE_ADDRESS where the kernels are compiled with -fsanitize=thread or =address.
#pragma once

#include <cstddef>

#ifdef NAUTILUS_SANITIZE_THREAD
// Source: sanitizer/tsan_interface.h of compiler-rt.
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

#ifdef NAUTILUS_SANITIZE_ADDRESS
// Source: sanitizer/common_interface_defs.h and asan_interface.h of compiler-rt.
extern "C" {
void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, std::size_t bytes);
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **old_bottom, std::size_t *old_bytes);
void __asan_poison_memory_region(const volatile void *address, std::size_t bytes);
void __asan_unpoison_memory_region(const volatile void *address, std::size_t bytes);
}
#endif

namespace nautilus::emulated::sanitizer {

// ---- ThreadSanitizer: a fiber of its for every emulated thread; events order what is before a release before what is after an acquire

#ifdef NAUTILUS_SANITIZE_THREAD

constexpr bool kWatchesThreads = true;
constexpr unsigned kNoSynchronisation = 1;  // a switch of fibers orders nothing

inline void *current_fiber() { return __tsan_get_current_fiber(); }
inline void *create_fiber() { return __tsan_create_fiber(0); }
inline void destroy_fiber(void *fiber) { __tsan_destroy_fiber(fiber); }
inline void switch_to_fiber(void *fiber) { __tsan_switch_to_fiber(fiber, kNoSynchronisation); }
inline void acquire(void *event) { __tsan_acquire(event); }
inline void release(void *event) { __tsan_release(event); }

inline void ignore_begin() {
    AnnotateIgnoreReadsBegin("", 0);
    AnnotateIgnoreWritesBegin("", 0);
}
inline void ignore_end() {
    AnnotateIgnoreWritesEnd("", 0);
    AnnotateIgnoreReadsEnd("", 0);
}

#else

constexpr bool kWatchesThreads = false;

inline void *current_fiber() { return nullptr; }
inline void *create_fiber() { return nullptr; }
inline void destroy_fiber(void *) {}
inline void switch_to_fiber(void *) {}
inline void acquire(void *) {}
inline void release(void *) {}
inline void ignore_begin() {}
inline void ignore_end() {}

#endif

// While one exists, accesses of the calling fiber are not looked at: the runtime's own, through memcpy, new and delete.
class Ignore {
public:
    Ignore() { ignore_begin(); }
    ~Ignore() { ignore_end(); }
};

// Within the scope of an Ignore: accesses that are the kernel's after all.
class Watch {
public:
    Watch() { ignore_end(); }
    ~Watch() { ignore_begin(); }
};

// Events of a meeting of threads: what each did before its arrival comes before what any does after the completion.
struct Meeting {
    char arrivals = 0;
    // A thread may notice a completion when the next round has begun, though not when that is complete: rounds take turns at two events.
    char completions[2] = {0, 0};
    unsigned round = 0;

    // Returns the round, for leave.
    unsigned arrive() {
        release(&arrivals);
        return round;
    }
    void complete() {
        acquire(&arrivals);
        release(&completions[round++ % 2]);
    }
    void leave(unsigned arrived_in) { acquire(&completions[arrived_in % 2]); }
};

// ---- AddressSanitizer: the stacks, and memory that nothing may touch

struct StackBounds {
    const void *bottom = nullptr;
    std::size_t bytes = 0;
};

#ifdef NAUTILUS_SANITIZE_ADDRESS

constexpr bool kWatchesAddresses = true;

// Before and after a switch to the stack with these bounds. A null FAKE_STACK says that the stack being left will not be used again.
inline void before_switch(void **fake_stack, const StackBounds &to) { __sanitizer_start_switch_fiber(fake_stack, to.bottom, to.bytes); }
inline void after_switch(void *fake_stack, StackBounds *from) {
    __sanitizer_finish_switch_fiber(fake_stack, from ? &from->bottom : nullptr, from ? &from->bytes : nullptr);
}
inline void forbid(const void *address, std::size_t bytes) { __asan_poison_memory_region(address, bytes); }
inline void allow(const void *address, std::size_t bytes) { __asan_unpoison_memory_region(address, bytes); }

#else

constexpr bool kWatchesAddresses = false;

inline void before_switch(void **, const StackBounds &) {}
inline void after_switch(void *, StackBounds *) {}
inline void forbid(const void *, std::size_t) {}
inline void allow(const void *, std::size_t) {}

#endif

}  // namespace nautilus::emulated::sanitizer
