// Statistics of the rows of a result that an epilogue leaves for whoever normalises them: of every part of so many neighbouring columns the mean
// and the sum of squares of the deviations from it.
//
// Both are taken in two passes over what threads hold, and sets are joined by their means: a sum of squares alone would cancel where the mean
// is large against the deviation.
#pragma once

#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>

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

// Hands the statistics of kColumns columns from FIRST_COLUMN on of a row, of which each lane of four holds a quarter of every part in VALUES,
// to the sink.
template <int kColumns, class Sink, class A>
NAUTILUS_DEVICE void finish_parts_of_row(const A &arguments, const Sink &sink, const typename Sink::Row &row, int first_column, const float *values) {
  constexpr int kPart = Sink::kPartColumns, kOwn = kPart / 4;
  static_assert(kColumns % kPart == 0, "whole parts");
  NAUTILUS_UNROLL
  for (int part = 0; part < kColumns / kPart; ++part) {
    const Moments moments = joined_over_lanes<4>(moments_of<kOwn>(values + part * kOwn), static_cast<float>(kOwn));
    const int column = first_column + part * kPart;
    if (device::lane_index() % 4 == 0 && row.is_inside && sink.has_column(arguments, column)) {
      Sink::Statistics::template apply<1>(arguments, sink.at(row, column / kPart), Splat<float>{moments.mean}, Splat<float>{moments.squares});
    }
  }
}

}  // namespace nautilus::kernels
