// The main loop of matrix products on tensor cores by wgmma: one thread brings tiles into a ring of stages in shared memory, or its
// warpgroup computes those of A; other warpgroups multiply them, sums in registers. Blocks stay and walk over tiles of the result.
//
// Consumers share the rows of a tile, or its depth; or, in ping-pong, each takes a tile of its own in turn and finishes it while the next one
// multiplies. Blocks of a cluster lie side by side along m, or along n, and bring the tiles that they share to each other; or they share out
// the depth of one tile.
#pragma once

#include <nautilus/core/dims.cuh>
#include <nautilus/core/mapped_arguments.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/wgmma.cuh>
#include <nautilus/kernels/wgmma_groups.cuh>
#include <nautilus/kernels/wgmma_loaded.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>
#include <nautilus/kernels/wgmma_parts.cuh>
#include <nautilus/kernels/wgmma_result.cuh>
#include <nautilus/kernels/wgmma_ring.cuh>
#include <nautilus/kernels/wgmma_split.cuh>

namespace nautilus::kernels {

// The tiles of the result in the order in which clusters take them: batch by batch, and as grouped_tile says. With kHasOpenDepth only the run
// knows how many steps the sum has.
template <class Schedule, bool kHasOpenDepthN = false>
struct TileWalk {
  static constexpr bool kHasOpenDepth = kHasOpenDepthN;
  struct Place {
    int batch, m, n;  // first row and column of the cluster
  };
  int batches, tiles_m, tiles_n, count;

  NAUTILUS_DEVICE TileWalk(int batch, int rows, int columns)
      : batches(batch),
        tiles_m(ceil_divide(rows, Schedule::kTileM * Schedule::kClusterM)),
        tiles_n(ceil_divide(columns, Schedule::kTileN * Schedule::kClusterN)),
        count(tiles_m * tiles_n * batch) {}

  NAUTILUS_DEVICE Place place(int number) const {
    const int batch = batches == 1 ? 0 : divide(number, tiles_m * tiles_n);
    const TileIndex tile = grouped_tile<Schedule::kGroupM, false>(number - batch * tiles_m * tiles_n, tiles_m, tiles_n);
    return {batch, tile.m * Schedule::kTileM * Schedule::kClusterM, tile.n * Schedule::kTileN * Schedule::kClusterN};
  }
};

// The sums of one tile, of every kStep-th stage: a group of products is in flight while the next stage is waited for. WHEN_STARTED is called
// once all products are under way. There may be no tile where kMayHaveNone says so.
template <class OperandA, class OperandB, class T, int kStep = 1, bool kMayHaveNone = false, int kBands, int kSums, class Ring,
          class WhenStarted>
NAUTILUS_DEVICE void multiply_tile(float (&sums)[kBands][kSums], const Ring &ring, typename Ring::Place &place, int first_row, int tiles,
                                   WhenStarted when_started) {
  constexpr int kSteps = OperandA::kDepth / OperandA::kStepDepth;
  if (kMayHaveNone && tiles <= 0) {
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kSums; ++i) sums[band][i] = 0.0f;
    }
    return;
  }
  // Whatever the warp does between products delays the next ones, the more so beside a warp that finishes a tile: places are found ahead, and
  // by one lane for all, so that the compiler keeps descriptors in uniform registers.
  int stage = device::shuffle(place.stage, 0), last = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const uint64 a = OperandA::descriptor(ring.a(stage) + first_row * kBoxRowBytes), b = OperandB::descriptor(ring.b(stage));
    device::mbarrier_wait(ring.full + stage, place.parity);
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) device::register_fence(sums[band]);
    device::wgmma_fence();
    NAUTILUS_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      NAUTILUS_UNROLL
      for (int band = 0; band < kBands; ++band) {
        device::wgmma<T, OperandA::kMajor, OperandB::kMajor>(
            sums[band], device::wgmma_advance(a, band * OperandA::kRowsBytes + step * OperandA::kStepBytes),
            device::wgmma_advance(b, step * OperandB::kStepBytes), tile > 0 || step > 0);
      }
    }
    device::wgmma_commit();
    const int read = stage;
    if constexpr (kStep == 1) {
      place.advance();
    } else {
      place.advance(kStep);
    }
    stage = device::shuffle(place.stage, 0);
    if (tile > 0) {
      device::wgmma_wait<1>();
      ring.release(last);
    }
    last = read;
  }
  when_started();
  device::wgmma_wait<0>();
  NAUTILUS_UNROLL
  for (int band = 0; band < kBands; ++band) device::register_fence(sums[band]);
  ring.release(last);
}

// Computes all tiles of WALK over DEPTH steps of the sum, at least 1. The first tensor maps of the arguments bring the operands, but for an A
// that is loaded, of which SOURCE_OF(batch) gives the rows; SINK_OF(batch) takes the results, and the last map boxes of them. Floats are
// multiplied as tf32, or with kTerms 3 as sums of two such numbers. A constant operand is brought before earlier kernels have finished. With
// kHidesLongEpilogues one consumer's products, in ping-pong, take longer than what the other one makes of its sums.
template <class Schedule, class T, int kTerms, bool kHidesLongEpilogues, Constant kConstant, class OperandA, class OperandB, class A, class Walk,
          class SourceOf, class SinkOf>
NAUTILUS_DEVICE void wgmma_product(const A &arguments, const Walk &walk, int depth, SourceOf source_of, SinkOf sink_of) {
  using Groups = Warpgroups<Schedule, OperandA::kIsLoaded>;
  using Place = typename Walk::Place;
  constexpr int kCluster = Groups::kCluster;
  static_assert(kTerms == 1 || (kTerms == 3 && kIsSameType<T, float> && Groups::kHasOwnRows && Groups::kParts == 1),
                "floats, of which consumers share the rows of a tile");
  const Ring<Schedule, kTerms, OperandA, OperandB> ring;
  const int thread = device::thread_index().x, group = thread / kWarpgroupThreads;
  const int block = device::block_index().x, rank = block % kCluster;
  const int clusters = device::grid_extent().x / kCluster;
  const int beside = Schedule::kClusterK > 1 ? 0 : rank;
  const int first_m = beside % Schedule::kClusterM * Schedule::kTileM, first_n = beside / Schedule::kClusterM * Schedule::kTileN;
  const int all_tiles = ceil_divide(depth, OperandA::kDepth), share = ceil_divide(all_tiles, Schedule::kClusterK);
  const int first_tile = Schedule::kClusterK > 1 ? rank * share : 0;
  const int tiles = least(share, all_tiles - first_tile);  // of depth, of this block
  const ReceivedSums<Schedule> received{ring.results};
  const TileCopies<Schedule, OperandA, OperandB, A> copies{arguments, first_m, first_n, first_tile, beside};
  // Each barrier takes time: there are no more than one tile of the result uses, where that is all.
  const int stages = Groups::kParts > 1 || walk.count <= clusters ? tiles : Schedule::kStages;
  int early = 0;  // tiles of a constant operand that are under way before those of the other
  Place first{};  // tile of the result, as the thread that fills the ring has it where the depth is open
  // Blocks that share out the depth are short-lived, and with an open depth barriers and the first tile take longer to find: one thread starts
  // copies before the block has met, and another prepares what these do not need.
  constexpr bool kStartsAlone = kConstant != Constant::kNone && (Groups::kParts > 1 || (Walk::kHasOpenDepth && Groups::kSharing == 1));
  if constexpr (Schedule::kEarlyTrigger && kStartsAlone) device::dependency_trigger();
  if constexpr (kStartsAlone) {
    if (thread == 0) {
      device::tensor_map_prefetch(arguments.maps[kConstant == Constant::kA ? 0 : Groups::kMapB]);
      ring.template prepare_full<Walk::kHasOpenDepth>(stages);
      first = walk.place(block / kCluster);
      early = start_ring<kConstant>(first, ring, copies, tiles);
    } else if (thread == device::kWarpThreads) {
      if constexpr (!OperandA::kIsLoaded) device::tensor_map_prefetch(arguments.maps[kConstant == Constant::kA ? Groups::kMapB : 0]);
      ring.template prepare_empty<Walk::kHasOpenDepth>(stages);
      if constexpr (Groups::kParts > 1) received.prepare(rank);
    }
    device::warp_barrier();
  } else if (thread == 0) {
    NAUTILUS_UNROLL
    for (int i = 0; i <= Groups::kMapB; ++i) device::tensor_map_prefetch(arguments.maps[i]);
    if constexpr (Groups::kParts > 1) received.prepare(rank);
    ring.template prepare<Walk::kHasOpenDepth>(stages);
  }
  if constexpr (kCluster > 1) device::cluster_arrive();
  if constexpr (Groups::kSharing > 1) {  // others bring tiles to this block's barriers
    device::cluster_wait();
  } else {
    device::block_barrier();
  }
  if constexpr (Schedule::kEarlyTrigger && !kStartsAlone) device::dependency_trigger();
  typename Ring<Schedule, kTerms, OperandA, OperandB>::Place place;
  if (group == 0) {
    if constexpr (Groups::kProducerRegisters > Groups::kEntryRegisters) {
      device::acquire_registers<Groups::kProducerRegisters>();
    } else {
      device::release_registers<Groups::kProducerRegisters>();
    }
    if constexpr (kConstant != Constant::kNone && !kStartsAlone) {
      if (thread == 0) {
        first = walk.place(block / kCluster);
        early = start_ring<kConstant>(first, ring, copies, tiles);
      }
    }
    typename Ring<Schedule, kTerms, OperandA, OperandB>::Place filled;
    if constexpr (OperandA::kIsLoaded) {
      filled = write_tiles<OperandA>(arguments, walk, ring, block / kCluster, clusters, first_m, first_tile, tiles, early, source_of,
                                     [&](const Place &at, int tile, int stage) {
                                       copies.template load_first<Constant::kB>(at, tile, ring, stage);
                                     });
    } else if (thread == 0) {
      if constexpr (kConstant == Constant::kNone && Walk::kHasOpenDepth) first = walk.place(block / kCluster);
      filled = fill_ring<kConstant>(walk, ring, copies, first, block / kCluster, clusters, tiles, early);
      if constexpr (!Schedule::kEarlyTrigger) device::dependency_trigger();
    }
    if constexpr (Groups::kSharing > 1) {
      if (thread == 0) ring.drain(filled, stages);
    }
    device::warp_barrier();
    if constexpr (Schedule::kClusterK > 1) device::cluster_wait();  // as in finish_parts
  } else {
    if constexpr (Groups::kConsumerRegisters < Groups::kEntryRegisters) {
      device::release_registers<Groups::kConsumerRegisters>();
    } else {
      device::acquire_registers<Groups::kConsumerRegisters>();
    }
    device::dependency_wait();
    const int consumer = device::shuffle(group, 0) - 1;
    const int first_row = Groups::kHasOwnRows ? consumer * Groups::kRows : 0;
    float sums[Groups::kBands][Schedule::kTileN / 2];
    ResultBoxes boxes{ring.results + consumer * ResultBoxes::kBytes, 1 + Schedule::kConsumers + consumer};
    using Sink = decltype(sink_of(0));
    typename Conditional<Schedule::kStoresBoxes, ColumnInputs<Sink, Schedule::kTileN>,
                         LaneInputs<Sink, Schedule::kTileN, Schedule::kVectorC>>::Type inputs;
    BandMoments<Sink> moments[Groups::kBands];
    constexpr bool kHoldsMoments = Groups::kBands * Schedule::kTileN <= 128;  // while products are under way
    const auto join_moments = [&] {
      NAUTILUS_UNROLL
      for (int band = 0; band < Groups::kBands; ++band) moments[band].join();
    };
    const auto load_moments = [&](const Place &at) {
      NAUTILUS_UNROLL
      for (int band = 0; band < Groups::kBands; ++band)
        start_moments(arguments, sink_of(at.batch), at.m + first_m + first_row + band * kWarpgroupRows, moments[band]);
      if constexpr (!kHoldsMoments) join_moments();
    };
    const auto finish_moments = [&] {
      if constexpr (kHoldsMoments) join_moments();
    };
    const auto start_inputs = [&](const Place &at, int band) {
      inputs.start(arguments, sink_of(at.batch), at.m + first_m + first_row + band * kWarpgroupRows, at.n + first_n);
    };
    const auto finish = [&](const Place &at, float(&all)[Groups::kBands][Schedule::kTileN / 2]) {
      NAUTILUS_UNROLL
      for (int band = 0; band < Groups::kBands; ++band) {
        if (band > 0 && !decltype(inputs)::kHoldsAll) start_inputs(at, band);
        if constexpr (Schedule::kStoresBoxes) {
          send_band<Schedule::kTileN, Schedule::kPingPong, kHidesLongEpilogues>(
              arguments, arguments.maps[Groups::kMapResult], sink_of(at.batch), at.batch, at.m + first_m + first_row + band * kWarpgroupRows,
              at.n + first_n, all[band], boxes, inputs, moments[band]);
        } else {
          finish_band(arguments, sink_of(at.batch), all[band], inputs, moments[band]);
        }
      }
    };
    if constexpr (Schedule::kPingPong) {
      // Turns to multiply go round; the first consumer's first comes at once.
      if (consumer == Schedule::kConsumers - 1) device::named_barrier_arrive(1, 2 * kWarpgroupThreads);
      place.advance(consumer * tiles);
      for (int number = block / kCluster + consumer * clusters; number < walk.count; number += Schedule::kConsumers * clusters) {
        const auto at = walk.place(number);
        load_moments(at);
        device::named_barrier(1 + consumer, 2 * kWarpgroupThreads);
        multiply_tile<OperandA, OperandB, T>(sums, ring, place, first_row, tiles, [&] {
          if (number + clusters < walk.count) device::named_barrier_arrive(1 + (consumer + 1) % Schedule::kConsumers, 2 * kWarpgroupThreads);
          start_inputs(at, 0);
          finish_moments();
        });
        place.advance((Schedule::kConsumers - 1) * tiles);
        finish(at, sums);
      }
    } else if constexpr (Groups::kParts > 1) {
      // One tile a cluster.
      constexpr int kSlices = DepthParts<Schedule>::kSlices;
      const auto at = walk.place(block / kCluster);
      const int slice = kSlices > 1 ? consumer : 0;
      load_moments(at);
      place.advance(slice);
      multiply_tile<OperandA, OperandB, T, kSlices, true>(sums, ring, place, first_row, ceil_divide(tiles - slice, kSlices), [] {});
      finish_moments();
      finish_parts(arguments, sink_of(at.batch), received, kSlices > 1 ? 0 : consumer, slice, Schedule::kClusterK > 1 ? rank : 0,
                   at.m + first_m + first_row, at.n + first_n, sums, moments);
    } else if constexpr (kTerms == 3) {
      Rests<OperandA, OperandB> rests{ring.rests};
      for (int number = block / kCluster; number < walk.count; number += clusters) {
        const auto at = walk.place(number);
        multiply_tile_split<OperandA, OperandB, Schedule::kConsumers>(sums, ring, place, rests, consumer, 1, tiles);
        load_moments(at);
        start_inputs(at, 0);
        finish_moments();
        finish(at, sums);
      }
    } else {
      for (int number = block / kCluster; number < walk.count; number += clusters) {
        const auto at = walk.place(number);
        const bool is_first = number < clusters;  // whose operands are on their way too
        if (is_first) load_moments(at);
        multiply_tile<OperandA, OperandB, T>(sums, ring, place, first_row, tiles, [&] {
          if (!is_first) load_moments(at);
          start_inputs(at, 0);
          finish_moments();
        });
        finish(at, sums);
      }
    }
    if constexpr (Schedule::kStoresBoxes) boxes.finish();
  }
}

}  // namespace nautilus::kernels
