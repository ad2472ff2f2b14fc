// Depthwise convolution, channels last: every output channel reads one input channel. The window is summed directly.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>
#include <nautilus/kernels/window.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// X at (plane, y, x, input channel), never outside the image; WEIGHT at (output channel, tap); EPILOGUE at (plane, y, x, output channel),
// its parameter is the sum. Group g has Problem::OutChannels output channels, which all read input channel g.
template <class Problem, class Schedule, class X, class Weight, class Epilogue, class A>
NAUTILUS_DEVICE void depthwise(const A &arguments) {
  using T = typename Problem::Accumulate;
  using Index = typename Problem::Index;
  using Block = Strip<Problem, Schedule>;
  constexpr int kVector = Schedule::kVector;
  constexpr int kPixels = Schedule::kPixels;
  constexpr int kTaps = static_cast<int>(Problem::KernelDepth::kValue * Problem::KernelHeight::kValue * Problem::KernelWidth::kValue);
  constexpr int kMultiplier = static_cast<int>(Problem::OutChannels::kValue);
  static_assert(Problem::InChannels::kValue == 1, "one input channel a group");
  static_assert(kMultiplier == 1 || kVector == 1, "neighbouring output channels read neighbouring input channels");

  const int thread = device::thread_index().x;
  const int channels = static_cast<int>(Problem::Groups::get(arguments)) * kMultiplier;
  const Block strip(arguments, channels, thread);
  device::dependency_wait();

  // The weights of the block's channels, as [tap][channel]: a vector of channels is one read. Several reads are in flight at once.
  T *const weights = device::dynamic_shared<T>();
  constexpr int kWeights = kTaps * Block::kChannels;
  constexpr int kBatch = ceil_divide(kWeights, Schedule::kThreads) < 8 ? ceil_divide(kWeights, Schedule::kThreads) : 8;
  for (int first = thread; first < kWeights; first += kBatch * Schedule::kThreads) {
    T batch[kBatch];
    NAUTILUS_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      const int weight = first + i * Schedule::kThreads;
      const int channel = strip.first_channel + weight / kTaps;
      batch[i] = weight < kWeights && channel < channels
                     ? static_cast<T>(Weight::template apply<1>(arguments, coordinates<Index>(channel, weight % kTaps))[0])
                     : T(0);
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      const int weight = first + i * Schedule::kThreads;
      if (weight < kWeights) weights[weight % kTaps * Block::kChannels + weight / kTaps] = batch[i];
    }
  }
  device::block_barrier();
  if (!strip.is_inside) return;

  Vector<T, kVector> sums[kPixels] = {};
  const T *const own_weights = weights + (strip.channel - strip.first_channel);
  for_each_tap<Problem, X, kVector, kPixels>(
      arguments, window_corner<Problem>(strip.output), strip.channel / kMultiplier, [&](int pixel, int tap, const auto &values, bool) {
        const auto weight = *reinterpret_cast<const Vector<T, kVector> *>(own_weights + tap * Block::kChannels);
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) {
          sums[pixel][lane] = device::multiply_add(static_cast<T>(values[lane]), weight[lane], sums[pixel][lane]);
        }
      });
  device::dependency_trigger();
  finish_strip<Problem, Epilogue, kVector, kPixels>(arguments, strip.output, strip.channel, sums);
}

}  // namespace nautilus::kernels
