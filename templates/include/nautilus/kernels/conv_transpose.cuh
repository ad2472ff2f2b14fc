// Transposed convolution as matrix products that gather, one for each class of output pixels, channels last.
//
// Output pixel o takes the taps r with o + pad - r · dilation a multiple of the stride. Output pixels that are equal modulo the stride, a
// phase, take the same class of taps: every kStep-th, from a first one on. Within a phase this is a convolution of stride 1 whose taps run
// backwards. A block computes a tile of one phase of one group.
#pragma once

#include <nautilus/kernels/conv.cuh>

namespace nautilus::kernels {

constexpr int greatest_common_divisor(int a, int b) { return b == 0 ? a : greatest_common_divisor(b, a % b); }

// The number below MODULUS whose product with VALUE leaves 1; 0 where all is 0.
constexpr int modular_inverse(int value, int modulus) {
  for (int i = 0; i < modulus; ++i) {
    if (value % modulus * i % modulus == 1 % modulus) return i;
  }
  return 0;
}

// One dimension of a phase.
template <class Kernel, class Stride, class Dilation, class Pad>
struct PhaseAxis {
  static_assert(Kernel::kIsStatic && Stride::kIsStatic && Dilation::kIsStatic && Pad::kIsStatic, "windows have a fixed shape");
  static constexpr int kKernel = static_cast<int>(Kernel::kValue);
  static constexpr int kStride = static_cast<int>(Stride::kValue);
  static constexpr int kDilation = static_cast<int>(Dilation::kValue);
  static constexpr int kDivisor = greatest_common_divisor(kStride, kDilation);
  static constexpr int kStep = kStride / kDivisor;                      // from a tap of a class to the next
  static constexpr int kMove = kDilation / kDivisor;                    // and how far that moves back in the input
  static constexpr int kTaps = (kKernel + kStep - 1) / kStep;           // of a class, at most
  static constexpr bool kIsEven = kKernel % kStep == 0;                 // whether all classes have as many
  int phase;
  int first_tap;
  int base;  // input pixel of the phase's first output pixel at its first tap
  bool has_taps;

  NAUTILUS_DEVICE explicit PhaseAxis(int number) : phase(number) {
    constexpr int kPad = static_cast<int>(Pad::kValue);
    const int reached = phase + kPad;
    has_taps = reached % kDivisor == 0;
    first_tap = reached / kDivisor * modular_inverse(kMove, kStep) % kStep;
    base = (reached - first_tap * kDilation) / kStride;  // exact where there are taps
  }

  // Whether the class has a tap of this number.
  NAUTILUS_DEVICE bool has_tap(int number) const { return kIsEven || first_tap + number * kStep < kKernel; }
};

// The phase of a block: which output pixels, and which taps.
template <class Problem>
struct Phase {
  using Depth = PhaseAxis<typename Problem::KernelDepth, typename Problem::StrideDepth, typename Problem::DilationDepth, typename Problem::PadFront>;
  using Height = PhaseAxis<typename Problem::KernelHeight, typename Problem::StrideHeight, typename Problem::DilationHeight, typename Problem::PadTop>;
  using Width = PhaseAxis<typename Problem::KernelWidth, typename Problem::StrideWidth, typename Problem::DilationWidth, typename Problem::PadLeft>;
  static constexpr int kPhases = Depth::kStride * Height::kStride * Width::kStride;
  static constexpr int kTaps = Depth::kTaps * Height::kTaps * Width::kTaps;
  Depth z;
  Height y;
  Width x;

  NAUTILUS_DEVICE explicit Phase(int number)
      : z(number / (Height::kStride * Width::kStride)), y(number / Width::kStride % Height::kStride), x(number % Width::kStride) {}

  NAUTILUS_DEVICE bool has_taps() const { return z.has_taps && y.has_taps && x.has_taps; }
  // The class of taps, counted as the weights are.
  NAUTILUS_DEVICE int first_tap() const { return (z.first_tap * Height::kStep + y.first_tap) * Width::kStep + x.first_tap; }

  // Pixels of a phase along one dimension of the output, at most.
  template <class Extent, class Axis, class A>
  NAUTILUS_DEVICE static int steps(const A &arguments) {
    return ceil_divide(static_cast<int>(Extent::get(arguments)), Axis::kStride);
  }

  // Pixel of number M of the phase, counted in steps of the stride; z, y and x may lie beyond the output.
  template <class A>
  NAUTILUS_DEVICE static Pixel pixel(const A &arguments, int m) {
    const Division<int> by_width = divmod(m, steps<typename Problem::OutWidth, Width>(arguments));
    const Division<int> by_height = divmod(by_width.quotient, steps<typename Problem::OutHeight, Height>(arguments));
    const Division<int> by_depth = divmod(by_height.quotient, steps<typename Problem::OutDepth, Depth>(arguments));
    return {by_depth.quotient, by_depth.remainder, by_height.remainder, by_width.remainder};
  }
  // The same in the output.
  NAUTILUS_DEVICE Pixel output(const Pixel &pixel) const {
    return {pixel.batch, pixel.z * Depth::kStride + z.phase, pixel.y * Height::kStride + y.phase, pixel.x * Width::kStride + x.phase};
  }
};

// What the pixels of a phase gather, as rows of a matrix: FUNCTOR at (plane, y, x, channel), never outside the image.
template <class FunctorType, class Problem, int kTileDepth>
struct PhaseSource {
  using Functor = FunctorType;
  using Index = typename Problem::Index;
  using InChannels = typename Problem::InChannels;
  using Block = Phase<Problem>;
  using Plane = Static<Block::Height::kTaps * Block::Width::kTaps>;
  static constexpr bool kIsDepthLast = true;
  static constexpr int kDepth = Block::kTaps * static_cast<int>(InChannels::kValue);
  struct Row {
    Pixel first;  // the input pixel of the first tap
    bool is_inside;
  };
  Block phase;
  int first_channel;  // of the group

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int m) const {
    const Pixel pixel = Block::pixel(arguments, m);
    return {{pixel.batch, pixel.z + phase.z.base, pixel.y + phase.y.base, pixel.x + phase.x.base},
            pixel.batch < static_cast<int>(Problem::Batch::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE Place<Coordinates<Index, 4>> place(const A &arguments, const Row &row, int tile_depth, int depth) const {
    const TapChannel at = tap_channel<InChannels, kDepth, kTileDepth>(tile_depth, depth);
    Division<int> by_plane{0, at.tap};
    if constexpr (Block::Depth::kTaps > 1) by_plane = divmod(at.tap, Plane());
    const Division<int> by_row = divmod(by_plane.remainder, Static<Block::Width::kTaps>());
    const Pixel pixel{row.first.batch, row.first.z - by_plane.quotient * Block::Depth::kMove,
                      row.first.y - by_row.quotient * Block::Height::kMove, row.first.x - by_row.remainder * Block::Width::kMove};
    const bool has_tap = phase.z.has_tap(by_plane.quotient) && phase.y.has_tap(by_row.quotient) && phase.x.has_tap(by_row.remainder);
    return {coordinates<Index>(plane<typename Problem::InDepth>(arguments, pixel), pixel.y, pixel.x, first_channel + at.channel),
            has_tap && is_between(pixel.z, Problem::InDepth::get(arguments)) && is_between(pixel.y, Problem::InHeight::get(arguments)) &&
                is_between(pixel.x, Problem::InWidth::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE int depth(const A &) const {
    return phase.has_taps() ? kDepth : 0;
  }
  static constexpr bool is_whole(int tile_depth) { return kDepth % tile_depth == 0; }

 private:
  NAUTILUS_DEVICE static bool is_between(int place, int extent) { return static_cast<unsigned>(place) < static_cast<unsigned>(extent); }
};

// The weights of a group and a class of taps: FUNCTOR at (output channel over all groups, first tap, k).
template <class FunctorType, class Problem, int kDepth>
struct ClassSource {
  using Functor = FunctorType;
  using Index = typename Problem::Index;
  static constexpr bool kIsDepthLast = true;
  struct Row {
    int channel;
    bool is_inside;
  };
  int first_channel;  // of the group
  int first_tap;

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int n) const {
    return {first_channel + n, n < static_cast<int>(Problem::OutChannels::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE Place<Coordinates<Index, 3>> place(const A &, const Row &row, int tile_depth, int depth) const {
    return {coordinates<Index>(row.channel, first_tap, tile_depth + depth), true};
  }
  template <class A>
  NAUTILUS_DEVICE static int depth(const A &) {
    return kDepth;
  }
  static constexpr bool is_whole(int tile_depth) { return kDepth % tile_depth == 0; }
};

// Results of a phase: EPILOGUE at (plane, y, x, output channel over all groups).
template <class EpilogueType, class Problem>
struct PhaseSink {
  using Epilogue = EpilogueType;
  using Index = typename Problem::Index;
  struct Row {
    int plane, y, x;
    bool is_inside;
  };
  Phase<Problem> phase;
  int first_channel;  // of the group

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int m) const {
    const Pixel output = phase.output(Phase<Problem>::pixel(arguments, m));
    return {plane<typename Problem::OutDepth>(arguments, output), output.y, output.x,
            output.batch < static_cast<int>(Problem::Batch::get(arguments)) && output.z < static_cast<int>(Problem::OutDepth::get(arguments)) &&
                output.y < static_cast<int>(Problem::OutHeight::get(arguments)) && output.x < static_cast<int>(Problem::OutWidth::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE bool has_column(const A &arguments, int n) const {
    return n < static_cast<int>(Problem::OutChannels::get(arguments));
  }
  NAUTILUS_DEVICE Coordinates<Index, 4> at(const Row &row, int n) const {
    return coordinates<Index>(row.plane, row.y, row.x, first_channel + n);
  }
};

// X at (plane, y, x, channel over all groups), WEIGHT at (output channel over all groups, first tap, k), EPILOGUE at (plane, y, x, output
// channel over all groups), its parameter is the sum.
template <class Problem, class Schedule, class X, class Weight, class Epilogue, class A>
NAUTILUS_DEVICE void conv_transpose(const A &arguments) {
  using Block = Phase<Problem>;
  using Source = PhaseSource<X, Problem, Schedule::kTileK>;
  const int batch = device::block_index().z * kMostBlocksY + device::block_index().y;
  const int group = batch / Block::kPhases;
  if (group >= static_cast<int>(Problem::Groups::get(arguments))) return;
  const Block phase(batch % Block::kPhases);
  const int out_channels = Problem::OutChannels::get(arguments);
  const int pixels = static_cast<int>(Problem::Batch::get(arguments)) *
                     Block::template steps<typename Problem::OutDepth, typename Block::Depth>(arguments) *
                     Block::template steps<typename Problem::OutHeight, typename Block::Height>(arguments) *
                     Block::template steps<typename Problem::OutWidth, typename Block::Width>(arguments);
  const TileIndex tile = tile_index<Schedule>(device::block_index().x, pixels, out_channels);
  const int first_channel = group * out_channels;
  product<Schedule, typename Problem::Accumulate>(arguments, Source{phase, group * static_cast<int>(Problem::InChannels::kValue)},
                                                  ClassSource<Weight, Problem, Source::kDepth>{first_channel, phase.first_tap()},
                                                  PhaseSink<Epilogue, Problem>{phase, first_channel}, tile);
}

}  // namespace nautilus::kernels
