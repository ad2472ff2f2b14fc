// What the twins of wgmma.cuh need of the emulator.
#pragma once

#include <nautilus/device/emulated/matrices.h>

namespace nautilus::emulated {

// One product of a warpgroup, as each of its threads asks for it.
struct WarpgroupProduct {
    unsigned long long a;  // descriptors, as the instruction takes them
    unsigned long long b;
    const unsigned *a_registers;  // the lane's part of A, where that does not come from shared memory; else null
    int columns;
    TensorType type;
    bool is_a_transposed;  // not k, but m or n is contiguous
    bool is_b_transposed;
    bool accumulates;
};

void warpgroup_fence();
// SUMS are the tensor cores' until a wait for the product has returned.
void warpgroup_product(float *sums, const WarpgroupProduct &product, Site site);
void warpgroup_commit();
void warpgroup_wait(int groups_in_flight, Site site);

}  // namespace nautilus::emulated
