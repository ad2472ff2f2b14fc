// An operand of a matrix product by wgmma: boxes that a tensor map brings, or that threads write, 128 bytes wide and swizzled within that,
// and their descriptors.
//
// With the depth last in memory, a tile is rows of 128 bytes of depth. Else it is boxes of 128 bytes of rows (of B: columns), each with all
// depths of the tile.
#pragma once

#include <nautilus/core/dims.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/wgmma.cuh>
#include <nautilus/kernels/mma_tile.cuh>
#include <nautilus/memory/map.cuh>

namespace nautilus::kernels {

constexpr int kBoxRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // after which the swizzle repeats: 8 rows

// Dimensions of a tensor map behind the two of a tile: the digits of the batch that move, least significant first, as in
// nautilus_cli/kernels/boxes.py.
template <class Digits>
struct BatchDigits;
template <class... Axes>
struct BatchDigits<Digits<Axes...>> {
  template <class Axis>
  static constexpr bool moves() {
    if constexpr (Axis::Extent::kIsStatic) {
      return static_cast<long long>(Axis::Extent::kValue) > 1 && !is_exactly<typename Axis::Stride, 0>();
    } else {
      return !is_exactly<typename Axis::Stride, 0>();
    }
  }
  static constexpr int kCount = (0 + ... + (moves<Axes>() ? 1 : 0));
  static constexpr int kRank = 2 + kCount;

  // Writes the digits of BATCH behind the first two coordinates.
  template <class A>
  NAUTILUS_DEVICE static void split(const A &arguments, int batch, int (&at)[kRank]) {
    int next = 2;
    take<true, Axes...>(arguments, batch, next, at);
  }

 private:
  template <bool kIsMostSignificant, class First, class... Lower, class A>
  NAUTILUS_DEVICE static void take(const A &arguments, int &rest, int &next, int (&at)[kRank]) {
    if constexpr (sizeof...(Lower) > 0) take<false, Lower...>(arguments, rest, next, at);
    int digit = rest;
    if constexpr (!kIsMostSignificant) {
      const Division<int> division = divmod(rest, First::Extent::get(arguments));
      digit = division.remainder;
      rest = division.quotient;
    }
    if constexpr (moves<First>()) at[next++] = digit;
  }
};

template <class Map>
struct BatchOf;
template <class Offset, class Batch, class... Rest>
struct BatchOf<Map<Stage<Offset, Batch, Rest...>>> {
  using Type = BatchDigits<Batch>;
};

// A tile of kOuter rows (of B: columns) by 128 bytes of depth, as it lies in shared memory.
template <class T, bool kHasDepthLast, int kOuter>
struct OperandTile {
  static constexpr bool kIsDepthLast = kHasDepthLast;
  static constexpr device::Major kMajor = kIsDepthLast ? device::Major::kDepth : device::Major::kOuter;
  static constexpr int kDepth = kBoxRowBytes / static_cast<int>(sizeof(T));
  static constexpr int kStepDepth = 32 / static_cast<int>(sizeof(T));  // of one wgmma
  static constexpr int kBytes = kOuter * kBoxRowBytes;
  // Bytes from one step of depth to the next, and from 64 rows to the next 64.
  static constexpr int kStepBytes = kIsDepthLast ? 32 : kStepDepth * kBoxRowBytes;
  static constexpr int kRowsBytes = 64 * kBoxRowBytes;
  static_assert(sizeof(T) == 2 || kIsDepthLast, "elements of 32 bits have the depth last");

  // Of the rows or columns that begin at TILE, a multiple of 64 into it.
  NAUTILUS_DEVICE static uint64 descriptor(const unsigned char *tile) {
    return device::wgmma_descriptor<device::Swizzle::k128>(tile, kIsDepthLast ? 16 : kRowsBytes, kSwizzleBytes);
  }
};

// A tile that bulk copies bring. The kShare blocks of a cluster that need the same one bring a part each, to all of them.
template <class T, class FunctorType, bool kHasDepthLast, int kOuter, int kShare>
struct BoxedOperand : OperandTile<T, kHasDepthLast, kOuter> {
  using Tile = OperandTile<T, kHasDepthLast, kOuter>;
  using Functor = FunctorType;
  using Batch = typename BatchOf<typename Functor::Load0::Map>::Type;
  static constexpr bool kIsLoaded = false;  // by threads
  static constexpr int kCopiedBytes = Tile::kBytes;
  static constexpr int kBoxOuter = kHasDepthLast ? kOuter / kShare : kBoxRowBytes / static_cast<int>(sizeof(T));
  static constexpr int kBoxBytes = kBoxOuter * kBoxRowBytes;
  static constexpr int kBoxes = kOuter / kShare / kBoxOuter;  // of this block
  static_assert(kBoxes * kBoxOuter * kShare == kOuter && kBoxBytes % kSwizzleBytes == 0, "whole boxes and swizzles");

  // Starts the copies of this block's part, NUMBER of kShare. The barrier of each block that gets them counts the bytes.
  template <class A>
  NAUTILUS_DEVICE static void load(const A &arguments, const device::TensorMap &map, int batch, int outer, int depth, unsigned char *tile,
                                   device::Mbarrier *barrier, int number, uint16 blocks) {
    int at[Batch::kRank];
    Batch::split(arguments, batch, at);
    NAUTILUS_UNROLL
    for (int box = 0; box < kBoxes; ++box) {
      const int first = (number * kBoxes + box) * kBoxOuter;
      at[kHasDepthLast ? 0 : 1] = depth;
      at[kHasDepthLast ? 1 : 0] = outer + first;
      unsigned char *const to = tile + first * kBoxRowBytes;
      if constexpr (kShare == 1) {
        device::tensor_load(to, map, barrier, at);
      } else {
        device::tensor_load_multicast(to, map, barrier, at, blocks);
      }
    }
  }
};

}  // namespace nautilus::kernels
