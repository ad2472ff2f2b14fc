#include "shared_memory.h"

#include <algorithm>
#include <cstring>

#include "sanitizer.h"

namespace nautilus::emulated {

bool SharedMemory::resize(std::size_t bytes) {
    if (storage_) sanitizer::allow(storage_.get(), capacity_ + 2 * kGuardBytes);
    if (!storage_ || bytes > capacity_) {
        const std::size_t capacity = (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
        storage_.reset(static_cast<unsigned char *>(std::aligned_alloc(kGuardBytes, capacity + 2 * kGuardBytes)));
        if (!storage_) return false;
        capacity_ = capacity;
    }
    bytes_ = bytes;
    fill_guards();
    sanitizer::forbid(data() - kGuardBytes, kGuardBytes);
    sanitizer::forbid(data() + bytes_, kGuardBytes);
    return true;
}

void SharedMemory::fill_guards() {
    std::memset(data() - kGuardBytes, kPoison, kGuardBytes);
    std::memset(data() + bytes_, kPoison, kGuardBytes);
}

void SharedMemory::poison() { std::memset(data(), kPoison, bytes_); }

bool SharedMemory::check_guards() {
    if (sanitizer::kWatchesAddresses) return true;
    const auto is_intact = [](const unsigned char *guard) {
        return std::all_of(guard, guard + kGuardBytes, [](unsigned char byte) { return byte == kPoison; });
    };
    if (is_intact(data() - kGuardBytes) && is_intact(data() + bytes_)) return true;
    fill_guards();
    return false;
}

}  // namespace nautilus::emulated
