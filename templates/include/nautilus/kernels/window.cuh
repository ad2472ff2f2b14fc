// Windows over images, channels last: what convolution, depthwise convolution and pooling share.
//
// Images may have a depth; without one, extents, taps and strides along it are static ones, which fold away. Functors see an image of depth
// d as d planes: their first coordinate is batch · d + z.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>

namespace nautilus::kernels {

// A place in an image; z, y and x may lie in the padding around it.
struct Pixel {
  int batch, z, y, x;
};

// The number of a pixel's plane, in images of DEPTH planes.
template <class Depth, class A>
NAUTILUS_DEVICE int plane(const A &arguments, const Pixel &pixel) {
  return pixel.batch * static_cast<int>(Depth::get(arguments)) + pixel.z;
}

// The output pixel of number M, counted over batch, depth, height and width.
template <class Problem, class A>
NAUTILUS_DEVICE Pixel output_pixel(const A &arguments, int m) {
  const Division<int> by_width = divmod(m, Problem::OutWidth::get(arguments));
  const Division<int> by_height = divmod(by_width.quotient, Problem::OutHeight::get(arguments));
  const Division<int> by_depth = divmod(by_height.quotient, Problem::OutDepth::get(arguments));
  return {by_depth.quotient, by_depth.remainder, by_height.remainder, by_width.remainder};
}

// Where the window of an output pixel begins in its image.
template <class Problem>
NAUTILUS_DEVICE Pixel window_corner(const Pixel &output) {
  return {output.batch, output.z * static_cast<int>(Problem::StrideDepth::kValue) - static_cast<int>(Problem::PadFront::kValue),
          output.y * static_cast<int>(Problem::StrideHeight::kValue) - static_cast<int>(Problem::PadTop::kValue),
          output.x * static_cast<int>(Problem::StrideWidth::kValue) - static_cast<int>(Problem::PadLeft::kValue)};
}

// Whether every window lies inside the image, along one dimension. Windows come in strips of kStrip; those of the last strip beyond the
// output are read too, though nobody uses them.
template <class In, class Out, class Kernel, class Stride, class Dilation, class PadBefore, int kStrip>
constexpr bool windows_inside() {
  if constexpr (In::kIsStatic && Out::kIsStatic) {
    return PadBefore::kValue <= 0 &&
           ((Out::kValue + kStrip - 1) / kStrip * kStrip - 1) * Stride::kValue - PadBefore::kValue + (Kernel::kValue - 1) * Dilation::kValue < In::kValue;
  }
  return false;
}
template <class Problem>
constexpr bool planes_inside() {
  return windows_inside<typename Problem::InDepth, typename Problem::OutDepth, typename Problem::KernelDepth,
                        typename Problem::StrideDepth, typename Problem::DilationDepth, typename Problem::PadFront, 1>();
}
template <class Problem>
constexpr bool rows_inside() {
  return windows_inside<typename Problem::InHeight, typename Problem::OutHeight, typename Problem::KernelHeight,
                        typename Problem::StrideHeight, typename Problem::DilationHeight, typename Problem::PadTop, 1>();
}
template <class Problem, int kStrip>
constexpr bool columns_inside() {
  return windows_inside<typename Problem::InWidth, typename Problem::OutWidth, typename Problem::KernelWidth,
                        typename Problem::StrideWidth, typename Problem::DilationWidth, typename Problem::PadLeft, kStrip>();
}

template <class Problem, class A>
NAUTILUS_DEVICE bool plane_inside(const A &arguments, int z) {
  return planes_inside<Problem>() || static_cast<unsigned>(z) < static_cast<unsigned>(static_cast<int>(Problem::InDepth::get(arguments)));
}
template <class Problem, class A>
NAUTILUS_DEVICE bool row_inside(const A &arguments, int y) {
  return rows_inside<Problem>() || static_cast<unsigned>(y) < static_cast<unsigned>(static_cast<int>(Problem::InHeight::get(arguments)));
}
template <class Problem, int kStrip, class A>
NAUTILUS_DEVICE bool column_inside(const A &arguments, int x) {
  return columns_inside<Problem, kStrip>() || static_cast<unsigned>(x) < static_cast<unsigned>(static_cast<int>(Problem::InWidth::get(arguments)));
}

// What the threads of a direct kernel work on: strips of kPixels output pixels along x by kVector channels. Along a block's threads,
// channels go first, so that a warp reads whole cache lines.
template <class Problem, class Schedule>
struct Strip {
  static constexpr int kStrips = Schedule::kThreads / Schedule::kLanes;    // of a block
  static constexpr int kChannels = Schedule::kLanes * Schedule::kVector;  // of a block
  Pixel output;       // the first one
  int first_channel;  // of the block
  int channel;
  bool is_inside;

  template <class A>
  NAUTILUS_DEVICE Strip(const A &arguments, int channels, int thread) {
    const int out_width = Problem::OutWidth::get(arguments);
    const int strips_row = ceil_divide(out_width, Schedule::kPixels);
    const int strip = device::block_index().x * kStrips + static_cast<int>(static_cast<unsigned>(thread) / Schedule::kLanes);
    const int row = strip / strips_row;
    const Division<int> by_height = divmod(row, Problem::OutHeight::get(arguments));
    const Division<int> by_depth = divmod(by_height.quotient, Problem::OutDepth::get(arguments));
    output = {by_depth.quotient, by_depth.remainder, by_height.remainder, (strip - row * strips_row) * Schedule::kPixels};
    first_channel = device::block_index().y * kChannels;
    channel = first_channel + static_cast<int>(static_cast<unsigned>(thread) % Schedule::kLanes) * Schedule::kVector;
    is_inside = output.batch < static_cast<int>(Problem::Batch::get(arguments)) && channel < channels;
  }
};

// The columns of one image row that kTaps taps of kPixels neighbouring windows touch, in registers.
template <class Problem, class X, int kVector, int kPixels, int kTaps>
struct WindowRow {
  static constexpr int kStride = static_cast<int>(Problem::StrideWidth::kValue);
  static constexpr int kDilation = static_cast<int>(Problem::DilationWidth::kValue);
  static constexpr int kColumns = (kPixels - 1) * kStride + (kTaps - 1) * kDilation + 1;
  using Value = typename X::Result;
  Vector<Value, kVector> values[kColumns];
  bool inside[kColumns];

  static constexpr int column(int pixel, int tap) { return pixel * kStride + tap * kDilation; }
  static constexpr bool touches(int at) {
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      for (int tap = 0; tap < kTaps; ++tap) {
        if (column(pixel, tap) == at) return true;
      }
    }
    return false;
  }

  // Reads from column X0 of row Y of a plane on, by kVector channels; zero outside the image.
  template <class A>
  NAUTILUS_DEVICE void load(const A &arguments, int plane, int y, int x0, int channel) {
    using Index = typename Problem::Index;
    typename X::template Inputs<kVector> inputs[kColumns];
    NAUTILUS_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      inputs[i] = {};
      inside[i] = touches(i) && column_inside<Problem, kPixels>(arguments, x0 + i);
      if (inside[i]) inputs[i] = X::template load<kVector>(arguments, coordinates<Index>(plane, y, x0 + i, channel));
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      values[i] = X::template compute<kVector>(arguments, coordinates<Index>(plane, y, x0 + i, channel), inputs[i]);
      if (!X::kIsPlainLoad && !inside[i]) values[i] = {};
    }
  }
};

// Calls VISIT(pixel, tap, values, is_inside) for every tap in one plane of kPixels windows that neighbour along x, the first at CORNER, in
// rows of the image that exist. Taps count from FIRST_TAP. Short rows of taps are read at once and shared by the windows.
template <class Problem, class X, int kVector, int kPixels, class A, class Visit>
NAUTILUS_DEVICE void for_each_plane_tap(const A &arguments, int plane, const Pixel &corner, int channel, int first_tap, Visit visit) {
  constexpr int kHeight = static_cast<int>(Problem::KernelHeight::kValue);
  constexpr int kWidth = static_cast<int>(Problem::KernelWidth::kValue);
  constexpr int kTaps = kWidth <= 7 ? kWidth : 1;
  using Row = WindowRow<Problem, X, kVector, kPixels, kTaps>;
  // Rows are unrolled where all their reads fit in about a hundred registers.
  constexpr int kUnroll = kTaps == kWidth && kHeight * Row::kColumns * kVector <= 96 ? kHeight : 1;
#pragma unroll kUnroll
  for (int r = 0; r < kHeight; ++r) {
    const int y = corner.y + r * static_cast<int>(Problem::DilationHeight::kValue);
    if (!row_inside<Problem>(arguments, y)) continue;
#pragma unroll 1
    for (int first = 0; first < kWidth; first += kTaps) {
      Row row;
      row.load(arguments, plane, y, corner.x + first * Row::kDilation, channel);
      NAUTILUS_UNROLL
      for (int tap = 0; tap < kTaps; ++tap) {
        NAUTILUS_UNROLL
        for (int pixel = 0; pixel < kPixels; ++pixel) {
          const int at = Row::column(pixel, tap);
          visit(pixel, first_tap + r * kWidth + first + tap, row.values[at], row.inside[at]);
        }
      }
    }
  }
}

// The same for every tap, in planes of the image that exist.
template <class Problem, class X, int kVector, int kPixels, class A, class Visit>
NAUTILUS_DEVICE void for_each_tap(const A &arguments, const Pixel &corner, int channel, Visit visit) {
  constexpr int kDepth = static_cast<int>(Problem::KernelDepth::kValue);
  constexpr int kPlaneTaps = static_cast<int>(Problem::KernelHeight::kValue * Problem::KernelWidth::kValue);
#pragma unroll 1
  for (int d = 0; d < kDepth; ++d) {
    const Pixel front{corner.batch, corner.z + d * static_cast<int>(Problem::DilationDepth::kValue), corner.y, corner.x};
    if (!plane_inside<Problem>(arguments, front.z)) continue;
    for_each_plane_tap<Problem, X, kVector, kPixels>(arguments, plane<typename Problem::InDepth>(arguments, front), corner, channel,
                                                     d * kPlaneTaps, visit);
  }
}

// Hands the results of a strip, arrays of a vector for each pixel, to the epilogue: all reads are issued before the first store.
template <class Problem, class Epilogue, int kVector, int kPixels, class A, class... Results>
NAUTILUS_DEVICE void finish_strip(const A &arguments, const Pixel &first, int channel, const Results &...results) {
  using Index = typename Problem::Index;
  const int out_width = Problem::OutWidth::get(arguments);
  const int out_plane = plane<typename Problem::OutDepth>(arguments, first);
  typename Epilogue::template Inputs<kVector> inputs[kPixels];
  NAUTILUS_UNROLL
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    if (first.x + pixel < out_width) {
      inputs[pixel] = Epilogue::template load<kVector>(arguments, coordinates<Index>(out_plane, first.y, first.x + pixel, channel));
    }
  }
  NAUTILUS_UNROLL
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    if (first.x + pixel < out_width) {
      Epilogue::template compute<kVector>(arguments, coordinates<Index>(out_plane, first.y, first.x + pixel, channel), inputs[pixel],
                                          results[pixel]...);
    }
  }
}

}  // namespace nautilus::kernels
