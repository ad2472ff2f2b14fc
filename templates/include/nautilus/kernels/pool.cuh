// Pooling, channels last: the maximum or the sum of a window, divided or not.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/reduce.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/window.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus {

// What a pooled sum is divided by: nothing, the taps of the window that lie inside the padded image, or those inside the image.
struct NoDivisor {};
struct WindowDivisor {};
struct ValidDivisor {};

namespace kernels {

// How many of TAPS taps, from CORNER on, lie in [begin, end).
NAUTILUS_DEVICE int taps_between(int corner, int taps, int dilation, int begin, int end) {
  const int first = corner >= begin ? 0 : (begin - corner + dilation - 1) / dilation;
  const int last = corner >= end ? 0 : (end - corner + dilation - 1) / dilation;
  const int limit = last < taps ? last : taps;
  return limit > first ? limit - first : 0;
}

template <class Problem, class A>
NAUTILUS_DEVICE int divisor(const A &arguments, const Pixel &corner) {
  using Divisor = typename Problem::Divisor;
  constexpr bool kIsPadded = kIsSame<Divisor, WindowDivisor>;
  const int top = kIsPadded ? static_cast<int>(Problem::PadTop::kValue) : 0;
  const int left = kIsPadded ? static_cast<int>(Problem::PadLeft::kValue) : 0;
  const int front = kIsPadded ? static_cast<int>(Problem::PadFront::kValue) : 0;
  const int back = kIsPadded ? static_cast<int>(Problem::PadBack::kValue) : 0;
  const int bottom = kIsPadded ? static_cast<int>(Problem::PadBottom::kValue) : 0;
  const int right = kIsPadded ? static_cast<int>(Problem::PadRight::kValue) : 0;
  const int planes = taps_between(corner.z, static_cast<int>(Problem::KernelDepth::kValue), static_cast<int>(Problem::DilationDepth::kValue),
                                  -front, static_cast<int>(Problem::InDepth::get(arguments)) + back);
  const int rows = taps_between(corner.y, static_cast<int>(Problem::KernelHeight::kValue), static_cast<int>(Problem::DilationHeight::kValue),
                                -top, static_cast<int>(Problem::InHeight::get(arguments)) + bottom);
  const int columns = taps_between(corner.x, static_cast<int>(Problem::KernelWidth::kValue), static_cast<int>(Problem::DilationWidth::kValue),
                                   -left, static_cast<int>(Problem::InWidth::get(arguments)) + right);
  return planes * rows * columns;
}

// Where in the flattened operand, which has its channels before its planes, rows and columns, a tap of a window lies: a maximum's index.
template <class Problem, class A>
NAUTILUS_DEVICE long long place_of_tap(const A &arguments, const Pixel &corner, int channel, int tap) {
  constexpr int kWidth = static_cast<int>(Problem::KernelWidth::kValue);
  constexpr int kHeight = static_cast<int>(Problem::KernelHeight::kValue);
  const long long depth = static_cast<int>(Problem::InDepth::get(arguments));
  const long long height = static_cast<int>(Problem::InHeight::get(arguments));
  const long long width = static_cast<int>(Problem::InWidth::get(arguments));
  const int z = corner.z + tap / (kHeight * kWidth) * static_cast<int>(Problem::DilationDepth::kValue);
  const int y = corner.y + tap / kWidth % kHeight * static_cast<int>(Problem::DilationHeight::kValue);
  const int x = corner.x + tap % kWidth * static_cast<int>(Problem::DilationWidth::kValue);
  long long place = -1;  // a window whose taps all lie in the padding has no maximum
  if (tap >= 0) place = Problem::kIsColumnMajor ? (x * height + y) * depth + z : (z * height + y) * width + x;
  const long long image = static_cast<long long>(corner.batch) * static_cast<int>(Problem::Channels::get(arguments)) + channel;
  return image * (depth * height * width) + place;
}

// Maxima and where they lie, of a strip; of equal ones the first, and NaN above all.
template <class Problem, class Schedule, class X, class Epilogue, class A>
NAUTILUS_DEVICE void pool_places(const A &arguments, const Strip<Problem, Schedule> &strip) {
  using T = typename X::Result;
  constexpr int kVector = Schedule::kVector;
  constexpr int kPixels = Schedule::kPixels;
  const Pixel corner = window_corner<Problem>(strip.output);
  Vector<T, kVector> pooled[kPixels];
  Vector<int, kVector> taps[kPixels];
  NAUTILUS_UNROLL
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    pooled[pixel] = splat<kVector>(Max::template identity<T>());
    taps[pixel] = splat<kVector>(-1);
  }
  for_each_tap<Problem, X, kVector, kPixels>(arguments, corner, strip.channel, [&](int pixel, int tap, const auto &values, bool is_inside) {
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) {
      const T value = values[lane], most = pooled[pixel][lane];
      const bool is_greater = taps[pixel][lane] < 0 || value > most || (value != value && most == most);
      if (is_inside && is_greater) {
        pooled[pixel][lane] = value;
        taps[pixel][lane] = tap;
      }
    }
  });
  Vector<long long, kVector> places[kPixels];
  NAUTILUS_UNROLL
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    const Pixel own{corner.batch, corner.z, corner.y, corner.x + pixel * static_cast<int>(Problem::StrideWidth::kValue)};
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) places[pixel][lane] = place_of_tap<Problem>(arguments, own, strip.channel + lane, taps[pixel][lane]);
  }
  device::dependency_trigger();
  finish_strip<Problem, Epilogue, kVector, kPixels>(arguments, strip.output, strip.channel, pooled, places);
}

// Sums or maxima of a strip, divided or not.
template <class Problem, class Schedule, class X, class Epilogue, class A>
NAUTILUS_DEVICE void pool_values(const A &arguments, const Strip<Problem, Schedule> &strip) {
  using T = typename X::Result;
  using Combine = typename Problem::Combine;
  constexpr int kVector = Schedule::kVector;
  constexpr int kPixels = Schedule::kPixels;
  Vector<T, kVector> pooled[kPixels];
  NAUTILUS_UNROLL
  for (int pixel = 0; pixel < kPixels; ++pixel) pooled[pixel] = splat<kVector>(Combine::template identity<T>());
  const Pixel corner = window_corner<Problem>(strip.output);
  for_each_tap<Problem, X, kVector, kPixels>(arguments, corner, strip.channel, [&](int pixel, int, const auto &values, bool is_inside) {
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) {
      if (is_inside) pooled[pixel][lane] = Combine()(pooled[pixel][lane], values[lane]);
    }
  });
  if constexpr (!kIsSame<typename Problem::Divisor, NoDivisor>) {
    NAUTILUS_UNROLL
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      const Pixel own{corner.batch, corner.z, corner.y, corner.x + pixel * static_cast<int>(Problem::StrideWidth::kValue)};
      const T count = static_cast<T>(divisor<Problem>(arguments, own));
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) pooled[pixel][lane] = pooled[pixel][lane] / count;
    }
  }
  device::dependency_trigger();
  finish_strip<Problem, Epilogue, kVector, kPixels>(arguments, strip.output, strip.channel, pooled);
}

// X at (plane, y, x, channel), never outside the image; EPILOGUE at (plane, y, x, channel), its parameter is the pooled value, and the
// second one, where it is wanted, the place of a maximum, the first of equal ones. Padding takes no part in a maximum. Results are in X's
// type.
template <class Problem, class Schedule, class X, class Epilogue, class A>
NAUTILUS_DEVICE void pool(const A &arguments) {
  const Strip<Problem, Schedule> strip(arguments, static_cast<int>(Problem::Channels::get(arguments)), device::thread_index().x);
  device::dependency_wait();
  if (!strip.is_inside) return;
  if constexpr (Problem::kHasIndices) {
    pool_places<Problem, Schedule, X, Epilogue>(arguments, strip);
  } else {
    pool_values<Problem, Schedule, X, Epilogue>(arguments, strip);
  }
}

}  // namespace kernels
}  // namespace nautilus
