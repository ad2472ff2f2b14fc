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

template <int kPosition, class Numbers>
struct NumberAt;
template <int kPosition, class... Numbers>
struct NumberAt<kPosition, Pack<Numbers...>> {
  using Type = typename TypeAt<kPosition, Numbers...>::Type;
};

// Elements, results and weights of an axis: from a pack where the problem has some that are not known at compile time.
template <class Problem, int kAxis, class Numbers = typename Problem::Inputs>
NAUTILUS_DEVICE constexpr auto input_of(int) -> typename NumberAt<kAxis, Numbers>::Type {
  return {};
}
template <class Problem, int kAxis>
NAUTILUS_DEVICE constexpr auto input_of(long) -> Static<Problem::kInputs[kAxis]> {
  return {};
}
template <class Problem, int kAxis, class Numbers = typename Problem::Outputs>
NAUTILUS_DEVICE constexpr auto output_of(int) -> typename NumberAt<kAxis, Numbers>::Type {
  return {};
}
template <class Problem, int kAxis>
NAUTILUS_DEVICE constexpr auto output_of(long) -> Static<Problem::kOutputs[kAxis]> {
  return {};
}
template <class Problem, int kAxis, class Numbers = typename Problem::Taps>
NAUTILUS_DEVICE constexpr auto taps_of(int) -> typename NumberAt<kAxis, Numbers>::Type {
  return {};
}
template <class Problem, int kAxis>
NAUTILUS_DEVICE constexpr auto taps_of(long) -> Static<Problem::kTaps[kAxis]> {
  return {};
}

// What one result takes along the last kLeft axes. Few weights are held in registers, many are read again.
template <class Problem, int kLeft, class T, class... Tables>
struct AxisTaps {
  using Index = typename Problem::Index;
  using Inner = AxisTaps<Problem, kLeft - 1, T, Tables...>;
  static constexpr int kAxes = Problem::kOutputsCount;
  static constexpr int kAxis = kAxes - kLeft;
  using Input = decltype(input_of<Problem, kAxis>(0));
  using Output = decltype(output_of<Problem, kAxis>(0));
  using Count = decltype(taps_of<Problem, kAxis>(0));
  static constexpr bool kIsCountKnown = Count::kIsStatic && Inner::kIsCountKnown;
  static constexpr int kTaps = static_cast<int>(Problem::kTaps[kAxis]);  // where that is known
  static constexpr int kAllTaps = kTaps * Inner::kAllTaps;
  static constexpr bool kIsUnrolled = kIsCountKnown && kAllTaps <= 16;
  static constexpr bool kHoldsWeights = Problem::kIsWeighted && kIsUnrolled;
  static constexpr int kTables = Problem::kIsWeighted ? 2 : 1;  // of an axis
  using First = typename TypeAt<kAxis * kTables, Tables...>::Type;
  using Weight = typename TypeAt<kAxis * kTables + kTables - 1, Tables...>::Type;

  Inner inner;
  Index result;
  int first;
  T weights[kHoldsWeights ? kTaps : 1];

  // Reads the tables for the result of number PLACE, counted over these axes.
  template <class A>
  NAUTILUS_DEVICE AxisTaps(const A &arguments, Index place)
      : inner(arguments, remainder(place, Inner::places(arguments))), result(divide(place, Inner::places(arguments))) {
    first = static_cast<int>(First::template apply<1>(arguments, coordinates<Index>(result))[0]);
    if constexpr (kHoldsWeights) {
      NAUTILUS_UNROLL
      for (int tap = 0; tap < kTaps; ++tap) weights[tap] = read_weight(arguments, tap);
    }
  }

  // Results along these axes.
  template <class A>
  NAUTILUS_DEVICE static constexpr auto places(const A &arguments) {
    using InnerPlaces = decltype(Inner::places(arguments));
    if constexpr (Output::kIsStatic && !kIsSame<InnerPlaces, Index>) {
      return Static<Output::kValue * InnerPlaces::kValue>();
    } else {
      return static_cast<Index>(static_cast<Index>(Output::get(arguments)) * static_cast<Index>(Inner::places(arguments)));
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
      at.values[kAxis + 1] = clamped(arguments, first);
      return inner.template sum<X, kVector>(arguments, at);
    } else {
      constexpr int kUnroll = kIsUnrolled ? kTaps : 1;
      const auto taps = Count::get(arguments);
      Vector<T, kVector> total{};
#pragma unroll kUnroll
      for (int tap = 0; tap < taps; ++tap) {
        at.values[kAxis + 1] = clamped(arguments, first + tap);
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
  template <class A>
  NAUTILUS_DEVICE static Index clamped(const A &arguments, int element) {
    const int last = static_cast<int>(Input::get(arguments)) - 1;
    return element < 0 ? 0 : element > last ? last : element;
  }
};

// Behind the last axis: one element.
template <class Problem, class T, class... Tables>
struct AxisTaps<Problem, 0, T, Tables...> {
  static constexpr int kAxes = Problem::kOutputsCount;
  static constexpr int kAllTaps = 1;
  static constexpr bool kIsCountKnown = true;
  using Index = typename Problem::Index;

  template <class A>
  NAUTILUS_DEVICE AxisTaps(const A &, Index) {}

  template <class A>
  NAUTILUS_DEVICE static constexpr Static<1> places(const A &) {
    return {};
  }
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
  const bool is_inside = place < static_cast<Index>(Taps::places(arguments)) && channel < channels;
  if constexpr (!Problem::kAreTablesKnown) {  // tables that are constants need no wait, and hold something
    device::dependency_wait();
    if (!is_inside) return;
  }
  const Taps taps(arguments, is_inside ? place : 0);
  if constexpr (Problem::kAreTablesKnown) device::dependency_wait();
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
