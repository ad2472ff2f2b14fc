// An operand of a matrix product by wgmma that the threads of a warpgroup load, compute and write where bulk copies would have put it: any
// functor, of any map.
//
// Threads read a tile, or some, into registers, wait until a stage is free, compute, and write.
#pragma once

#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_tile.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>

namespace nautilus::kernels {

// What threads hold of each element of a computed A: numbers of kElementBytes of kStreams loads, of which kSingles bring it alone, and of
// kGathered an index says where. A load alone takes a register, however short it is.
template <int kElementBytes, int kStreams, int kSingles, int kGathered>
struct HeldReads {
  static constexpr int kLoads = kStreams;
  template <int kVector>
  static constexpr int registers() {
    constexpr int kElement = (kElementBytes + 3) / 4;
    return (kStreams - kSingles) * ((kVector * kElementBytes + 3) / 4) + kSingles * kVector * kElement + 4 * kGathered;
  }
};

// A tile of SOURCE's rows, by vectors of kVector along its last coordinate, of which a thread of kRegisters holds READS. 64 rows by
// 128 bytes of depth lie together: boxes of 128 bytes of rows, or rows of 128 bytes, swizzled as tiles of mma.sync are.
template <class T, class SourceType, int kOuter, int kVector, class Reads, int kRegisters, bool kRounds>
struct LoadedOperand : OperandTile<T, SourceType::kIsDepthLast, kOuter> {
  using Tile = OperandTile<T, SourceType::kIsDepthLast, kOuter>;
  using Source = SourceType;
  static constexpr bool kIsLoaded = true;
  static constexpr int kCopiedBytes = 0;
  static constexpr int kWriters = 4;  // warps
  static constexpr int kThreads = kWriters * device::kWarpThreads;
  static constexpr int kBandRows = 64;
  static constexpr int kBands = kOuter / kBandRows;
  using Loader = MmaTileLoader<T, Source, kBandRows, Tile::kDepth, kVector, kThreads, false, kRounds>;
  static_assert(Loader::Layout::kRowBytes == kBoxRowBytes && Loader::Layout::kBytes == Tile::kRowsBytes, "bands of whole swizzles");

  // Registers of what a thread has read of a band, of the places of that, and the most for all that is under way: of many bands, those of
  // the next come before these are gone.
  static constexpr int kBandRegisters =
      Loader::kItems * Reads::template registers<kVector>() + 4 * greatest(0, Source::Functor::kLoads - Reads::kLoads);
  static constexpr int kPlaceRegisters = 2 * Loader::kItems;
  static constexpr int kOtherRegisters = 92;
  static constexpr int kMostRegisters = kBands > 2 ? 16 : greatest(16, least(96, kRegisters - kOtherRegisters - kBands * kPlaceRegisters));
  static constexpr int held_bands() {
    int bands = kBands;
    while (bands > 1 && (kBands % bands != 0 || bands * kBandRegisters > kMostRegisters)) --bands;
    return bands;
  }
  static constexpr int kHeld = held_bands();  // bands whose reads are under way together
  static constexpr int kGroups = kBands / kHeld;
  static constexpr int kWalkRegisters = Source::kIsDepthKnown ? 40 : 48;  // with an open depth the next tile's place is known ahead
  static constexpr bool kSeparatesGroups = kGroups > 1 && kBands * (kBandRegisters + kPlaceRegisters) > kRegisters - kWalkRegisters;
  // Tiles whose reads are under way together: the time until they come is what a tile takes else.
  static constexpr int kAhead = kGroups > 1 ? 1 : greatest(1, least(4, kMostRegisters / (kHeld * kBandRegisters)));

  // The tiles of the rows from FIRST on, kAhead of which are under way: numbers AHEAD.
  struct Rows {
    Source source;
    int first, thread;
    Loader loaders[kAhead][kHeld];

    template <class A>
    NAUTILUS_DEVICE Rows(const A &arguments, const Source &from, int first_row, int thread_number)
        : source(from), first(first_row), thread(thread_number) {
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) place(arguments, ahead, 0);
    }

    // Issues the reads of the first bands of the tile at DEPTH.
    template <class A>
    NAUTILUS_DEVICE void start(const A &arguments, int ahead, int depth) {
      if constexpr (kGroups > 1) place(arguments, ahead, 0);
      read(arguments, ahead, depth);
    }
    // Computes the tile at DEPTH, whose reads have started, and writes it. Both are of one pass of a loop: what is read
    // then stays as narrow as it is.
    template <class A>
    NAUTILUS_DEVICE void finish(const A &arguments, int ahead, int depth, unsigned char *tile) {
      NAUTILUS_UNROLL
      for (int group = 0; group < kGroups; ++group) {
        if (group > 0) {
          if constexpr (kSeparatesGroups) device::warp_barrier();  // no read is moved over it, so that all do not come at once
          place(arguments, ahead, group);
          read(arguments, ahead, depth);
        }
        NAUTILUS_UNROLL
        for (int band = 0; band < kHeld; ++band) {
          loaders[ahead][band].finish(arguments, depth, tile + (group * kHeld + band) * Tile::kRowsBytes);
        }
      }
    }

   private:
    template <class A>
    NAUTILUS_DEVICE void place(const A &arguments, int ahead, int group) {
      NAUTILUS_UNROLL
      for (int band = 0; band < kHeld; ++band) {
        loaders[ahead][band] = Loader(arguments, source, first + (group * kHeld + band) * kBandRows, thread);
      }
    }
    template <class A>
    NAUTILUS_DEVICE void read(const A &arguments, int ahead, int depth) {
      NAUTILUS_UNROLL
      for (int band = 0; band < kHeld; ++band) loaders[ahead][band].start(arguments, depth, nullptr);
    }
  };
};

// Writes A's tiles of all of this block's tiles of the result, from FIRST on, every STEP-th. SOURCE_OF(batch) gives the rows, which begin
// FIRST_ROW further down, of depth from FIRST_TILE on. LOAD_B(place, tile, stage) starts the copy of B's; those of the first EARLY have. Returns
// what would be written next.
template <class Operand, class Walk, class Ring, class A, class SourceOf, class LoadB>
NAUTILUS_DEVICE typename Ring::Place write_tiles(const A &arguments, const Walk &walk, const Ring &ring, int first, int step, int first_row,
                                                 int first_tile, int tiles, int early, SourceOf source_of, LoadB load_b) {
  const int thread = device::thread_index().x;
  typename Ring::Place place;
  typename Walk::Place at{};
  if constexpr (Walk::kHasOpenDepth) at = walk.place(first);  // as in fill_ring
  device::dependency_wait();
  for (int number = first; number < walk.count; number += step) {
    if constexpr (!Walk::kHasOpenDepth) at = walk.place(number);
    typename Operand::Rows rows(arguments, source_of(at.batch), at.m + first_row, thread);
    for (int next = 0; next < tiles; next += Operand::kAhead) {
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < Operand::kAhead; ++ahead) {
        const int tile = least(next + ahead, tiles - 1);  // the last one once more costs less than a branch
        rows.start(arguments, ahead, (first_tile + tile) * Operand::kDepth);
      }
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < Operand::kAhead; ++ahead) {
        const int tile = next + ahead;
        if (tile >= tiles) break;
        device::mbarrier_wait(ring.empty + place.stage, place.parity ^ 1);
        if (thread == 0) {
          if (early > 0) {
            --early;
          } else {
            load_b(at, tile, place.stage);
          }
        }
        rows.finish(arguments, ahead, (first_tile + tile) * Operand::kDepth, ring.a(place.stage));
        device::async_proxy_fence();
        device::warp_barrier();
        if (device::lane_index() == 0) device::mbarrier_arrive(ring.full + place.stage);
        place.advance();
      }
    }
    if constexpr (Walk::kHasOpenDepth) {
      if (number + step < walk.count) at = walk.place(number + step);
    }
  }
  device::dependency_trigger();
  return place;
}

}  // namespace nautilus::kernels
