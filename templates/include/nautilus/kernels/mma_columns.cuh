// Columns of results by mma.sync and by wgmma, which leave a lane two neighbouring ones of every eight.
#pragma once

#include <nautilus/device/device.cuh>

namespace nautilus::kernels {

// Gives each lane neighbouring columns of its rows, VECTOR of them: of 2, what mma gives; of 4, lanes that differ in bit 0 exchange half of
// what they hold; of 8, those that differ in bit 1 too. Of each two columns a lane holds kHeld words.
template <int kVector, int kPairs, class T, int kHeld>
NAUTILUS_DEVICE void exchange_columns(T (&sums)[2 * kPairs][kHeld]) {
  struct Half {
    T values[kPairs][kHeld];
  };
  NAUTILUS_UNROLL
  for (int bit = 1; 2 * bit < kVector; bit *= 2) {
    const bool is_second = (device::lane_index() & bit) != 0;
    Half half;
    NAUTILUS_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const int first = i / bit * 2 * bit + i % bit;
      NAUTILUS_UNROLL
      for (int e = 0; e < kHeld; ++e) half.values[i][e] = is_second ? sums[first][e] : sums[first + bit][e];
    }
    half = device::shuffle_xor(half, bit);
    NAUTILUS_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const int first = i / bit * 2 * bit + i % bit;
      NAUTILUS_UNROLL
      for (int e = 0; e < kHeld; ++e) {  // no choice of a place: that would not be a register
        sums[first][e] = is_second ? half.values[i][e] : sums[first][e];
        sums[first + bit][e] = is_second ? sums[first + bit][e] : half.values[i][e];
      }
    }
  }
}

}  // namespace nautilus::kernels
