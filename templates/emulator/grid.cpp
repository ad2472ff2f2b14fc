#include "grid.h"

#include <numeric>
#include <utility>

#include "random.h"

namespace nautilus::emulated {

Grid::Grid(const Launch &launch) : blocks_(launch.blocks()), order_(launch.options.order) {
    if (order_ != Order::kRandom || blocks_ < 2) return;
    Random random(launch.options.seed);
    offset_ = random.next() % blocks_;
    stride_ = random.next() % blocks_;
    while (std::gcd(stride_, blocks_) != 1) stride_ = (stride_ + 1) % blocks_;
}

bool Grid::next(std::uint64_t &block) {
    if (stopped_.load(std::memory_order_relaxed)) return false;
    const std::uint64_t i = handed_out_.fetch_add(1, std::memory_order_relaxed);
    if (i >= blocks_) return false;
    switch (order_) {
        case Order::kFifo:
            block = i;
            break;
        case Order::kReverse:
            block = blocks_ - 1 - i;
            break;
        case Order::kRandom:
            block = static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * stride_ + offset_) % blocks_);
            break;
    }
    return true;
}

void Grid::stop(Failure failure) {
    const std::lock_guard<std::mutex> lock(failure_mutex_);
    if (!stopped_.exchange(true)) failure_ = std::move(failure);
}

}  // namespace nautilus::emulated
