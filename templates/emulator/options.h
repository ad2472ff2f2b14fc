// How kernels are to run.
#pragma once

#include <nautilus/emulator.h>

#include <cstdint>

namespace nautilus::emulated {

enum class Order { kFifo = NAUTILUS_ORDER_FIFO, kReverse = NAUTILUS_ORDER_REVERSE, kRandom = NAUTILUS_ORDER_RANDOM };

// See nautilus_emulator_options.
struct Options {
    Order order = Order::kFifo;
    bool lazy = false;
    bool poison = false;
    unsigned os_threads = 0;
    std::uint64_t seed = 0;
};

// Returns null and sets OPTIONS, or what is wrong with GIVEN.
const char *read_options(const nautilus_emulator_options &given, Options &options);

}  // namespace nautilus::emulated
