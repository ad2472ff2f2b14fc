// One operand's tile of a matrix product on tensor cores: from global memory to shared memory, in the type that these multiply.
//
// A tile has the order of its source: [outer][depth] where the depth is the last coordinate, else [depth][outer]. Chunks of 16 bytes are
// swapped within their row, so that the eight rows that a matrix of ldmatrix is read from lie in different banks. Where the source is a
// plain tensor of that very type, vectors go straight to shared memory (cp.async); else they pass through registers, where the functor
// computes.
#pragma once

#include <nautilus/core/convert.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/product_tile.cuh>

namespace nautilus::kernels {

// Where the chunks of a tile lie. All numbers are powers of two.
template <class T, bool kIsDepthLast, int kOuter, int kDepth>
struct MmaTileLayout {
  static constexpr bool kHasDepthLast = kIsDepthLast;
  static constexpr int kChunkBytes = 16;
  static constexpr int kRows = kIsDepthLast ? kOuter : kDepth;
  static constexpr int kRow = kIsDepthLast ? kDepth : kOuter;  // elements
  static constexpr int kRowBytes = kRow * static_cast<int>(sizeof(T));
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kChunks = kRowBytes / kChunkBytes;
  static constexpr int kWays = least(kChunks, 8);
  static constexpr int kRowsLine = greatest(1, 128 / kRowBytes);  // of a line of all banks
  // Elements of 32 bits cannot be transposed by ldmatrix: lanes read them one by one, from four rows and two chunks of each at once.
  static constexpr bool kIsReadSingly = !kIsDepthLast && sizeof(T) == 4;
  static_assert(kRowBytes >= 32, "rows of two chunks at least");

  // What is swapped with chunk 0 of a row.
  NAUTILUS_DEVICE static constexpr int way(int row) {
    return kIsReadSingly ? (row % 4 * 2) & (kWays - 1) : static_cast<int>(static_cast<unsigned>(row) / kRowsLine % kWays);
  }
  // The byte at which a chunk begins.
  NAUTILUS_DEVICE static constexpr int place(int row, int chunk) { return row * kRowBytes + (chunk ^ way(row)) * kChunkBytes; }
  // The byte at which an element begins.
  NAUTILUS_DEVICE static constexpr int place_of(int row, int element) {
    constexpr int kElements = kChunkBytes / static_cast<int>(sizeof(T));
    return place(row, element / kElements) + element % kElements * static_cast<int>(sizeof(T));
  }
};

// Brings tiles of a source of kOuter by kDepth elements into shared memory, by vectors of kVector along the source's last coordinate. With
// kMayCopy false nothing is copied past registers; with kRounds floats become tf32 on the way.
//
// What is computed is read without asking whether it lies inside, at the first row or depth where it does not: so the compiler sees which
// items of a thread read the same, and keeps what is read as it is until it is used. PRECONDITION: there is a row.
template <class T, class Source, int kOuter, int kDepth, int kVector, int kThreads, bool kMayCopy = true, bool kRounds = false>
struct MmaTileLoader {
  using Functor = typename Source::Functor;
  using Layout = MmaTileLayout<T, Source::kIsDepthLast, kOuter, kDepth>;
  static constexpr bool kIsDepthLast = Source::kIsDepthLast;
  static constexpr bool kIsCopied = kMayCopy && is_copied<T, Functor, kVector>();
  static constexpr int kVectorsRow = Layout::kRow / kVector;
  static constexpr int kVectors = Layout::kRows * kVectorsRow;
  static constexpr int kItems = greatest(1, kVectors / kThreads);
  static constexpr int kItemsRow = greatest(1, kVectorsRow / kThreads);  // of a thread in one row
  static constexpr int kRowStep = greatest(1, kThreads / kVectorsRow);
  static constexpr int kRowItems = kItems / kItemsRow;                  // rows of a thread
  static constexpr int kOuters = kIsDepthLast ? kRowItems : kItemsRow;  // outer places of a thread
  static constexpr int kHeld = kIsCopied ? 1 : kItems;
  static_assert(Layout::kRow % kVector == 0, "whole vectors");
  static_assert(kItems <= 64, "one bit an item");
  using Bits = typename Conditional<(kItems > 32), unsigned long long, unsigned>::Type;

  Source source;
  bool is_active;
  int first_row;  // of this thread, in the tile
  int first_element;
  typename Source::Row outers[kOuters];
  typename Functor::template Inputs<kVector> inputs[kHeld];
  Bits inside;  // bit: the item of that number was read

  MmaTileLoader() = default;

  template <class A>
  NAUTILUS_DEVICE MmaTileLoader(const A &arguments, const Source &from, int tile_outer, int thread)
      : source(from),
        is_active(kVectors >= kThreads || thread < kVectors),
        first_row(static_cast<int>(static_cast<unsigned>(thread) / kVectorsRow)),
        first_element(static_cast<int>(static_cast<unsigned>(thread) % kVectorsRow) * kVector),
        inside(0) {
    NAUTILUS_UNROLL
    for (int i = 0; i < kOuters; ++i) {
      outers[i] = source.row(arguments, tile_outer + (kIsDepthLast ? first_row + i * kRowStep : first_element + i * kThreads * kVector));
    }
  }

  NAUTILUS_DEVICE int row(int item) const { return first_row + item / kItemsRow * kRowStep; }
  NAUTILUS_DEVICE int element(int item) const { return first_element + item % kItemsRow * kThreads * kVector; }
  NAUTILUS_DEVICE int depth(int item) const { return kIsDepthLast ? element(item) : row(item); }
  NAUTILUS_DEVICE const typename Source::Row &outer(int item) const { return outers[kIsDepthLast ? item / kItemsRow : item % kItemsRow]; }
  template <class A>
  NAUTILUS_DEVICE auto from(const A &arguments, int tile_depth, int item) const {
    const bool is_depth = Source::is_whole(kDepth) || tile_depth + depth(item) < source.depth(arguments);
    typename Source::Row own = outer(item);
    if constexpr (!kIsCopied) {
      if (!own.is_inside) own = source.row(arguments, 0);
      auto place = source.place(arguments, own, is_depth ? tile_depth : 0, is_depth ? depth(item) : 0);
      place.is_inside = place.is_inside && outer(item).is_inside && is_depth;
      return place;
    } else {
      auto place = source.place(arguments, own, tile_depth, depth(item));
      place.is_inside = place.is_inside && own.is_inside && is_depth;
      return place;
    }
  }

  // Starts the copy of the tile that begins at TILE_DEPTH, or the reads of it. What lies outside becomes zero.
  template <class A>
  NAUTILUS_DEVICE void start(const A &arguments, int tile_depth, unsigned char *tile) {
    inside = 0;
    if (!is_active) return;
    NAUTILUS_UNROLL
    for (int item = 0; item < kItems; ++item) {
      const auto place = from(arguments, tile_depth, item);
      if constexpr (kIsCopied) {
        using Load = typename Functor::Load0;
        bool is_inside = place.is_inside;
        const auto offset = is_inside ? Load::Map::offset(arguments, place.at, is_inside) : 0;
        constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
        device::cp_async<kBytes>(tile + Layout::place_of(row(item), element(item)), Load::pointer(arguments) + (is_inside ? offset : 0),
                                 is_inside ? kBytes : 0);
      } else {
        inputs[item] = Functor::template load<kVector>(arguments, place.at);
        inside |= Bits(place.is_inside ? 1 : 0) << item;
      }
    }
  }

  // Finishes the values that the last start has read, and stores them; copies finish by themselves.
  template <class A>
  NAUTILUS_DEVICE void finish(const A &arguments, int tile_depth, unsigned char *tile) const {
    if constexpr (!kIsCopied) {
      if (!is_active) return;
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        const auto place = from(arguments, tile_depth, item);
        const auto computed = Functor::template compute<kVector>(arguments, place.at, inputs[item]);
        const bool is_kept = (inside >> item & 1) != 0;
        constexpr int kPiece = least(kVector, 16 / static_cast<int>(sizeof(T)));
        NAUTILUS_UNROLL
        for (int first = 0; first < kVector; first += kPiece) {
          Vector<T, kPiece> piece;
          NAUTILUS_UNROLL
          for (int i = 0; i < kPiece; ++i) {
            piece[i] = is_kept ? device::convert<T>(computed[first + i]) : T{};
            if constexpr (kRounds) piece[i] = device::bit_cast<float>(device::to_tf32(piece[i]));
          }
          *reinterpret_cast<Vector<T, kPiece> *>(tile + Layout::place_of(row(item), element(item) + first)) = piece;
        }
      }
    }
  }
};

}  // namespace nautilus::kernels
