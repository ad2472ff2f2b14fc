// What becomes of the sums of products by mma.sync: those of slices and of a cluster are added in order, and lanes hand neighbouring results
// to the epilogue.
#pragma once

#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_columns.cuh>
#include <nautilus/kernels/product.cuh>
#include <nautilus/kernels/row_moments.cuh>
#include <nautilus/kernels/row_statistics.cuh>

namespace nautilus::kernels {

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

}  // namespace nautilus::kernels
