// Why a launch failed, and the text that says so.
#pragma once

#include <string>

#include <nautilus/device/emulated/runtime.h>

namespace nautilus::emulated {

class Block;
struct Thread;

enum class FailureKind { kNone, kDeadlock, kMisaligned, kIllegalAddress, kMisuse, kOutOfMemory };

struct Failure {
    FailureKind kind = FailureKind::kNone;
    std::string text;

    explicit operator bool() const { return kind != FailureKind::kNone; }
};

// "nautilus/kernels/gemm.cuh:77".
std::string to_string(Site site);

// An error that no thread in particular has made.
Failure block_failure(FailureKind kind, const Block &block, const std::string &message);

// An error of one thread: where it is, MESSAGE, and the place in kernel text.
Failure thread_failure(FailureKind kind, const Block &block, const Thread &thread, const std::string &message, Site site);

// What each group of threads waits for, when none can run.
Failure deadlock_failure(Block &block);

// Stops the launch with an error of the calling thread.
[[noreturn]] void fail(FailureKind kind, const std::string &message, Site site);

}  // namespace nautilus::emulated
