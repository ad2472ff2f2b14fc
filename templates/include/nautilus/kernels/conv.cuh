// Convolution as a matrix product that gathers its rows from the image (implicit GEMM), channels last.
//
// Per group: m runs over output pixels, n over output channels, k over the window's planes, rows, columns and channels.
#pragma once

#include <nautilus/kernels/product.cuh>
#include <nautilus/kernels/window.cuh>

namespace nautilus::kernels {

// Which tap and which channel of a group lie DEPTH behind the beginning of a tile.
struct TapChannel {
  int tap, channel;
};
template <class InChannels, int kDepth, int kTileDepth>
NAUTILUS_DEVICE TapChannel tap_channel(int tile_depth, int depth) {
  if constexpr (kDepth == InChannels::kValue) {
    return {0, tile_depth + depth};
  } else if constexpr (InChannels::kValue % kTileDepth == 0) {
    // A tile lies within one tap: the division is the same for all threads.
    const int tap = divide(tile_depth, InChannels());
    return {tap, tile_depth - tap * static_cast<int>(InChannels::kValue) + depth};
  } else {
    const Division<int> split = divmod(tile_depth + depth, InChannels());
    return {split.quotient, split.remainder};
  }
}

// The windows of an image as rows of a matrix: FUNCTOR at (plane, y, x, channel), never outside the image.
template <class FunctorType, class Problem, int kTileDepth>
struct WindowSource {
  using Functor = FunctorType;
  using Index = typename Problem::Index;
  using InChannels = typename Problem::InChannels;
  using KernelWidth = typename Problem::KernelWidth;
  using KernelPlane = Static<Problem::KernelHeight::kValue * KernelWidth::kValue>;
  static_assert(InChannels::kIsStatic && KernelPlane::kIsStatic && Problem::KernelDepth::kIsStatic, "weights have a fixed shape");
  static constexpr bool kIsDepthLast = true;
  static constexpr int kDepth = static_cast<int>(Problem::KernelDepth::kValue * KernelPlane::kValue * InChannels::kValue);
  struct Row {
    Pixel corner;
    bool is_inside;
  };
  int first_channel;  // of the group

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int m) const {
    const Pixel output = output_pixel<Problem>(arguments, m);
    return {window_corner<Problem>(output), output.batch < static_cast<int>(Problem::Batch::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE Place<Coordinates<Index, 4>> place(const A &arguments, const Row &row, int tile_depth, int depth) const {
    const TapChannel at = tap_channel<InChannels, kDepth, kTileDepth>(tile_depth, depth);
    Division<int> by_plane{0, at.tap};
    if constexpr (Problem::KernelDepth::kValue > 1) by_plane = divmod(at.tap, KernelPlane());
    const Division<int> by_row = divmod(by_plane.remainder, KernelWidth());
    const int z = row.corner.z + by_plane.quotient * static_cast<int>(Problem::DilationDepth::kValue);
    const int y = row.corner.y + by_row.quotient * static_cast<int>(Problem::DilationHeight::kValue);
    const int x = row.corner.x + by_row.remainder * static_cast<int>(Problem::DilationWidth::kValue);
    const Pixel pixel{row.corner.batch, z, y, x};
    return {coordinates<Index>(plane<typename Problem::InDepth>(arguments, pixel), y, x, first_channel + at.channel),
            plane_inside<Problem>(arguments, z) && row_inside<Problem>(arguments, y) && column_inside<Problem, 1>(arguments, x)};
  }
  template <class A>
  NAUTILUS_DEVICE static int depth(const A &) {
    return kDepth;
  }
  static constexpr bool is_whole(int tile_depth) { return kDepth % tile_depth == 0; }
};

// The weights of a group: FUNCTOR at (output channel over all groups, k).
template <class FunctorType, class Problem, int kDepth>
struct WeightSource {
  using Functor = FunctorType;
  using Index = typename Problem::Index;
  static constexpr bool kIsDepthLast = true;
  struct Row {
    int channel;
    bool is_inside;
  };
  int first_channel;  // of the group

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int n) const {
    return {first_channel + n, n < static_cast<int>(Problem::OutChannels::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE Place<Coordinates<Index, 2>> place(const A &, const Row &row, int tile_depth, int depth) const {
    return {coordinates<Index>(row.channel, tile_depth + depth), true};
  }
  template <class A>
  NAUTILUS_DEVICE static int depth(const A &) {
    return kDepth;
  }
  static constexpr bool is_whole(int tile_depth) { return kDepth % tile_depth == 0; }
};

// Results: EPILOGUE at (plane, y, x, output channel over all groups).
template <class EpilogueType, class Problem>
struct PixelSink {
  using Epilogue = EpilogueType;
  using Index = typename Problem::Index;
  struct Row {
    int plane, y, x;
    bool is_inside;
  };
  int first_channel;  // of the group

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int m) const {
    const Pixel output = output_pixel<Problem>(arguments, m);
    return {plane<typename Problem::OutDepth>(arguments, output), output.y, output.x,
            output.batch < static_cast<int>(Problem::Batch::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE bool has_column(const A &arguments, int n) const {
    return n < static_cast<int>(Problem::OutChannels::get(arguments));
  }
  NAUTILUS_DEVICE Coordinates<Index, 4> at(const Row &row, int n) const {
    return coordinates<Index>(row.plane, row.y, row.x, first_channel + n);
  }
};

// X at (plane, y, x, channel over all groups), WEIGHT at (output channel over all groups, k), EPILOGUE at (plane, y, x, output channel
// over all groups), its parameter is the sum.
template <class Problem, class Schedule, class X, class Weight, class Epilogue, class A>
NAUTILUS_DEVICE void conv(const A &arguments) {
  using Window = WindowSource<X, Problem, Schedule::kTileK>;
  const int group = device::block_index().z * kMostBlocksY + device::block_index().y;
  if (group >= static_cast<int>(Problem::Groups::get(arguments))) return;
  const int out_channels = Problem::OutChannels::get(arguments);
  const int pixels = static_cast<int>(Problem::Batch::get(arguments)) * static_cast<int>(Problem::OutDepth::get(arguments)) *
                     static_cast<int>(Problem::OutHeight::get(arguments)) * static_cast<int>(Problem::OutWidth::get(arguments));
  const TileIndex tile = tile_index<Schedule>(device::block_index().x, pixels, out_channels);
  const int first_channel = group * out_channels;
  product<Schedule, typename Problem::Accumulate>(arguments, Window{group * static_cast<int>(Problem::InChannels::kValue)},
                                                  WeightSource<Weight, Problem, Window::kDepth>{first_channel},
                                                  PixelSink<Epilogue, Problem>{first_channel}, tile);
}

}  // namespace nautilus::kernels
