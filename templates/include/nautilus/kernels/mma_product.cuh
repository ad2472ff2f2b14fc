// The main loop of matrix products on tensor cores by mma.sync: tiles through a ring of stages in shared memory, sums in registers.
//
// A block computes kTileM by kTileN results, each of its warps kWarpM by kWarpN of them over a share of every tile's depth: the sums of
// kSlicesK warps are added in order at the end. So are those of the kClusterK blocks of a cluster, each of which has a share of the tiles.
// Copies run kStages - 1 tiles ahead.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_result_rows.cuh>
#include <nautilus/kernels/mma_tile.cuh>
#include <nautilus/kernels/mma_word_tile.cuh>
#include <nautilus/kernels/product.cuh>
#include <nautilus/kernels/row_moments.cuh>
#include <nautilus/kernels/row_statistics.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Threads of a block.
template <class Schedule>
inline constexpr int kMmaThreads =
    Schedule::kTileM / Schedule::kWarpM * (Schedule::kTileN / Schedule::kWarpN) * Schedule::kSlicesK * device::kWarpThreads;

// Which results of the block's tile a warp computes, and from which share of the depth.
template <class Schedule>
struct WarpPlace {
  static constexpr int kWarpsN = Schedule::kTileN / Schedule::kWarpN;
  static constexpr int kWarps = Schedule::kTileM / Schedule::kWarpM * kWarpsN;  // of a slice
  static constexpr int kRows = Schedule::kWarpM / 16;                           // of mma
  static constexpr int kPairs = Schedule::kWarpN / 16;                          // of columns of mma
  int number, m, n, slice;

  NAUTILUS_DEVICE explicit WarpPlace(int warp)
      : number(warp % kWarps), m(warp % kWarps / kWarpsN * Schedule::kWarpM), n(warp % kWarpsN * Schedule::kWarpN), slice(warp / kWarps) {}
};

// One step of depth of an operand, kTiles times 16 rows of A or columns of B from FIRST on, as mma_block takes it. In a register of A, bit
// 0 of its number says whether it is of the second eight rows and bit 1 whether of the second half of the depth; for B it is the other way
// round.
template <class T, class Layout, bool kIsLeft, int kTiles>
NAUTILUS_DEVICE void load_fragments(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) {
  constexpr int kHalfDepth = device::kMmaDepth<T> / 2;
  const int lane = device::lane_index();
  if constexpr (Layout::kIsReadSingly) {
    NAUTILUS_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      NAUTILUS_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int outer = first + 16 * i + lane / 4 + (kIsLeft ? r % 2 : r / 2) * 8;
        const int at = depth + lane % 4 + (kIsLeft ? r / 2 : r % 2) * kHalfDepth;
        fragments[i][r] = device::load_shared<uint32>(reinterpret_cast<const uint32 *>(tile + Layout::place_of(at, outer)));
      }
    }
  } else {
    // The lane names a row of matrix lane / 8, which goes to the register of that number.
    const int outer = first + (kIsLeft ? lane / 8 % 2 : lane / 16) * 8;
    const int at = depth + (kIsLeft ? lane / 16 : lane / 8 % 2) * kHalfDepth;
    if constexpr (Layout::kHasDepthLast) {
      device::load_matrix_tiles(fragments, [&](int i) { return tile + Layout::place_of(outer + lane % 8 + 16 * i, at); });
    } else {
      device::load_matrix_tiles<true>(fragments, [&](int i) { return tile + Layout::place_of(at + lane % 8, outer + 16 * i); });
    }
  }
}

// How an operand's tiles are brought, and how a warp reads its kTiles fragments of them.
template <class T, class Source, bool kIsLeft, int kOuter, int kDepth, int kVector, int kThreads, int kTiles, bool = is_brought_by_words<T, Source, kVector>()>
struct MmaOperand {
  using Loader = MmaTileLoader<T, Source, kOuter, kDepth, kVector, kThreads>;
  using Layout = typename Loader::Layout;

  template <class A>
  NAUTILUS_DEVICE MmaOperand(const A &, const Source &, int) {}
  NAUTILUS_DEVICE void load(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) const {
    load_fragments<T, Layout, kIsLeft>(fragments, tile, first, depth);
  }
};
template <class T, class Source, bool kIsLeft, int kOuter, int kDepth, int kVector, int kThreads, int kTiles>
struct MmaOperand<T, Source, kIsLeft, kOuter, kDepth, kVector, kThreads, kTiles, true> {
  using Loader = MmaWordLoader<T, Source, kOuter, kDepth, kThreads>;
  using Layout = typename Loader::Layout;
  WordFragments<T, Source, kIsLeft, kTiles> read;

  template <class A>
  NAUTILUS_DEVICE MmaOperand(const A &arguments, const Source &source, int first) : read(arguments, source, first) {}
  NAUTILUS_DEVICE void load(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) const {
    read.template load<Layout>(fragments, tile, first, depth);
  }
};

// Rounds floats in registers to tf32, and what that leaves.
template <int kTiles>
NAUTILUS_DEVICE void split(uint32 (&fragments)[kTiles][4], uint32 (&rest)[kTiles][4]) {
  NAUTILUS_UNROLL
  for (int i = 0; i < kTiles; ++i) {
    NAUTILUS_UNROLL
    for (int r = 0; r < 4; ++r) {
      const float value = device::bit_cast<float>(fragments[i][r]);
      fragments[i][r] = device::to_tf32(value);
      rest[i][r] = device::to_tf32(value - device::bit_cast<float>(fragments[i][r]));
    }
  }
}

// Adds the product of one step to the sums. A float is multiplied as tf32: rounded, or with kTerms 3 as the sum of two such numbers, so
// that only the product of the smaller ones is left out.
template <class T, int kTerms, int kRows, int kPairs>
NAUTILUS_DEVICE void add_step(float (&sums)[kRows][2 * kPairs][4], uint32 (&a)[kRows][4], uint32 (&b)[kPairs][4]) {
  if constexpr (kIsSameType<T, float>) {
    uint32 a_rest[kRows][4], b_rest[kPairs][4];
    split(a, a_rest);
    split(b, b_rest);
    if constexpr (kTerms == 3) {
      device::mma_block<T>(sums, a_rest, b);
      device::mma_block<T>(sums, a, b_rest);
    }
  }
  device::mma_block<T>(sums, a, b);
}

// Gives each lane neighbouring columns of its rows, VECTOR of them: of 2, what mma gives; of 4, lanes that differ in bit 0 exchange half of
// what they hold; of 8, those that differ in bit 1 too.
template <int kVector, int kPairs>
NAUTILUS_DEVICE void exchange_columns(float (&sums)[2 * kPairs][4]) {
  struct Half {
    float values[kPairs][4];
  };
  NAUTILUS_UNROLL
  for (int bit = 1; 2 * bit < kVector; bit *= 2) {
    const bool is_second = (device::lane_index() & bit) != 0;
    Half half;
    NAUTILUS_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const int first = i / bit * 2 * bit + i % bit;
      NAUTILUS_UNROLL
      for (int e = 0; e < 4; ++e) half.values[i][e] = is_second ? sums[first][e] : sums[first + bit][e];
    }
    half = device::shuffle_xor(half, bit);
    NAUTILUS_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const int first = i / bit * 2 * bit + i % bit;
      NAUTILUS_UNROLL
      for (int e = 0; e < 4; ++e) {  // no choice of a place: that would not be a register
        sums[first][e] = is_second ? half.values[i][e] : sums[first][e];
        sums[first + bit][e] = is_second ? sums[first + bit][e] : half.values[i][e];
      }
    }
  }
}

// Hands kRows times 16 rows and kPairs times 16 columns of results to the epilogue, from FIRST_ROW and FIRST_COLUMN of the tile on. Reads of
// a row are issued before its first store; of single results eight at once, since sixteen of them were neither predicated by the compiler, so
// that each read was waited for in a branch of its own, nor given addresses from one base: 28 instructions a result in place of 8 (open sizes,
// a mask that is read, sm_90a).
template <class Schedule, int kRows, int kPairs, class Sink, class A>
NAUTILUS_DEVICE void finish_warp(const A &arguments, const Sink &sink, TileIndex tile, int first_row, int first_column,
                                 float (&sums)[kRows][2 * kPairs][4]) {
  using Epilogue = typename Sink::Epilogue;
  constexpr int kVector = Schedule::kVectorC;
  constexpr int kTogether = greatest(2, kVector);  // columns that a lane holds side by side
  constexpr int kGroup = kTogether / 2;            // of steps along n
  constexpr int kVectors = 4 * kPairs / kVector;
  constexpr int kAtOnce = kVector == 1 && Sink::kPartColumns == 0 ? least(kVectors, 8) : kVectors, kTurns = kVectors / kAtOnce;
  const int lane = device::lane_index(), in_group = lane % 4;
  const int column = (in_group % kGroup) * 8 + in_group / kGroup * kTogether;
  typename Sink::Row rows[2 * kRows];
  NAUTILUS_UNROLL
  for (int i = 0; i < 2 * kRows; ++i) rows[i] = sink.row(arguments, tile.m * Schedule::kTileM + first_row + 8 * i + lane / 4);
  LaneMoments<4, Sink, 2 * kRows> moments;
  moments.start(arguments, sink, rows);
  moments.join();
  NAUTILUS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    exchange_columns<kTogether, kPairs>(sums[i]);
    NAUTILUS_UNROLL
    for (int turn = 0; turn < 2 * kTurns; ++turn) {
      const int half = turn / kTurns, first = turn % kTurns * kAtOnce;
      const auto row = rows[2 * i + half];
      const auto place = [&](int v) {  // of a vector
        return tile.n * Schedule::kTileN + first_column + v * kVector / kTogether * 8 * kGroup + column + v * kVector % kTogether;
      };
      typename Epilogue::template Inputs<kVector> inputs[kAtOnce];
      NAUTILUS_UNROLL
      for (int v = first; v < first + kAtOnce; ++v) {
        if (row.is_inside && sink.has_column(arguments, place(v)))
          inputs[v - first] = Epilogue::template load<kVector>(arguments, sink.at(row, place(v)));
      }
      KeptPart<Sink, 1> kept;
      NAUTILUS_UNROLL
      for (int v = first; v < first + kAtOnce; ++v) {
        if (row.is_inside && sink.has_column(arguments, place(v))) {
          Vector<float, kVector> values;
          NAUTILUS_UNROLL
          for (int e = 0; e < kVector; ++e) {
            const int held = v * kVector + e;
            values[e] = sums[i][held / 2][2 * half + held % 2];
          }
          const auto at = sink.at(row, place(v));
          const auto outputs = moments.template evaluate<Epilogue>(2 * i + half, arguments, at, inputs[v - first], values);
          Epilogue::put(arguments, at, outputs);
          kept.keep(0, v * kVector, outputs.result);
        }
        kept.finish(arguments, sink, row, 0, (v + 1) * kVector, tile.n * Schedule::kTileN + first_column);
      }
    }
  }
}

// How the sums of a warp's place are shared out for finishing: among all slices of all blocks of the cluster, or as many as there are units
// of 16 rows and of columns that lanes exchange.
template <class Schedule>
struct FinishShares {
  using Warps = WarpPlace<Schedule>;
  static constexpr int kParts = Schedule::kSlicesK * Schedule::kClusterK;
  static constexpr int kUnitPairs = greatest(1, Schedule::kVectorC / 4);
  static constexpr int kShares = least(kParts, Warps::kRows * (Warps::kPairs / kUnitPairs));
  static constexpr int kSharesRows = least(Warps::kRows, kShares);
  static constexpr int kSharesColumns = kShares / kSharesRows;
  static constexpr int kRows = Warps::kRows / kSharesRows;
  static constexpr int kPairs = Warps::kPairs / kSharesColumns;
};

// Adds the sums of the slices and of the cluster's blocks in order, through shared memory; each finishes a share of them.
template <class Schedule, class Sink, class A>
NAUTILUS_DEVICE void finish_warp_slices(const A &arguments, const Sink &sink, TileIndex tile, const WarpPlace<Schedule> &warp,
                                        float *shared, float (&sums)[WarpPlace<Schedule>::kRows][2 * WarpPlace<Schedule>::kPairs][4]) {
  using Warps = WarpPlace<Schedule>;
  using Shares = FinishShares<Schedule>;
  constexpr int kCluster = Schedule::kClusterK;
  constexpr int kRows = Warps::kRows, kColumns = 2 * Warps::kPairs, kOwnColumns = 2 * Shares::kPairs;
  const int lane = device::lane_index();
  // Every register of a warp is a line of shared memory.
  const auto line = [&](int slice, int row, int column, int e) {
    return shared + (((slice * Warps::kWarps + warp.number) * kRows + row) * kColumns * 4 + column * 4 + e) * device::kWarpThreads + lane;
  };
  const auto load = [&](int block, int slice, int row, int column, int e) {
    if constexpr (kCluster == 1) {
      return *line(slice, row, column, e);
    } else {
      return device::load_shared_at(line(slice, row, column, e), block);
    }
  };
  const auto barrier = [] {
    if constexpr (kCluster == 1) {
      device::block_barrier();
    } else {
      device::cluster_barrier();
    }
  };
  device::block_barrier();  // the last tile has been read
  NAUTILUS_UNROLL
  for (int i = 0; i < kRows; ++i) {
    NAUTILUS_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      NAUTILUS_UNROLL
      for (int e = 0; e < 4; ++e) *line(warp.slice, i, j, e) = sums[i][j][e];
    }
  }
  barrier();
  const int part = warp.slice * kCluster + device::block_index().x % kCluster;
  if (part < Shares::kShares) {
    const int first_row = part / Shares::kSharesColumns * Shares::kRows, first_pair = part % Shares::kSharesColumns * Shares::kPairs;
    float totals[Shares::kRows][kOwnColumns][4] = {};
    NAUTILUS_UNROLL
    for (int block = 0; block < kCluster; ++block) {
      NAUTILUS_UNROLL
      for (int slice = 0; slice < Schedule::kSlicesK; ++slice) {
        NAUTILUS_UNROLL
        for (int i = 0; i < Shares::kRows; ++i) {
          NAUTILUS_UNROLL
          for (int j = 0; j < kOwnColumns; ++j) {
            NAUTILUS_UNROLL
            for (int e = 0; e < 4; ++e) totals[i][j][e] += load(block, slice, first_row + i, 2 * first_pair + j, e);
          }
        }
      }
    }
    finish_warp<Schedule, Shares::kRows, Shares::kPairs>(arguments, sink, tile, warp.m + 16 * first_row, warp.n + 16 * first_pair, totals);
  }
  if constexpr (kCluster > 1) barrier();  // others may still read this block's sums
}

// Whether results pass through shared memory: where vectors are short, and lanes need not have parts of rows in common.
template <class Schedule, class Sink>
inline constexpr bool kFinishesByRows = Schedule::kVectorC <= 4 && Schedule::kSlicesK * Schedule::kClusterK == 1 && Sink::kPartColumns == 0 &&
                                        Sink::kMomentParts == 0;

// Computes one tile of results. SOURCE_A gives the rows, SOURCE_B the columns, SINK takes the results; T is multiplied. A constant B is brought
// before earlier kernels have finished.
template <class Schedule, class T, int kTerms, bool kBIsConstant, class SourceA, class SourceB, class Sink, class A>
NAUTILUS_DEVICE void mma_product(const A &arguments, const SourceA &source_a, const SourceB &source_b, const Sink &sink, TileIndex tile) {
  constexpr int kThreads = kMmaThreads<Schedule>, kStages = Schedule::kStages;
  using Warps = WarpPlace<Schedule>;
  using OperandA = MmaOperand<T, SourceA, true, Schedule::kTileM, Schedule::kTileK, Schedule::kVectorA, kThreads, Warps::kRows>;
  using OperandB = MmaOperand<T, SourceB, false, Schedule::kTileN, Schedule::kTileK, Schedule::kVectorB, kThreads, Warps::kPairs>;
  using LoaderA = typename OperandA::Loader;
  using LoaderB = typename OperandB::Loader;
  using LayoutA = typename OperandA::Layout;
  using LayoutB = typename OperandB::Layout;
  constexpr int kStage = LayoutA::kBytes + LayoutB::kBytes;
  constexpr int kStep = device::kMmaDepth<T>;
  constexpr int kSteps = Schedule::kTileK / kStep / Schedule::kSlicesK;
  static_assert(kSteps > 0, "each slice has a step of a tile");

  const int thread = device::thread_index().x;
  const Warps warp(thread / device::kWarpThreads);
  unsigned char *const shared = device::dynamic_shared<unsigned char>();
  float sums[Warps::kRows][2 * Warps::kPairs][4] = {};

  LoaderA loader_a(arguments, source_a, tile.m * Schedule::kTileM, thread);
  LoaderB loader_b(arguments, source_b, tile.n * Schedule::kTileN, thread);
  const OperandA operand_a(arguments, source_a, tile.m * Schedule::kTileM + warp.m);
  const OperandB operand_b(arguments, source_b, tile.n * Schedule::kTileN + warp.n);
  const int all_tiles = ceil_divide(source_a.depth(arguments), Schedule::kTileK);
  const int share = ceil_divide(all_tiles, Schedule::kClusterK);
  const int first_tile = least(all_tiles, device::block_index().x % Schedule::kClusterK * share);
  const int tiles = least(share, all_tiles - first_tile);
  const auto start_a = [&](int number, unsigned char *stage) {
    if (number < tiles) loader_a.start(arguments, (first_tile + number) * Schedule::kTileK, stage);
  };
  const auto start_b = [&](int number, unsigned char *stage) {
    if (number < tiles) loader_b.start(arguments, (first_tile + number) * Schedule::kTileK, stage + LayoutA::kBytes);
  };
  const auto finish = [&](int number, unsigned char *stage) {
    if (number < tiles) {
      loader_a.finish(arguments, (first_tile + number) * Schedule::kTileK, stage);
      loader_b.finish(arguments, (first_tile + number) * Schedule::kTileK, stage + LayoutA::kBytes);
    }
  };
  constexpr bool kIsBEarly = kBIsConstant && LoaderB::kIsCopied;
  if constexpr (kIsBEarly) {
    NAUTILUS_UNROLL
    for (int number = 0; number < kStages - 1; ++number) start_b(number, shared + number * kStage);
  }
  device::dependency_wait();
  NAUTILUS_UNROLL
  for (int number = 0; number < kStages - 1; ++number) {
    start_a(number, shared + number * kStage);
    if constexpr (!kIsBEarly) start_b(number, shared + number * kStage);
    device::cp_async_commit();
    finish(number, shared + number * kStage);
  }
  unsigned char *reading = shared, *filling = shared + (kStages - 1) * kStage;
  for (int number = 0; number < tiles; ++number) {
    device::cp_async_wait<kStages - 2>();
    device::block_barrier();  // the tile is there, and the one before it has been read
    start_a(number + kStages - 1, filling);
    start_b(number + kStages - 1, filling);
    device::cp_async_commit();
    uint32 a[2][Warps::kRows][4], b[2][Warps::kPairs][4];
    const auto load = [&](int step) {
      const int depth = (warp.slice * kSteps + step) * kStep;
      operand_a.load(a[step % 2], reading, warp.m, depth);
      operand_b.load(b[step % 2], reading + LayoutA::kBytes, warp.n, depth);
    };
    load(0);
    if constexpr (kTerms == 1) {
      NAUTILUS_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        if (step + 1 < kSteps) load(step + 1);
        add_step<T, kTerms>(sums, a[step % 2], b[step % 2]);
      }
    } else {
      // Tensor cores cut off what they add to a sum; a short one loses little, and threads add it with rounding.
      float partial[Warps::kRows][2 * Warps::kPairs][4] = {};
      NAUTILUS_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        if (step + 1 < kSteps) load(step + 1);
        add_step<T, kTerms>(partial, a[step % 2], b[step % 2]);
      }
      NAUTILUS_UNROLL
      for (int i = 0; i < Warps::kRows; ++i) {
        NAUTILUS_UNROLL
        for (int j = 0; j < 2 * Warps::kPairs; ++j) {
          NAUTILUS_UNROLL
          for (int e = 0; e < 4; ++e) sums[i][j][e] += partial[i][j][e];
        }
      }
    }
    finish(number + kStages - 1, filling);
    reading = reading == shared + (kStages - 1) * kStage ? shared : reading + kStage;
    filling = filling == shared + (kStages - 1) * kStage ? shared : filling + kStage;
  }
  device::cp_async_wait<0>();
  device::dependency_trigger();
  if constexpr (kFinishesByRows<Schedule, Sink>) {
    device::block_barrier();  // the last tile has been read
    finish_by_rows<Schedule, Warps::kRows, Warps::kPairs>(
        arguments, sink, tile, warp.m, warp.n, sums,
        reinterpret_cast<float *>(shared) + warp.number * ResultRows<Schedule::kVectorC, Warps::kPairs>::kFloats);
  } else if constexpr (Schedule::kSlicesK * Schedule::kClusterK == 1) {
    finish_warp<Schedule, Warps::kRows, Warps::kPairs>(arguments, sink, tile, warp.m, warp.n, sums);
  } else {
    finish_warp_slices<Schedule>(arguments, sink, tile, warp, reinterpret_cast<float *>(shared), sums);
  }
}

}  // namespace nautilus::kernels
