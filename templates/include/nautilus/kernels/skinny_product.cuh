// The main loop of products with few rows: A's rows in shared memory, weights from global memory straight to the registers of the thread
// that multiplies them, so that nothing but the number of registers limits how many are on their way.
//
// A block computes kTileM by kTileN results. kSlicesK warps share out the depth of the same columns, and kClusterK blocks of a cluster the
// tiles of kTileK depths; their sums are added in order at the end, through shared memory. A thread asks for the next weights as soon as
// it has used those before: kLoads at a time for each of its columns.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/gemm.cuh>
#include <nautilus/kernels/skinny_result.cuh>
#include <nautilus/kernels/skinny_rows.cuh>
#include <nautilus/kernels/skinny_sums.cuh>
#include <nautilus/kernels/skinny_weights.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Computes one tile of results. SOURCE_A gives the rows, SOURCE_B the COLUMNS columns, SINK takes the results, SUMS is DotSums or TensorSums.
// Constant weights are asked for before earlier kernels have finished.
template <class Schedule, class Sums, bool kBIsConstant, class SourceA, class SourceB, class Sink, class A>
NAUTILUS_DEVICE void skinny_product(const A &arguments, const SourceA &source_a, const SourceB &source_b, const Sink &sink, TileIndex tile,
                                    int columns) {
  using T = typename Sums::Element;
  using Loads = typename Sums::Loads;
  using Policy = Weights<typename SourceB::Functor, Loads::kVector, kBIsConstant>;
  constexpr int kTile = Schedule::kTileM * Schedule::kTileK, kStages = Schedule::kStages;
  constexpr int kSteps = Schedule::kTileK / Loads::kStep;
  static_assert(kSteps > 0, "a tile has a step for every slice");

  const unsigned warp = static_cast<unsigned>(device::thread_index().x) / device::kWarpThreads;
  const int slice = static_cast<int>(warp % Schedule::kSlicesK);
  const int first_column = static_cast<int>(warp / Schedule::kSlicesK) * Loads::kColumns;
  T *const shared = device::dynamic_shared<T>();

  const int depth = source_a.depth(arguments);
  const int all_tiles = ceil_divide(depth, Schedule::kTileK);
  const int share = ceil_divide(all_tiles, Schedule::kClusterK);
  const int part = static_cast<int>(static_cast<unsigned>(device::block_index().x) % Schedule::kClusterK);
  const int first_tile = Schedule::kClusterK == 1 ? 0 : least(all_tiles, part * share);
  const int tiles = least(share, all_tiles - first_tile);
  const int first_depth = first_tile * Schedule::kTileK;
  constexpr bool kIsOneTile = kStages == 1 && Schedule::kClusterK == 1;
  const int own_depth = kIsOneTile ? depth : least(depth - first_depth, tiles * Schedule::kTileK);
  const int steps = static_cast<int>(static_cast<unsigned>(own_depth + Loads::kStep - 1) / Loads::kStep);

  // Columns beyond the last are read as that one and not stored.
  typename SourceB::Row rows[Loads::kItems];
  NAUTILUS_UNROLL
  for (int item = 0; item < Loads::kItems; ++item) {
    const int column = tile.n * Schedule::kTileN + first_column + Loads::column(item);
    rows[item] = source_b.row(arguments, least(column, columns - (Loads::kIsDepthLast ? 1 : Loads::kVector)));
  }
  const int own_run = slice * Loads::kRuns + static_cast<int>(static_cast<unsigned>(device::lane_index()) % Loads::kLanesK);
  const auto run_of = [&](int step, int load) { return own_run + load * Loads::kLanesK + step * (Loads::kStep / Loads::kRun); };
  const auto depth_of = [&](int step, int load) { return run_of(step, load) * Loads::kRun; };
  typename Policy::Held held[Schedule::kLoads][Loads::kItems];
  const auto is_there = [&](int step, int load) {
    return SourceB::is_whole(Loads::kStep) || first_depth + depth_of(step, load) < depth;
  };
  // Where there is none, nothing is read and zeros are held. Weights that a functor computes are read as the first ones and not used: reads
  // on a condition would not all be on their way at once.
  constexpr bool kIsSkipped = Policy::kCanSkip && !SourceB::kIsDepthKnown && !SourceB::is_whole(Loads::kStep);
  const auto place_of = [&](int item, int step, int load) {
    const bool is_read = kIsSkipped || is_there(step, load);
    return source_b.place(arguments, rows[item], is_read ? first_depth : 0, is_read ? depth_of(step, load) : 0).at;
  };
  const int whole_steps = (depth - first_depth) / Loads::kStep;
  const auto fetch = [&](int step, int load) {
    NAUTILUS_UNROLL
    for (int item = 0; item < Loads::kItems; ++item) {
      if constexpr (kIsSkipped) {
        held[load][item] = Policy::fetch_if(arguments, place_of(item, step, load), is_there(step, load));
      } else {
        held[load][item] = Policy::fetch(arguments, place_of(item, step, load));
      }
    }
  };
  const auto fetch_first = [&] {
    if (kIsSkipped || steps > 0) {
      NAUTILUS_UNROLL
      for (int load = 0; load < Schedule::kLoads; ++load) fetch(0, load);
    }
  };
  const auto bring = [&](int number) {
    if (kIsOneTile || number < tiles) {
      bring_rows<Schedule, T, typename Sums::Rows>(arguments, source_a, tile.m * Schedule::kTileM, first_depth + number * Schedule::kTileK,
                                                   least(Schedule::kTileK, steps * Loads::kStep - number * Schedule::kTileK),
                                                   shared + number % kStages * kTile);
    }
    device::cp_async_commit();
  };

  if constexpr (kBIsConstant) fetch_first();
  device::dependency_wait();
  if constexpr (Schedule::kEarlyTrigger) device::dependency_trigger();
  if constexpr (!kBIsConstant) fetch_first();
  NAUTILUS_UNROLL
  for (int number = 0; number < greatest(1, kStages - 1); ++number) bring(number);
  Sums sums;
  const int rounds = kIsOneTile ? 1 : tiles;
  for (int number = 0; number < rounds; ++number) {
    device::cp_async_wait<greatest(0, kStages - 2)>();
    device::block_barrier();  // the tile is there, and the one before it has been read
    if constexpr (kStages > 1) bring(number + kStages - 1);
    const T *const rows_tile = shared + number % kStages * kTile;
    const int end = least(steps, (number + 1) * kSteps);
#pragma unroll 1
    for (int step = number * kSteps; step < end; ++step) {
      NAUTILUS_UNROLL
      for (int load = 0; load < Schedule::kLoads; ++load) {
        Vector<T, Loads::kVector> weights[Loads::kItems];
        NAUTILUS_UNROLL
        for (int item = 0; item < Loads::kItems; ++item) {
          weights[item] = Policy::template elements<T>(arguments, place_of(item, step, load), held[load][item]);
        }
        if (!kIsSkipped && !SourceB::is_whole(Loads::kStep) && step >= whole_steps && !is_there(step, load)) {
          NAUTILUS_UNROLL
          for (int item = 0; item < Loads::kItems; ++item) weights[item] = {};
        }
        if (step + 1 < steps) fetch(step + 1, load);
        sums.add(weights, rows_tile, run_of(step - number * kSteps, load));
      }
    }
  }
  device::cp_async_wait<0>();
  if constexpr (!Schedule::kEarlyTrigger) device::dependency_trigger();
  finish_skinny<Schedule>(arguments, sink, tile, slice, first_column, sums, reinterpret_cast<float *>(shared));
}

}  // namespace nautilus::kernels
