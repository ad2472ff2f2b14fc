// One operand's tile of a matrix product: from global memory through registers to shared memory.
//
// In shared memory a tile is [depth][outer] in the accumulation type: depth runs over the summed dimension, outer over the rows of A or
// the columns of B. Blocks of 16 bytes are swapped within their line of 128, so that threads that store neighbouring depths of one
// row, and those that read neighbouring rows of one depth, use different banks.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>

namespace nautilus::kernels {

constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int greatest(int a, int b) { return a > b ? a : b; }

// Where an element lies in a tile of kOuter by kDepth. Every kGroup depths the blocks of a line are swapped in another way; there are
// kWays. All numbers are powers of two, so `place` is linear over exclusive or.
template <int kOuter, int kDepth, int kBlock, int kGroup, int kWays>
struct TileLayout {
  static constexpr int kBlocks = 8;  // of a line
  static constexpr int kElements = kOuter * kDepth;
  static constexpr int kDepths = kGroup;  // of a group
  static constexpr int kSwapped = kBlocks * kBlock - 1;  // bits of a place that exclusive or may change
  // A line of several depths may be swapped across them where they are of one group; else only within a depth.
  static constexpr int kMask = kOuter * kGroup >= kBlocks * kBlock ? kBlocks - 1 : greatest(kOuter / kBlock, 1) - 1;

  NAUTILUS_DEVICE static constexpr int place(int depth, int outer) {
    const int way = static_cast<int>(static_cast<unsigned>(depth) / kGroup % kWays * (kBlocks / kWays));
    return (depth * kOuter + outer) ^ ((way & kMask) * kBlock);
  }
};

// Where a source's vector begins, and whether there is anything to read.
template <class At>
struct Place {
  At at;
  bool is_inside;
};

// The matrix of one batch: FUNCTOR at (batch, outer, depth), or at (batch, depth, outer) where depth is not the last coordinate.
template <class FunctorType, class Index, class Outer, class Depth, bool kDepthLast>
struct MatrixSource {
  using Functor = FunctorType;
  static constexpr bool kIsDepthLast = kDepthLast;
  struct Row {
    int outer;
    bool is_inside;
  };
  Index batch;

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int outer) const {
    return {outer, outer < static_cast<int>(Outer::get(arguments))};
  }
  template <class A>
  NAUTILUS_DEVICE Place<Coordinates<Index, 3>> place(const A &, const Row &row, int first_depth, int depth) const {
    if constexpr (kDepthLast) {
      return {coordinates<Index>(batch, row.outer, first_depth + depth), true};
    } else {
      return {coordinates<Index>(batch, first_depth + depth, row.outer), true};
    }
  }
  template <class A>
  NAUTILUS_DEVICE static int depth(const A &arguments) {
    return static_cast<int>(Depth::get(arguments));
  }
  static constexpr bool is_whole(int tile_depth) {
    if constexpr (Depth::kIsStatic) return Depth::kValue % tile_depth == 0;
    return false;
  }
};

// Brings tiles of a source of kOuter by kDepth elements into shared memory, by vectors of kVector along the source's last coordinate.
// All numbers are powers of two.
template <class T, class Source, int kOuter, int kDepth, int kVector, int kFragment, int kThreads>
struct TileLoader {
  using Functor = typename Source::Functor;
  static constexpr bool kIsDepthLast = Source::kIsDepthLast;
  static constexpr int kVectors = kOuter * kDepth / kVector;
  static constexpr int kItems = greatest(1, kVectors / kThreads);
  // Along depth up to eight lanes read a cache line together; the rest of a warp spreads over outer.
  static constexpr int kLanesDepth = least(least(kDepth / kVector, kThreads), 8);
  static constexpr int kBlock = greatest(16 / static_cast<int>(sizeof(T)), kFragment);
  static constexpr int kGroup = kIsDepthLast ? kVector : least(kDepth, 4);
  static constexpr int kWays = kIsDepthLast ? kLanesDepth : least(kDepth / kGroup, 8);
  using Layout = TileLayout<kOuter, kDepth, kBlock, kGroup, kWays>;
  static constexpr int kOuterVector = kIsDepthLast ? 1 : kVector;
  static constexpr int kDepthVector = kIsDepthLast ? kLanesDepth * kVector : 1;
  static constexpr int kVectorsStep = kIsDepthLast ? kLanesDepth * kOuter : kOuter / kVector;  // before depth moves on
  static constexpr int kRows = greatest(1, kVectorsStep / kThreads);
  static constexpr int kOuterStep = kThreads / (kIsDepthLast ? kLanesDepth : 1) * kOuterVector;
  static constexpr int kDepthStep = greatest(1, kThreads / kVectorsStep) * kDepthVector;
  static_assert(kIsDepthLast ? kDepth % kVector == 0 : kOuter % kVector == 0, "whole vectors");
  static_assert(kItems <= 64, "one bit an item");
  using Bits = typename Conditional<(kItems > 32), unsigned long long, unsigned>::Type;

  Source source;
  int thread;
  int first_outer;  // of this thread, in the tile
  int first_depth;
  typename Source::Row rows[kRows];
  typename Functor::template Inputs<kVector> inputs[kItems];
  Bits inside;  // bit: the item of that number was read

  template <class A>
  NAUTILUS_DEVICE TileLoader(const A &arguments, const Source &from, int tile_outer, int thread_number) : source(from), thread(thread_number), inside(0) {
    const unsigned slot = static_cast<unsigned>(thread_number);
    if constexpr (kIsDepthLast) {
      const unsigned rest = slot / kLanesDepth;
      first_outer = static_cast<int>(rest % kOuter);
      first_depth = static_cast<int>(rest / kOuter * kLanesDepth + slot % kLanesDepth) * kVector;
    } else {
      first_outer = static_cast<int>(slot % kVectorsStep) * kVector;
      first_depth = static_cast<int>(slot / kVectorsStep);
    }
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) rows[row] = source.row(arguments, tile_outer + first_outer + row * kOuterStep);
  }

  NAUTILUS_DEVICE bool is_active() const { return kVectors >= kThreads || thread < kVectors; }

  // Issues the reads of the tile that begins at TILE_DEPTH.
  template <class A>
  NAUTILUS_DEVICE void fetch(const A &arguments, int tile_depth) {
    inside = 0;
    NAUTILUS_UNROLL
    for (int item = 0; item < kItems; ++item) {
      const typename Source::Row &row = rows[item % kRows];
      const int depth = first_depth + item / kRows * kDepthStep;
      const auto place = source.place(arguments, row, tile_depth, depth);
      const bool is_inside =
          row.is_inside && is_active() && place.is_inside && (Source::is_whole(kDepth) || tile_depth + depth < source.depth(arguments));
      inputs[item] = {};
      if (is_inside) {
        inputs[item] = Functor::template load<kVector>(arguments, place.at);
        inside |= Bits(1) << item;
      }
    }
  }

  // Finishes the values that the last fetch asked for and stores them; zero where nothing was read.
  template <class A>
  NAUTILUS_DEVICE void store(const A &arguments, int tile_depth, T *tile) const {
    if (!is_active()) return;
    NAUTILUS_UNROLL
    for (int item = 0; item < kItems; ++item) {
      const int depth = first_depth + item / kRows * kDepthStep;
      const auto from = source.place(arguments, rows[item % kRows], tile_depth, depth);
      const auto computed = Functor::template compute<kVector>(arguments, from.at, inputs[item]);
      // A plain load of nothing is zero already.
      const bool is_kept = Functor::kIsPlainLoad || (inside >> item & 1) != 0;
      Vector<T, kVector> values;
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) values[lane] = is_kept ? static_cast<T>(computed[lane]) : T(0);
      // The place of an item differs from the thread's first one in other bits than that has.
      const int place = Layout::place(first_depth, first_outer) ^
                        Layout::place(item / kRows * kDepthStep, item % kRows * kOuterStep);
      if constexpr (kIsDepthLast) {
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) tile[place ^ Layout::place(lane, 0)] = values[lane];
      } else {
        constexpr int kPiece = least(kVector, kBlock);
        NAUTILUS_UNROLL
        for (int first = 0; first < kVector; first += kPiece) {
          Vector<T, kPiece> piece;
          NAUTILUS_UNROLL
          for (int i = 0; i < kPiece; ++i) piece[i] = values[first + i];
          *reinterpret_cast<Vector<T, kPiece> *>(tile + (place ^ Layout::place(0, first))) = piece;
        }
      }
    }
  }
};

}  // namespace nautilus::kernels
