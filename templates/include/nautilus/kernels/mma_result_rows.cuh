// Results of a warp by rows: its sums pass through shared memory, so that lanes beside each other have neighbouring results. As mma leaves
// them, lanes of a warp have results of eight rows, and where no long vector divides a row, each store touches as many lines for few bytes.
#pragma once

#include <nautilus/core/math.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/product_tile.cuh>

namespace nautilus::kernels {

// Where 16 rows of a warp's sums lie in shared memory, in floats, and which of them a lane finishes.
template <int kVector, int kPairs>
struct ResultRows {
  static constexpr int kColumns = 16 * kPairs;
  static constexpr int kPitch = kColumns + 8;  // neither writes of pairs from eight rows nor reads of rows meet in a bank
  static constexpr int kFloats = 16 * kPitch;
  static constexpr int kLanes = least(kColumns / kVector, device::kWarpThreads);  // of a row
  static constexpr int kTogether = device::kWarpThreads / kLanes;                 // rows
  static constexpr int kAcross = kColumns / kVector / kLanes;                     // vectors of a lane in a row
  static constexpr int kVectors = 16 / kTogether * kAcross;                       // of a lane
  static constexpr int kAtOnce = least(kVectors, 8), kTurns = kVectors / kAtOnce;

  // Of a vector of a lane: what is the same for all lanes, and what for all vectors.
  NAUTILUS_DEVICE static constexpr int row(int vector) { return placed(vector / kAcross * kTogether); }
  NAUTILUS_DEVICE static constexpr int column(int vector) { return vector % kAcross * kLanes * kVector; }
  NAUTILUS_DEVICE static int lane_row() { return placed(static_cast<int>(static_cast<unsigned>(device::lane_index()) / kLanes)); }
  NAUTILUS_DEVICE static int lane_column() { return static_cast<int>(static_cast<unsigned>(device::lane_index()) % kLanes) * kVector; }

 private:
  // Rows of 24 floats: those that are read together are two apart.
  NAUTILUS_DEVICE static constexpr int placed(int row) { return kColumns == 16 ? (row & ~3) | (row & 1) << 1 | (row >> 1 & 1) : row; }
};

// Hands kRows times 16 rows and kPairs times 16 columns of results to the epilogue, from FIRST_ROW and FIRST_COLUMN of the tile on, by way of
// STAGED, which is the warp's own. What is read for the next eight vectors of a lane is asked for before these are stored, and without asking
// whether they are there, in the last row or column where not: what is read in a branch is converted there, and waited for.
template <class Schedule, int kRows, int kPairs, class Sink, class A>
NAUTILUS_DEVICE void finish_by_rows(const A &arguments, const Sink &sink, TileIndex tile, int first_row, int first_column,
                                    const float (&sums)[kRows][2 * kPairs][4], float *staged) {
  using Epilogue = typename Sink::Epilogue;
  constexpr int kVector = Schedule::kVectorC;
  using Rows = ResultRows<kVector, kPairs>;
  constexpr int kAtOnce = Rows::kAtOnce, kTurns = kRows * Rows::kTurns;
  const int lane = device::lane_index();
  const int own_row = tile.m * Schedule::kTileM + first_row + Rows::lane_row();
  const int own_column = tile.n * Schedule::kTileN + first_column + Rows::lane_column();
  const float *const own_sums = staged + Rows::lane_row() * Rows::kPitch + Rows::lane_column();
  const int last_row = sink.last_row(arguments), last_column = sink.last_column(arguments, kVector);
  const auto row = [&](int turn, int v) { return own_row + turn / Rows::kTurns * 16 + Rows::row(turn % Rows::kTurns * kAtOnce + v); };
  const auto at = [&](int m, int n) { return sink.at(typename Sink::Row{m, true}, n); };
  const auto column = [&](int v) { return own_column + Rows::column(v); };
  typename Epilogue::template Inputs<kVector> inputs[2][kAtOnce];
  const auto read = [&](int turn) {
    NAUTILUS_UNROLL
    for (int v = 0; v < kAtOnce; ++v)
      inputs[turn % 2][v] = Epilogue::template load<kVector>(arguments, at(least(row(turn, v), last_row), least(column(v), last_column)));
  };
  read(0);
  NAUTILUS_UNROLL
  for (int turn = 0; turn < kTurns; ++turn) {
    if (turn % Rows::kTurns == 0) {
      if (turn > 0) device::warp_barrier();
      NAUTILUS_UNROLL
      for (int j = 0; j < 2 * kPairs; ++j) {
        NAUTILUS_UNROLL
        for (int half = 0; half < 2; ++half) {
          const float *const held = sums[turn / Rows::kTurns][j] + 2 * half;
          device::store_shared(staged + (lane / 4 + 8 * half) * Rows::kPitch + 8 * j + lane % 4 * 2, Vector<float, 2>{{held[0], held[1]}});
        }
      }
      device::warp_barrier();
    }
    if (turn + 1 < kTurns) read(turn + 1);
    Vector<float, kVector> values[kAtOnce];
    NAUTILUS_UNROLL
    for (int v = 0; v < kAtOnce; ++v) {
      const int number = turn % Rows::kTurns * kAtOnce + v;
      values[v] = device::load_shared<Vector<float, kVector>>(own_sums + Rows::row(number) * Rows::kPitch + Rows::column(v));
    }
    NAUTILUS_UNROLL
    for (int v = 0; v < kAtOnce; ++v) {
      if (row(turn, v) <= last_row && column(v) <= last_column) {
        const auto where = at(row(turn, v), column(v));
        Epilogue::put(arguments, where, Epilogue::template evaluate<kVector>(arguments, where, inputs[turn % 2][v], values[v]));
      }
    }
  }
}

}  // namespace nautilus::kernels
