// Statistics of the rows of a result that an epilogue leaves for whoever normalises them: of every part of so many neighbouring columns the mean
// and the sum of squares of the deviations from it.
//
// Both are taken in two passes over what threads hold, and sets are joined by their means: a sum of squares alone would cancel where the mean
// is large against the deviation.
//
// The product that normalises the rows joins them (row_moments.cuh). A kernel of their own that did so would cost what one costs that reads
// the rows again: 5.1 and 5.1 µs for 128×768×768, 55.8 and 55.7 for 6304×768×3072 on an H200.
#pragma once

#include <nautilus/core/splat.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/product_tile.cuh>

namespace nautilus::kernels {

struct Moments {
  float mean, squares;
};

template <int kCount>
NAUTILUS_DEVICE Moments moments_of(const float *values) {
  float sum = 0.0f, squares = 0.0f;
  NAUTILUS_UNROLL
  for (int i = 0; i < kCount; ++i) sum += values[i];
  const float mean = sum * (1.0f / kCount);
  NAUTILUS_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const float deviation = values[i] - mean;
    squares = device::multiply_add(deviation, deviation, squares);
  }
  return {mean, squares};
}

// Those of kLanes neighbouring lanes that hold COUNT values each. Source: Chan, Golub and LeVeque, "Algorithms for Computing the Sample
// Variance" (1983), formulas 2.1, of sets of one size.
template <int kLanes>
NAUTILUS_DEVICE Moments joined_over_lanes(Moments own, float count) {
  NAUTILUS_UNROLL
  for (int bit = 1; bit < kLanes; bit *= 2) {
    const Moments other = device::shuffle_xor(own, bit);
    const float distance = other.mean - own.mean;
    own = {0.5f * own.mean + 0.5f * other.mean, own.squares + other.squares + distance * distance * (0.5f * count)};
    count *= 2.0f;
  }
  return own;
}

// What a lane keeps of the part that it is at, of each of kRows rows: a quarter, the others have the rest.
template <class Sink, int kRows>
struct KeptPart {
  static constexpr int kOwn = greatest(4, Sink::kPartColumns) / 4;
  float values[kRows][kOwn] = {};

  // Keeps results that begin at the NUMBER-th of a lane's in a row.
  template <int kWidth, class T>
  NAUTILUS_DEVICE void keep(int row, int number, const Vector<T, kWidth> &results) {
    if constexpr (Sink::kPartColumns > 0) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kWidth; ++i) values[row][number % kOwn + i] = results[i];
    }
  }
  // Hands the statistics of the part that FIRST_COLUMN lies in to the sink, where the lane's results before NUMBER end it. All lanes call it.
  template <class A>
  NAUTILUS_DEVICE void finish(const A &arguments, const Sink &sink, const typename Sink::Row &of, int row, int number, int first_column) {
    if constexpr (Sink::kPartColumns > 0) {
      if (number % kOwn != 0) return;
      const int column = first_column + (number / kOwn - 1) * Sink::kPartColumns;
      const Moments moments = joined_over_lanes<4>(moments_of<kOwn>(values[row]), static_cast<float>(kOwn));
      if (device::lane_index() % 4 == 0 && of.is_inside && sink.has_column(arguments, column)) {
        Sink::Statistics::template apply<1>(arguments, sink.at(of, column / Sink::kPartColumns), Splat<float>{moments.mean},
                                            Splat<float>{moments.squares});
      }
    }
  }
};

}  // namespace nautilus::kernels
