// Resampling along some axes by tables: each result is a weighted sum of neighbouring elements, or one of them.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// The type of position K in a list.
template <int kPosition, class First, class... Rest>
struct TypeAt {
  using Type = typename TypeAt<kPosition - 1, Rest...>::Type;
};
template <class First, class... Rest>
struct TypeAt<0, First, Rest...> {
  using Type = First;
};

// What one result takes along the last kLeft axes. Few weights are held in registers, many are read again.
template <class Problem, int kLeft, class T, class... Tables>
struct AxisTaps {
  using Index = typename Problem::Index;
  using Inner = AxisTaps<Problem, kLeft - 1, T, Tables...>;
  static constexpr int kAxes = Problem::kOutputsCount;
  static constexpr int kAxis = kAxes - kLeft;
  static constexpr int kTaps = static_cast<int>(Problem::kTaps[kAxis]);
  static constexpr int kAllTaps = kTaps * Inner::kAllTaps;
  static constexpr bool kIsUnrolled = kAllTaps <= 16;
  static constexpr bool kHoldsWeights = Problem::kIsWeighted && kIsUnrolled;
  static constexpr int kTables = Problem::kIsWeighted ? 2 : 1;  // of an axis
  using Places = Static<Problem::kOutputs[kAxis] * Inner::Places::kValue>;
  using First = typename TypeAt<kAxis * kTables, Tables...>::Type;
  using Weight = typename TypeAt<kAxis * kTables + kTables - 1, Tables...>::Type;

  Inner inner;
  Index result;
  int first;
  T weights[kHoldsWeights ? kTaps : 1];

  // Reads the tables for the result of number PLACE, counted over these axes.
  template <class A>
  NAUTILUS_DEVICE AxisTaps(const A &arguments, Index place)
      : inner(arguments, remainder(place, typename Inner::Places())), result(divide(place, typename Inner::Places())) {
    first = static_cast<int>(First::template apply<1>(arguments, coordinates<Index>(result))[0]);
    if constexpr (kHoldsWeights) {
      NAUTILUS_UNROLL
      for (int tap = 0; tap < kTaps; ++tap) weights[tap] = read_weight(arguments, tap);
    }
  }

  template <class A>
  NAUTILUS_DEVICE T read_weight(const A &arguments, int tap) const {
    return Weight::template apply<1>(arguments, coordinates<Index>(result, tap))[0];
  }

  // Adds up X along these axes; the places along the axes before are in AT.
  template <class X, int kVector, class A>
  NAUTILUS_DEVICE Vector<T, kVector> sum(const A &arguments, Coordinates<Index, kAxes + 2> &at) const {
    if constexpr (!Problem::kIsWeighted) {
      at.values[kAxis + 1] = clamped(first);
      return inner.template sum<X, kVector>(arguments, at);
    } else {
      constexpr int kUnroll = kIsUnrolled ? kTaps : 1;
      Vector<T, kVector> total{};
#pragma unroll kUnroll
      for (int tap = 0; tap < kTaps; ++tap) {
        at.values[kAxis + 1] = clamped(first + tap);
        const Vector<T, kVector> values = inner.template sum<X, kVector>(arguments, at);
        T weight;
        if constexpr (kHoldsWeights) {
          weight = weights[tap];
        } else {
          weight = read_weight(arguments, tap);
        }
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) total[lane] = device::multiply_add(weight, values[lane], total[lane]);
      }
      return total;
    }
  }

  NAUTILUS_DEVICE void locate(Coordinates<Index, kAxes + 2> &at) const {
    at.values[kAxis + 1] = result;
    inner.locate(at);
  }

 private:
  NAUTILUS_DEVICE static Index clamped(int element) {
    constexpr int kLast = static_cast<int>(Problem::kInputs[kAxis]) - 1;
    return element < 0 ? 0 : element > kLast ? kLast : element;
  }
};

// Behind the last axis: one element.
template <class Problem, class T, class... Tables>
struct AxisTaps<Problem, 0, T, Tables...> {
  static constexpr int kAxes = Problem::kOutputsCount;
  static constexpr int kAllTaps = 1;
  using Index = typename Problem::Index;
  using Places = Static<1>;

  template <class A>
  NAUTILUS_DEVICE AxisTaps(const A &, Index) {}

  template <class X, int kVector, class A>
  NAUTILUS_DEVICE Vector<T, kVector> sum(const A &arguments, const Coordinates<Index, kAxes + 2> &at) const {
    return X::template apply<kVector>(arguments, at);
  }
  NAUTILUS_DEVICE void locate(Coordinates<Index, kAxes + 2> &) const {}
};

// X at (row, places of the elements, channel); EPILOGUE at (row, places of the results, channel), its parameter is the sum. TABLES are for
// each axis the first element of a result, and its weights where there are any.
template <class Problem, class Schedule, class X, class Epilogue, class... Tables, class A>
NAUTILUS_DEVICE void resize(const A &arguments) {
  using Index = typename Problem::Index;
  using T = typename X::Result;
  using Taps = AxisTaps<Problem, Problem::kOutputsCount, T, Tables...>;
  constexpr int kAxes = Problem::kOutputsCount;
  constexpr int kVector = Schedule::kVector;
  constexpr int kRows = Schedule::kRows;
  constexpr int kPlacesBlock = Schedule::kThreads / Schedule::kLanes;
  static_assert(sizeof...(Tables) == kAxes * (Problem::kIsWeighted ? 2 : 1), "tables for every axis");

  const Index channels = static_cast<Index>(Problem::Channels::get(arguments));
  const Index rows = static_cast<Index>(Problem::Rows::get(arguments));
  const int channel_blocks = static_cast<int>(ceil_divide(channels, Schedule::kLanes * kVector));
  const int thread = device::thread_index().x;
  const int block = device::block_index().x;
  const Index place = static_cast<Index>(block / channel_blocks) * kPlacesBlock + thread / Schedule::kLanes;
  const Index channel = (static_cast<Index>(block % channel_blocks) * Schedule::kLanes + thread % Schedule::kLanes) * kVector;
  const Index first_row = (static_cast<Index>(device::block_index().z) * device::grid_extent().y + device::block_index().y) * kRows;
  const bool is_inside = place < Taps::Places::kValue && channel < channels;
  const Taps taps(arguments, is_inside ? place : 0);  // tables are constants: nothing to wait for
  device::dependency_wait();
  if (!is_inside) return;

  Vector<T, kVector> sums[kRows];
  Coordinates<Index, kAxes + 2> at;
  at.values[kAxes + 1] = channel;
  NAUTILUS_UNROLL
  for (int row = 0; row < kRows; ++row) {
    at.values[0] = first_row + row;
    if (first_row + row < rows) sums[row] = taps.template sum<X, kVector>(arguments, at);
  }
  device::dependency_trigger();
  taps.locate(at);
  NAUTILUS_UNROLL
  for (int row = 0; row < kRows; ++row) {
    at.values[0] = first_row + row;
    if (first_row + row < rows) Epilogue::template apply<kVector>(arguments, at, sums[row]);
  }
}

}  // namespace nautilus::kernels
