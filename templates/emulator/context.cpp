#include "context.h"

#ifndef __x86_64__
#error "the emulator switches stacks in x86-64 assembly"
#endif

// System V ABI: a function preserves rbx, rbp and r12 to r15; all else is the caller's to save, and the control words of the
// floating-point units stay as they are, since kernels do not change them.
asm(R"(
.text
.globl nautilus_switch_context
.hidden nautilus_switch_context
.type nautilus_switch_context, @function
nautilus_switch_context:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size nautilus_switch_context, . - nautilus_switch_context
)");

namespace nautilus::emulated {

void *make_context(void *top, void (*entry)()) {
    constexpr int kSavedRegisters = 6;
    void **slot = static_cast<void **>(top);
    // A function expects the stack 8 bytes past a multiple of 16, as a call leaves it; the zero there also ends a debugger's backtrace.
    *--slot = nullptr;
    *--slot = reinterpret_cast<void *>(entry);
    for (int i = 0; i < kSavedRegisters; ++i) *--slot = nullptr;
    return slot;
}

}  // namespace nautilus::emulated
