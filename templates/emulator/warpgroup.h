// Products of warpgroups in flight.
#pragma once

#include <nautilus/device/emulated/warpgroup.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace nautilus::emulated {

constexpr int kWarpsOfWarpgroup = 4;
constexpr int kRowsOfWarp = 16;

// The sums of one warp while they are the tensor cores': from the first product that adds to them until none is left.
struct Sums {
    float *registers[device::kWarpThreads] = {};  // of each lane; null until it has started the first product
    int columns = 0;
    std::uint64_t first_product = 0;
    unsigned products = 0;      // that the warp has not waited for
    std::vector<float> values;  // 16 rows
};

// One product, and how far each warp is with it. A warp's rows are computed when that warp waits, or when all have started it.
struct StartedProduct {
    WarpgroupProduct what;
    unsigned group;
    Site site;
    unsigned lanes[kWarpsOfWarpgroup] = {};
    bool is_done[kWarpsOfWarpgroup] = {};
    bool is_waited_for[kWarpsOfWarpgroup] = {};
    Sums *sums[kWarpsOfWarpgroup] = {};
    std::vector<unsigned> a_registers;  // of all threads, four each
};

struct Warpgroup {
    std::deque<StartedProduct> products;
    std::uint64_t first = 0;  // number of the first of them
    std::vector<std::unique_ptr<Sums>> idle;

    void clear() {
        products.clear();
        first = 0;
    }
};

}  // namespace nautilus::emulated
