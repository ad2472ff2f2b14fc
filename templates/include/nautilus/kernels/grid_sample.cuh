// Sampling of images at run-time places: nearest, linear or cubic along each spatial dimension.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>
#include <nautilus/kernels/indices.cuh>
#include <nautilus/kernels/places.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// A place between two borders: what lies beyond one is mirrored there, as often as it takes.
template <class T>
NAUTILUS_DEVICE T reflected(T place, T low, T high) {
  const T span = high - low;
  if (!(span > T(0))) return low;
  const bool is_before = place < low;
  const T beyond = is_before ? low - place : place - high;
  const T turns = device::trunc(beyond / span);
  const T rest = beyond - turns * span;
  const bool is_odd = turns - T(2) * device::floor(turns / T(2)) != T(0);
  const T mirrored = is_before != is_odd ? low + rest : high - rest;
  return is_before || place > high ? mirrored : place;
}

// Weight of an element at a distance. Source: Keys, Cubic convolution interpolation (1981), equation 15, with the coefficient of GridSample.
template <class T>
NAUTILUS_DEVICE T cubic_weight(T distance) {
  constexpr T kA = T(-0.75);
  const T near = ((kA + T(2)) * distance - (kA + T(3))) * distance * distance + T(1);
  const T far = ((kA * distance - T(5) * kA) * distance + T(8) * kA) * distance - T(4) * kA;
  return distance <= T(1) ? near : far;
}

// Elements of an image along a dimension: from the arguments where the problem has some that are not known at compile time.
template <class Problem, int kAxis, class A, class Sizes = typename Problem::Sizes>
NAUTILUS_DEVICE int size_of(const A &arguments, int) {
  return static_cast<int>(number_of<kAxis>(arguments, Sizes()));
}
template <class Problem, int kAxis, class A>
NAUTILUS_DEVICE constexpr int size_of(const A &, long) {
  return static_cast<int>(Problem::kSizes[kAxis]);
}

// What a sample takes along one dimension.
template <class Problem, class T>
struct SampledAxis {
  using Place = typename Problem::GridCompute;
  static constexpr int kTaps = static_cast<int>(Problem::Taps::kValue);
  static constexpr bool kIsZeroOutside = !Problem::kIsClamped && !Problem::kIsReflected;
  int elements[kTaps];
  bool inside[kTaps];
  T weights[kTaps];

  NAUTILUS_DEVICE SampledAxis(Place coordinate, int size) {
    const Place low = Problem::kIsAligned ? Place(0) : Place(-0.5);
    const Place high = Problem::kIsAligned ? Place(size - 1) : Place(size) - Place(0.5);
    Place place = Problem::kIsInElements ? coordinate
                  : Problem::kIsAligned  ? (coordinate + Place(1)) / Place(2) * Place(size - 1)
                                         : ((coordinate + Place(1)) * Place(size) - Place(1)) / Place(2);
    if constexpr (kTaps == 1) place = device::rint(place);
    if constexpr (Problem::kIsReflected) place = reflected(place, low, high);
    // Cubic weights reach beyond the border from inside, so there only elements are clamped.
    if constexpr (Problem::kIsClamped && kTaps != 4) place = place < Place(0) ? Place(0) : place > Place(size - 1) ? Place(size - 1) : place;
    const Place begin = kTaps == 1 ? place : device::floor(place);
    const Place ratio = place - begin;
    // Nothing lies as far out as this, nor where a NaN points to.
    constexpr Place kFar = Place(1 << 30);
    const int first = begin > -kFar && begin < kFar ? static_cast<int>(begin) - (kTaps == 4 ? 1 : 0) : -(1 << 30);
    NAUTILUS_UNROLL
    for (int tap = 0; tap < kTaps; ++tap) {
      int element = first + tap;
      inside[tap] = !kIsZeroOutside || static_cast<unsigned>(element) < static_cast<unsigned>(size);
      if constexpr (Problem::kIsReflected) element = static_cast<int>(device::trunc(reflected(Place(element), low, high)));
      elements[tap] = element < 0 ? 0 : element > size - 1 ? size - 1 : element;
      weights[tap] = T(1);
      if constexpr (kTaps == 2) weights[tap] = static_cast<T>(tap == 0 ? Place(1) - ratio : ratio);
      if constexpr (kTaps == 4) weights[tap] = static_cast<T>(cubic_weight(math::abs(ratio - Place(tap - 1))));
    }
  }
};

// The last kLeft spatial dimensions of a sample. GRID at (image, sample, coordinate), the last dimension's coordinate first.
template <class Problem, int kLeft, class T>
struct SampledAxes {
  using Index = typename Problem::Index;
  using Inner = SampledAxes<Problem, kLeft - 1, T>;
  static constexpr int kAxes = Problem::kSizesCount;
  static constexpr int kAxis = kAxes - kLeft;
  static constexpr int kTaps = static_cast<int>(Problem::Taps::kValue);
  Inner inner;
  SampledAxis<Problem, T> axis;

  template <class A, class Coordinates>
  NAUTILUS_DEVICE SampledAxes(const A &arguments, const Coordinates &coordinates)
      : inner(arguments, coordinates), axis(coordinates[kLeft - 1], size_of<Problem, kAxis>(arguments, 0)) {}

  // Adds up X along these dimensions; the places along those before are in AT, and IS_INSIDE says whether they exist.
  template <class X, int kVector, class A>
  NAUTILUS_DEVICE Vector<T, kVector> sum(const A &arguments, Coordinates<Index, kAxes + 2> &at, bool is_inside) const {
    if constexpr (kTaps == 1) {
      at.values[kAxis + 1] = axis.elements[0];
      return inner.template sum<X, kVector>(arguments, at, is_inside && axis.inside[0]);
    } else {
      Vector<T, kVector> total{};
      NAUTILUS_UNROLL
      for (int tap = 0; tap < kTaps; ++tap) {
        at.values[kAxis + 1] = axis.elements[tap];
        const Vector<T, kVector> values = inner.template sum<X, kVector>(arguments, at, is_inside && axis.inside[tap]);
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) total[lane] = device::multiply_add(axis.weights[tap], values[lane], total[lane]);
      }
      return total;
    }
  }
};
template <class Problem, class T>
struct SampledAxes<Problem, 0, T> {
  using Index = typename Problem::Index;

  template <class A, class Coordinates>
  NAUTILUS_DEVICE SampledAxes(const A &, const Coordinates &) {}

  template <class X, int kVector, class A>
  NAUTILUS_DEVICE Vector<T, kVector> sum(const A &arguments, const Coordinates<Index, Problem::kSizesCount + 2> &at, bool is_inside) const {
    if (!is_inside) return Vector<T, kVector>{};
    return X::template apply<kVector>(arguments, at);
  }
};

// X at (image, place along each spatial dimension, channel), GRID at (image, sample, coordinate), EPILOGUE at (image, sample, channel), its
// parameter is the sample.
template <class Problem, class Schedule, class X, class Grid, class Epilogue, class A>
NAUTILUS_DEVICE void grid_sample(const A &arguments) {
  using Index = typename Problem::Index;
  using T = typename X::Result;
  using Place = typename Problem::GridCompute;
  constexpr int kAxes = Problem::kSizesCount;
  constexpr int kVector = Schedule::kVector;
  const PlaceOfThread<Index, Schedule> own(Problem::Images::get(arguments), Problem::Samples::get(arguments), Problem::Channels::get(arguments));
  device::dependency_wait();
  if (!own.is_inside) return;
  Vector<Place, kAxes> coordinates;
  NAUTILUS_UNROLL
  for (int axis = 0; axis < kAxes; ++axis) {
    coordinates[axis] = static_cast<Place>(Grid::template apply<1>(arguments, nautilus::coordinates<Index>(own.image, own.place, axis))[0]);
  }
  const SampledAxes<Problem, kAxes, T> axes(arguments, coordinates);
  Coordinates<Index, kAxes + 2> at;
  at.values[0] = own.image;
  at.values[kAxes + 1] = own.channel;
  const Vector<T, kVector> value = axes.template sum<X, kVector>(arguments, at, true);
  device::dependency_trigger();
  Epilogue::template apply<kVector>(arguments, nautilus::coordinates<Index>(own.image, own.place, own.channel), value);
}

}  // namespace nautilus::kernels
