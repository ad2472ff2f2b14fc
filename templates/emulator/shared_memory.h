// The dynamic shared memory of a block, between two guards.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace nautilus::emulated {

// A NaN in every floating-point type, and as an index out of any range.
constexpr unsigned char kPoison = 0xFF;

class SharedMemory {
public:
    // Makes room for BYTES, with unspecified contents. Returns false where memory ran out.
    bool resize(std::size_t bytes);

    unsigned char *data() const { return storage_.get() + kGuardBytes; }
    std::size_t bytes() const { return bytes_; }
    bool contains(const void *pointer, std::size_t bytes) const {
        // Below the start the difference wraps to more than any size.
        const std::size_t offset = static_cast<std::size_t>(static_cast<const unsigned char *>(pointer) - data());
        return offset <= bytes_ && bytes <= bytes_ - offset;
    }

    void poison();
    // Whether nothing was written just outside; mends what was.
    bool check_guards();

private:
    // As large as the alignment that swizzled tiles need, so that the memory between the guards has it too.
    static constexpr std::size_t kGuardBytes = 1024;

    struct Free {
        void operator()(unsigned char *pointer) const { std::free(pointer); }
    };

    void fill_guards();

    std::unique_ptr<unsigned char, Free> storage_;
    std::size_t capacity_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace nautilus::emulated
