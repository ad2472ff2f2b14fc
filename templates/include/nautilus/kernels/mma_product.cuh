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
#include <nautilus/kernels/mma_operand.cuh>
#include <nautilus/kernels/mma_result.cuh>
#include <nautilus/kernels/mma_result_rows.cuh>
#include <nautilus/kernels/product.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Threads of a block.
template <class Schedule>
inline constexpr int kMmaThreads =
    Schedule::kTileM / Schedule::kWarpM * (Schedule::kTileN / Schedule::kWarpN) * Schedule::kSlicesK * device::kWarpThreads;

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
