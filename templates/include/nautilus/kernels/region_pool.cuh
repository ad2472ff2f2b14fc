// Pooling of regions of images, given as corners at run time, into cells.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/reduce.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/core/status.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/places.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Most samples along one dimension of a cell: what a model asks for is far below, and a region of nonsense must end some day.
constexpr int kMostSamples = 4096;

// The integer of a number, which may be anything; NaN is none of them.
template <class T>
NAUTILUS_DEVICE int bounded_integer(T value) {
  constexpr T kFar = T(1 << 30);
  return value > -kFar ? value < kFar ? static_cast<int>(value) : 1 << 30 : value <= -kFar ? -(1 << 30) : 0;
}

NAUTILUS_DEVICE int clamped(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

// The samples of a cell along one dimension of an image.
template <class Problem, class Place>
struct CellSamples {
  Place begin, step;  // of the cell
  int count;
  int size;  // of the image

  NAUTILUS_DEVICE CellSamples(Place first, Place last, int cell, int cells, int image_size) : size(image_size) {
    Place extent = last - first;
    if constexpr (Problem::kIsBounded) extent = extent > Place(1) ? extent : Place(1);
    step = extent / static_cast<Place>(cells);
    begin = first + static_cast<Place>(cell) * step;
    count = static_cast<int>(Problem::Samples::kValue);
    if (count == 0 && step > Place(0)) count = step < Place(kMostSamples) ? static_cast<int>(device::ceil(step)) : kMostSamples;
  }

  // The neighbours of a sample and how far it is behind the first one.
  struct Neighbours {
    bool is_inside;
    int low, high;
    Place ratio;
  };
  NAUTILUS_DEVICE Neighbours neighbours(int sample) const {
    Place at = begin + (static_cast<Place>(sample) + Place(0.5)) * step / static_cast<Place>(count);
    const bool is_inside = at >= Place(-1) && at <= Place(size);
    at = at > Place(0) ? at : Place(0);
    const int first = bounded_integer(at);
    const int low = first < size - 1 ? first : size - 1;
    const int high = low < size - 1 ? low + 1 : low;
    return {is_inside, low, high, low < size - 1 ? at - static_cast<Place>(low) : Place(0)};
  }
};

// The mean of a cell's samples, or the maximum of their weighted neighbours.
template <class Problem, int kVector, class X, class Place, class A>
NAUTILUS_DEVICE Vector<typename X::Result, kVector> sampled_cell(const A &arguments, const Vector<Place, 4> &corner, int image, int y, int x,
                                                                 typename Problem::Index channel) {
  using T = typename X::Result;
  using Index = typename Problem::Index;
  constexpr bool kIsMean = kIsSame<typename Problem::Combine, Sum>;
  const CellSamples<Problem, Place> rows(corner[1], corner[3], y, static_cast<int>(Problem::OutHeight::kValue),
                                         static_cast<int>(Problem::InHeight::get(arguments)));
  const CellSamples<Problem, Place> columns(corner[0], corner[2], x, static_cast<int>(Problem::OutWidth::kValue),
                                            static_cast<int>(Problem::InWidth::get(arguments)));
  const bool is_empty = rows.count <= 0 || columns.count <= 0;
  Vector<T, kVector> total = splat<kVector>(kIsMean || is_empty ? T(0) : Problem::Combine::template identity<T>());
#pragma unroll 1
  for (int i = 0; i < rows.count; ++i) {
    const auto row = rows.neighbours(i);
#pragma unroll 1
    for (int j = 0; j < columns.count; ++j) {
      const auto column = columns.neighbours(j);
      const bool is_inside = row.is_inside && column.is_inside;
      NAUTILUS_UNROLL
      for (int corner_number = 0; corner_number < 4; ++corner_number) {
        const bool is_lower = corner_number >= 2, is_right = corner_number % 2 == 1;
        Vector<T, kVector> values{};
        if (is_inside) {
          values = X::template apply<kVector>(
              arguments, coordinates<Index>(image, is_lower ? row.high : row.low, is_right ? column.high : column.low, channel));
        }
        const T weight = static_cast<T>((is_lower ? row.ratio : Place(1) - row.ratio) * (is_right ? column.ratio : Place(1) - column.ratio));
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) {
          total[lane] = typename Problem::Combine()(total[lane], is_inside ? weight * values[lane] : T(0));
        }
      }
    }
  }
  if constexpr (kIsMean) {
    const T count = is_empty ? T(1) : static_cast<T>(rows.count) * static_cast<T>(columns.count);
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) total[lane] = total[lane] / count;
  }
  return total;
}

// Pixels of a cell along one dimension.
template <class Place>
struct CellPixels {
  int first, last;

  NAUTILUS_DEVICE CellPixels(Place begin_place, Place end_place, int cell, int cells, int size) {
    const int begin = bounded_integer(begin_place);
    const int extent = bounded_integer(end_place) - begin + 1;
    const Place step = static_cast<Place>(extent > 1 ? extent : 1) / static_cast<Place>(cells);
    first = clamped(bounded_integer(device::floor(static_cast<Place>(cell) * step)) + begin, 0, size);
    last = clamped(bounded_integer(device::ceil(static_cast<Place>(cell + 1) * step)) + begin, 0, size);
  }
};

// The maximum of all pixels of a cell; zero where there are none.
template <class Problem, int kVector, class X, class Place, class A>
NAUTILUS_DEVICE Vector<typename X::Result, kVector> whole_cell(const A &arguments, const Vector<Place, 4> &corner, int image, int y, int x,
                                                               typename Problem::Index channel) {
  using T = typename X::Result;
  using Index = typename Problem::Index;
  const CellPixels<Place> rows(corner[1], corner[3], y, static_cast<int>(Problem::OutHeight::kValue),
                               static_cast<int>(Problem::InHeight::get(arguments)));
  const CellPixels<Place> columns(corner[0], corner[2], x, static_cast<int>(Problem::OutWidth::kValue),
                                  static_cast<int>(Problem::InWidth::get(arguments)));
  const bool is_empty = rows.first >= rows.last || columns.first >= columns.last;
  Vector<T, kVector> most = splat<kVector>(is_empty ? T(0) : Max::template identity<T>());
#pragma unroll 1
  for (int row = rows.first; row < rows.last; ++row) {
#pragma unroll 1
    for (int column = columns.first; column < columns.last; ++column) {
      const Vector<T, kVector> values = X::template apply<kVector>(arguments, coordinates<Index>(image, row, column, channel));
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) most[lane] = Max()(most[lane], values[lane]);
    }
  }
  return most;
}

// X at (image, y, x, channel), CORNER at (region, side), IMAGE at (region,), EPILOGUE at (region, y, x, channel), its parameter is the cell.
template <class Problem, class Schedule, class X, class Corner, class Image, class Epilogue, class A>
NAUTILUS_DEVICE void region_pool(const A &arguments) {
  using Index = typename Problem::Index;
  using T = typename X::Result;
  using Place = typename Corner::Result;
  constexpr int kVector = Schedule::kVector;
  const PlaceOfThread<Index, Schedule> own(Problem::Regions::get(arguments),
                                           Static<Problem::OutHeight::kValue * Problem::OutWidth::kValue>(), Problem::Channels::get(arguments));
  device::dependency_wait();
  if (!own.is_inside) return;
  const long long image = static_cast<long long>(Image::template apply<1>(arguments, coordinates<Index>(own.image))[0]);
  const bool is_known = image >= 0 && image < static_cast<long long>(Problem::Images::get(arguments));
  const int y = static_cast<int>(divide(own.place, Problem::OutWidth::get(arguments)));
  const int x = static_cast<int>(remainder(own.place, Problem::OutWidth::get(arguments)));
  Vector<T, kVector> cell{};
  if (is_known) {
    Vector<Place, 4> corner;
    NAUTILUS_UNROLL
    for (int side = 0; side < 4; ++side) corner[side] = Corner::template apply<1>(arguments, coordinates<Index>(own.image, side))[0];
    if constexpr (Problem::kIsWhole) {
      cell = whole_cell<Problem, kVector, X>(arguments, corner, static_cast<int>(image), y, x, own.channel);
    } else {
      cell = sampled_cell<Problem, kVector, X>(arguments, corner, static_cast<int>(image), y, x, own.channel);
    }
  } else {
    report_index_out_of_range(arguments);
  }
  device::dependency_trigger();
  Epilogue::template apply<kVector>(arguments, coordinates<Index>(own.image, y, x, own.channel), cell);
}

}  // namespace nautilus::kernels
