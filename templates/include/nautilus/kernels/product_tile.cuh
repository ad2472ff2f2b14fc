// One operand's tile of a matrix product: from global memory to shared memory, through registers or, where nothing is computed on the way,
// by asynchronous copies.
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
  static constexpr bool kIsAdded = false;
  // Bits that are not swapped cannot meet: added, they become part of an instruction.
  NAUTILUS_DEVICE static constexpr int join(int place, int at) { return (place ^ (at & kSwapped)) + (at & ~kSwapped); }
};

// Where an element lies in a tile whose rows begin 16 bytes further each time: lanes that each store one element, of four rows and eight
// depths, use different banks, and places only add up.
template <class T, int kOuter, int kDepth>
struct PaddedTileLayout {
  static constexpr int kPitch = kOuter + 16 / static_cast<int>(sizeof(T));
  static constexpr int kElements = kPitch * kDepth;
  static constexpr int kDepths = 1;
  static constexpr bool kIsAdded = true;  // joining is adding

  NAUTILUS_DEVICE static constexpr int place(int depth, int outer) { return depth * kPitch + outer; }
  NAUTILUS_DEVICE static constexpr int join(int place, int at) { return place + at; }
};

template <class A, class B>
inline constexpr bool kIsSameType = false;
template <class A>
inline constexpr bool kIsSameType<A, A> = true;

// Whether vectors of a functor are copied as they are.
template <class T, class Functor, int kVector>
NAUTILUS_DEVICE constexpr bool is_copied() {
  constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
  if constexpr (Functor::kIsPlainLoad && (kBytes == 4 || kBytes == 8 || kBytes == 16)) {
    using Source = typename Functor::Load0;
    return kIsSameType<typename Source::Storage, T> && Source::Map::contiguous_width(kVector) == kVector;
  } else {
    return false;
  }
}

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
  static constexpr bool kIsDepthKnown = Depth::kIsStatic;
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
  NAUTILUS_DEVICE static constexpr bool is_whole(int tile_depth) { return is_multiple<Depth>(tile_depth); }
  NAUTILUS_DEVICE static constexpr bool is_whole_outer(int tile_outer) { return is_multiple<Outer>(tile_outer); }
  // Whether elements lie at fixed distances, those of `shift`.
  static constexpr bool is_straight() {
    if constexpr (Functor::kIsPlainLoad) {
      return Functor::Load0::Map::kIsLinear;
    } else {
      return false;
    }
  }
  NAUTILUS_DEVICE static constexpr Coordinates<Index, 3> shift(int outer, int depth) {
    return kDepthLast ? coordinates<Index>(0, outer, depth) : coordinates<Index>(0, depth, outer);
  }
};

// Of a source that says so; others have no `shift`.
template <class Source, class = void>
inline constexpr bool kHasShift = false;
template <class Source>
inline constexpr bool kHasShift<Source, decltype(static_cast<void>(Source::is_straight()))> = Source::is_straight();

// Of a source whose depth is an argument; others do not say.
template <class Source, class = void>
inline constexpr bool kHasOpenDepth = false;
template <class Source>
inline constexpr bool kHasOpenDepth<Source, decltype(static_cast<void>(Source::kIsDepthKnown))> = !Source::kIsDepthKnown;

// Brings tiles of a source of kOuter by kDepth elements into shared memory, by vectors of kVector along the source's last coordinate.
// All numbers are powers of two.
//
// With kIsAsync, a plain tensor of T is copied past registers. Elements along depth, which do not lie together in a tile, go one by one: then
// eight lanes read a cache line together. With kIsSwapped, outers lie in pairs the wrong way round, as add_outer_products may want them.
template <class T, class Source, int kOuter, int kDepth, int kGivenVector, int kFragment, int kThreads, bool kIsAsync, bool kWantsSwap>
struct TileLoader {
  using Functor = typename Source::Functor;
  static constexpr bool kIsDepthLast = Source::kIsDepthLast;
  static constexpr int kCopiedVector = kIsDepthLast ? 1 : kGivenVector;
  static constexpr bool kIsCopied = kIsAsync && is_copied<T, Functor, kCopiedVector>();
  static constexpr int kVector = kIsCopied ? kCopiedVector : kGivenVector;
  static constexpr bool kIsSwapped = kWantsSwap && (kIsDepthLast || (!kIsCopied && kVector > 1));
  static constexpr int kVectors = kOuter * kDepth / kVector;
  static constexpr int kItems = greatest(1, kVectors / kThreads);
  // Along depth up to eight lanes read a cache line together; the rest of a warp spreads over outer.
  static constexpr int kLanesDepth = least(least(kDepth / kVector, kThreads), 8);
  static constexpr int kBlock = greatest(16 / static_cast<int>(sizeof(T)), kFragment);
  static constexpr int kGroup = kIsDepthLast ? kVector : least(kDepth, 4);
  static constexpr int kWays = kIsDepthLast ? kLanesDepth : least(kDepth / kGroup, 8);
  using Layout = typename Conditional<kIsCopied && kIsDepthLast, PaddedTileLayout<T, kOuter, kDepth>,
                                      TileLayout<kOuter, kDepth, kBlock, kGroup, kWays>>::Type;
  static constexpr bool kIsStraight = kIsCopied && kHasShift<Source>;
  static constexpr bool kHasRowPointers = kIsStraight && kIsDepthLast && kHasOpenDepth<Source>;  // how far rows lie apart is no immediate
  static constexpr int kOuterVector = kIsDepthLast ? 1 : kVector;
  static constexpr int kDepthVector = kIsDepthLast ? kLanesDepth * kVector : 1;
  static constexpr int kVectorsStep = kIsDepthLast ? kLanesDepth * kOuter : kOuter / kVector;  // before depth moves on
  static constexpr int kRows = greatest(1, kVectorsStep / kThreads);
  static constexpr int kOuterStep = kThreads / (kIsDepthLast ? kLanesDepth : 1) * kOuterVector;
  static constexpr int kDepthStep = greatest(1, kThreads / kVectorsStep) * kDepthVector;
  static_assert(kIsDepthLast ? kDepth % kVector == 0 : kOuter % kVector == 0, "whole vectors");
  static_assert(!kIsSwapped || !kIsDepthLast || kRows == 1 || kOuterStep % 2 == 0, "a thread's rows are all of the same place in their pairs");
  static_assert(kIsCopied || kItems <= 64, "one bit an item");
  using Bits = typename Conditional<(kItems > 32), unsigned long long, unsigned>::Type;

  Source source;
  int thread;
  int first_outer;  // of this thread, in the tile
  int first_depth;
  typename Source::Row rows[kRows];
  const T *first;  // this thread's element of the tile at depth 0, where places are fixed
  const T *row_next[kHasRowPointers ? kRows : 1];  // the same in each of its rows, at the depth of the tile that is copied next without checks
  typename Functor::template Inputs<kVector> inputs[kIsCopied ? 1 : kItems];
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
    if constexpr (kIsStraight) {
      using Load = typename Functor::Load0;
      bool is_inside = true;
      first = Load::pointer(arguments) + Load::Map::offset(arguments, source.place(arguments, rows[0], 0, first_depth).at, is_inside);
      if constexpr (kHasRowPointers) {
        NAUTILUS_UNROLL
        for (int row = 0; row < kRows; ++row) row_next[row] = first + distance(arguments, row * kOuterStep, 0);
      }
    }
  }

  // How far apart elements lie, where that is the same everywhere.
  template <class A>
  NAUTILUS_DEVICE static auto distance(const A &arguments, int outer, int depth) {
    using Map = typename Functor::Load0::Map;
    bool is_inside = true;
    return Map::offset(arguments, Source::shift(outer, depth), is_inside) - Map::offset(arguments, Source::shift(0, 0), is_inside);
  }

  // Moves on by DEPTH what is copied next without checks.
  template <class A>
  NAUTILUS_DEVICE void move(const A &arguments, int depth) {
    if constexpr (kHasRowPointers) {
      NAUTILUS_UNROLL
      for (int row = 0; row < kRows; ++row) row_next[row] += distance(arguments, 0, depth);
    }
  }

  // Whether the tile of rows that begins at TILE_OUTER has no others than there are.
  template <class A>
  NAUTILUS_DEVICE bool has_all_rows(const A &arguments, int tile_outer) const {
    return Source::is_whole_outer(kOuter) || source.row(arguments, tile_outer + kOuter - 1).is_inside;
  }

  NAUTILUS_DEVICE bool is_active() const { return kVectors >= kThreads || thread < kVectors; }

  // The place of an item's first element: it differs from the thread's first one in other bits than that has.
  NAUTILUS_DEVICE int place_of(int item) const {
    return Layout::join(Layout::place(first_depth, kIsSwapped && kIsDepthLast ? first_outer ^ 1 : first_outer), Layout::place(item / kRows * kDepthStep, item % kRows * kOuterStep));
  }

  // Copies the PART-th of PARTS of the tile that begins at TILE_DEPTH. What is not there is zero where it is checked; else all is there, and
  // `move` has come to that depth.
  template <int kParts, bool kIsChecked = true, class A>
  NAUTILUS_DEVICE void copy(const A &arguments, int tile_depth, T *tile, int part) const {
    static_assert(kIsCopied, "only what nothing is computed of is copied");
    if (!is_active()) return;
    using Load = typename Functor::Load0;
    constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
    constexpr int kOften = (kItems + kParts - 1) / kParts;
    NAUTILUS_UNROLL
    for (int i = 0; i < kOften; ++i) {
      const int item = part * kOften + i;
      if (item >= kItems) break;
      bool is_inside = true;
      if constexpr (kIsStraight) {
        const T *from;
        if constexpr (kHasRowPointers && !kIsChecked) {
          from = row_next[item % kRows] + distance(arguments, 0, item / kRows * kDepthStep);
        } else {
          from = first + distance(arguments, 0, tile_depth) + distance(arguments, item % kRows * kOuterStep, item / kRows * kDepthStep);
        }
        const bool is_row = !kIsChecked || Source::is_whole_outer(kOuter) || rows[item % kRows].is_inside;
        const bool is_depth = !kIsChecked || Source::is_whole(kDepth) || tile_depth + first_depth + item / kRows * kDepthStep < source.depth(arguments);
        const int bytes = is_row && is_depth ? kBytes : 0;
        if constexpr (Layout::kIsAdded) {
          constexpr int kSize = static_cast<int>(sizeof(T));
          const int behind = Layout::place(item / kRows * kDepthStep, item % kRows * kOuterStep) * kSize;
          device::cp_async_behind<kBytes>(device::shared_place(tile + place_of(0)), behind, from, bytes);
        } else {
          device::cp_async<kBytes>(tile + place_of(item), from, bytes);
        }
      } else {
        const typename Source::Row &row = rows[item % kRows];
        const int depth = first_depth + item / kRows * kDepthStep;
        const auto place = source.place(arguments, row, tile_depth, depth);
        is_inside = row.is_inside && place.is_inside && (Source::is_whole(kDepth) || tile_depth + depth < source.depth(arguments));
        const auto offset = is_inside ? Load::Map::offset(arguments, place.at, is_inside) : 0;
        device::cp_async<kBytes>(tile + place_of(item), Load::pointer(arguments) + (is_inside ? offset : 0), is_inside ? kBytes : 0);
      }
    }
  }

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
      const int place = place_of(item);
      if constexpr (kIsDepthLast) {
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) tile[Layout::join(place, Layout::place(lane, 0))] = values[lane];
      } else {
        constexpr int kPiece = least(kVector, kBlock);
        NAUTILUS_UNROLL
        for (int first = 0; first < kVector; first += kPiece) {
          Vector<T, kPiece> piece;
          NAUTILUS_UNROLL
          for (int i = 0; i < kPiece; ++i) piece[i] = values[first + (kIsSwapped ? i ^ 1 : i)];
          *reinterpret_cast<Vector<T, kPiece> *>(tile + Layout::join(place, Layout::place(0, first))) = piece;
        }
      }
    }
  }
};

}  // namespace nautilus::kernels
