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
#include <nautilus/kernels/wgmma_loaded.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>
#include <nautilus/kernels/wgmma_parts.cuh>
#include <nautilus/kernels/wgmma_result.cuh>
#include <nautilus/kernels/wgmma_split.cuh>

namespace nautilus::kernels {

// How a block's threads share the work. The first warpgroup is the producer; with kLoadsA all its threads are, and need registers.
template <class Schedule, bool kLoadsA = false>
struct Warpgroups {
  static constexpr int kThreads = (Schedule::kConsumers + 1) * kWarpgroupThreads;
  static constexpr int kSharing = Schedule::kClusterM * Schedule::kClusterN;  // blocks that bring tiles to each other
  static constexpr int kCluster = kSharing * Schedule::kClusterK;
  static constexpr int kParts = DepthParts<Schedule>::kParts;
  static constexpr bool kHasOwnRows = !Schedule::kPingPong && !Schedule::kSlicesDepth;  // each consumer
  static constexpr int kRows = !kHasOwnRows ? Schedule::kTileM : Schedule::kTileM / Schedule::kConsumers;  // of a consumer
  static constexpr int kBands = kRows / kWarpgroupRows;
  static constexpr int kMapB = kLoadsA ? 0 : 1;  // behind that of A
  static constexpr int kMapResult = kMapB + 1;
  static constexpr int kMaps = Schedule::kStoresBoxes ? kMapResult + 1 : kMapResult;
  static constexpr int kResultBytes = Schedule::kStoresBoxes ? Schedule::kConsumers * ResultBoxes::kBytes : 0;
  static constexpr int kReaders = kHasOwnRows ? Schedule::kConsumers : 1;  // of a stage
  // Registers of a thread: what the block begins with is shared out anew, in multiples of 8. Who asks for more than there are waits for ever.
  static constexpr int kEntryRegisters = least(240, 65536 / (kThreads * Schedule::kResidents) / 8 * 8);
  // Those that load get what the sums and 48 beside them leave.
  static constexpr int kSumRegisters = (kBands * Schedule::kTileN / 2 + 48 + 7) / 8 * 8;
  static constexpr int kLoadingRegisters = least(216, kEntryRegisters * (Schedule::kConsumers + 1) - kSumRegisters * Schedule::kConsumers);
  static constexpr int kProducerRegisters = kLoadsA ? greatest(40, kLoadingRegisters) : Schedule::kConsumers == 3 ? 32 : 40;
  static constexpr int kAllRegisters = kEntryRegisters * (Schedule::kConsumers + 1);
  static constexpr int kConsumerRegisters = least(240, (kAllRegisters - kProducerRegisters) / Schedule::kConsumers / 8 * 8);
  static_assert(Schedule::kClusterM == 1 || Schedule::kClusterN == 1, "all blocks of a cluster share the same operand");
  static_assert(kBands * kWarpgroupRows == kRows, "a consumer has whole steps of 64 rows");
  static_assert(kParts == 1 || (kSharing == 1 && !Schedule::kPingPong && !Schedule::kStoresBoxes), "parts of the depth meet otherwise");
};

// Which operand no kernel writes.
enum class Constant { kNone, kA, kB };

// Which stage of the ring, and the parity of the phase in which it is used.
template <int kStages>
struct RingPlace {
  int stage = 0, parity = 0;

  NAUTILUS_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
  NAUTILUS_DEVICE void advance(int steps) {
    const int reached = stage + steps;
    stage = reached % kStages;
    parity ^= reached / kStages & 1;
  }
};

// The tiles of the result in the order in which clusters take them: batch by batch, and as grouped_tile says.
template <class Schedule>
struct TileWalk {
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

// The ring in shared memory: stages of a tile of A and one of B, and their barriers; before these, what results leave from, and what tf32
// leaves of floats, which is needed for kTerms 3.
template <class Schedule, int kTerms, class OperandA, class OperandB>
struct Ring {
  static constexpr int kStages = Schedule::kStages;
  static constexpr int kStageBytes = OperandA::kBytes + OperandB::kBytes;
  static constexpr int kCopiedBytes = OperandA::kCopiedBytes + OperandB::kCopiedBytes;  // of a stage, by bulk copies
  static constexpr int kWriters = OperandA::kIsLoaded ? kWarpgroupThreads / device::kWarpThreads : 0;
  static constexpr int kRestsBytes = kTerms == 3 ? Rests<OperandA, OperandB>::kBytes : 0;
  using Place = RingPlace<kStages>;
  unsigned char *stages, *rests, *results;
  device::Mbarrier *full, *empty;

  NAUTILUS_DEVICE Ring()
      : stages(device::dynamic_shared<unsigned char>()),
        rests(stages + kStages * kStageBytes),
        results(rests + kRestsBytes),
        full(device::dynamic_shared<device::Mbarrier>(kStages * kStageBytes + kRestsBytes + Warpgroups<Schedule>::kResultBytes)),
        empty(full + kStages) {}
  NAUTILUS_DEVICE unsigned char *a(int stage) const { return stages + stage * kStageBytes; }
  NAUTILUS_DEVICE unsigned char *b(int stage) const { return stages + stage * kStageBytes + OperandA::kBytes; }

  // One thread prepares the barriers of the first STAGES: a stage is full when its bytes are there and warps that write have done so, and
  // empty when every warp that reads it, of all blocks that this one brings a part of it to, has done so. Lanes side by side, each of a
  // stage, take three times as long: places that differ go one by one.
  NAUTILUS_DEVICE void prepare(int stages) const {
    using Groups = Warpgroups<Schedule>;
    NAUTILUS_UNROLL
    for (int i = 0; i < kStages; ++i) {
      if (i >= stages) break;
      device::mbarrier_init(full + i, 1 + kWriters);
      device::mbarrier_init(empty + i, Groups::kReaders * (kWarpgroupThreads / device::kWarpThreads) * Groups::kSharing);
    }
    device::mbarrier_init_fence();
  }
  // Of each warp that has read a stage.
  NAUTILUS_DEVICE void release(int stage) const {
    constexpr int kSharing = Warpgroups<Schedule>::kSharing;
    const int lane = device::lane_index();
    if constexpr (kSharing == 1) {
      if (lane == 0) device::mbarrier_arrive(empty + stage);
    } else {
      if (lane < kSharing) device::mbarrier_arrive_at(empty + stage, lane);
    }
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
// multiplied as tf32, or with kTerms 3 as sums of two such numbers. A constant operand is brought before earlier kernels have finished.
template <class Schedule, class T, int kTerms, Constant kConstant, class OperandA, class OperandB, class A, class SourceOf, class SinkOf>
NAUTILUS_DEVICE void wgmma_product(const A &arguments, const TileWalk<Schedule> &walk, int depth, SourceOf source_of, SinkOf sink_of) {
  using Groups = Warpgroups<Schedule, OperandA::kIsLoaded>;
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
  if (thread == 0) {
    NAUTILUS_UNROLL
    for (int i = 0; i <= Groups::kMapB; ++i) device::tensor_map_prefetch(arguments.maps[i]);
    // Each barrier takes time: there are no more than one tile of the result uses, where that is all.
    ring.prepare(Groups::kParts > 1 || walk.count <= clusters ? tiles : Schedule::kStages);
  }
  if constexpr (Groups::kSharing > 1) {  // others bring tiles to this block's barriers
    device::cluster_barrier();
  } else {
    device::block_barrier();
  }
  if constexpr (Schedule::kEarlyTrigger) device::dependency_trigger();
  typename Ring<Schedule, kTerms, OperandA, OperandB>::Place place;
  if (group == 0) {
    if constexpr (Groups::kProducerRegisters > Groups::kEntryRegisters) {
      device::acquire_registers<Groups::kProducerRegisters>();
    } else {
      device::release_registers<Groups::kProducerRegisters>();
    }
    const auto load_b = [&](const typename TileWalk<Schedule>::Place &at, int tile, int stage) {
      if constexpr (kConstant != Constant::kA) device::mbarrier_arrive_expect(ring.full + stage, ring.kCopiedBytes);
      OperandB::load(arguments, arguments.maps[Groups::kMapB], at.batch, at.n + first_n, (first_tile + tile) * OperandB::kDepth, ring.b(stage),
                     ring.full + stage, beside % Schedule::kClusterM, (1 << Groups::kSharing) - 1);
    };
    if constexpr (OperandA::kIsLoaded) {
      write_tiles<OperandA, kConstant == Constant::kB>(arguments, walk, ring, block / kCluster, clusters, first_m, first_tile, tiles, source_of, load_b);
    } else if (thread == 0) {
      const auto load_a = [&](const typename TileWalk<Schedule>::Place &at, int tile, int stage) {
        if constexpr (kConstant == Constant::kA) device::mbarrier_arrive_expect(ring.full + stage, ring.kCopiedBytes);
        OperandA::load(arguments, arguments.maps[0], at.batch, at.m + first_m, (first_tile + tile) * OperandA::kDepth, ring.a(stage),
                       ring.full + stage, beside / Schedule::kClusterM, (1 << Groups::kSharing) - 1);
      };
      const auto load_first = [&](const typename TileWalk<Schedule>::Place &at, int tile, int stage) {
        if constexpr (kConstant == Constant::kA) {
          load_a(at, tile, stage);
        } else {
          load_b(at, tile, stage);
        }
      };
      int early = 0;  // tiles of a constant operand that are on their way before those of the other
      if constexpr (kConstant != Constant::kNone) {
        const auto first = walk.place(block / kCluster);
        for (; early < least(Schedule::kStages, tiles); ++early) load_first(first, early, early);
      }
      device::dependency_wait();
      for (int number = block / kCluster; number < walk.count; number += clusters) {
        const auto at = walk.place(number);
        for (int tile = 0; tile < tiles; ++tile) {
          if (early > 0) {
            --early;
          } else {
            device::mbarrier_wait(ring.empty + place.stage, place.parity ^ 1);
            load_first(at, tile, place.stage);
          }
          if constexpr (kConstant == Constant::kA) {
            load_b(at, tile, place.stage);
          } else {
            load_a(at, tile, place.stage);
          }
          place.advance();
        }
      }
      if constexpr (!Schedule::kEarlyTrigger) device::dependency_trigger();
    }
    device::warp_barrier();
    if constexpr (Schedule::kClusterK > 1) device::cluster_barrier();  // as in finish_parts
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
    const auto load_moments = [&](const typename TileWalk<Schedule>::Place &at) {
      NAUTILUS_UNROLL
      for (int band = 0; band < Groups::kBands; ++band)
        moments[band] = band_moments(arguments, sink_of(at.batch), at.m + first_m + first_row + band * kWarpgroupRows);
    };
    const auto start_inputs = [&](const typename TileWalk<Schedule>::Place &at, int band) {
      inputs.start(arguments, sink_of(at.batch), at.m + first_m + first_row + band * kWarpgroupRows, at.n + first_n);
    };
    const auto finish = [&](const typename TileWalk<Schedule>::Place &at, float(&all)[Groups::kBands][Schedule::kTileN / 2]) {
      NAUTILUS_UNROLL
      for (int band = 0; band < Groups::kBands; ++band) {
        if (band > 0 && !decltype(inputs)::kHoldsAll) start_inputs(at, band);
        if constexpr (Schedule::kStoresBoxes) {
          send_band<Schedule::kTileN>(arguments, arguments.maps[Groups::kMapResult], sink_of(at.batch), at.batch,
                                      at.m + first_m + first_row + band * kWarpgroupRows, at.n + first_n, all[band], boxes, inputs, moments[band]);
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
        });
        place.advance((Schedule::kConsumers - 1) * tiles);
        finish(at, sums);
      }
    } else if constexpr (Groups::kParts > 1) {
      // One tile a cluster: sums meet where the ring is.
      constexpr int kSlices = DepthParts<Schedule>::kSlices;
      const auto at = walk.place(block / kCluster);
      const int slice = kSlices > 1 ? consumer : 0;
      load_moments(at);
      place.advance(slice);
      multiply_tile<OperandA, OperandB, T, kSlices, true>(sums, ring, place, first_row, ceil_divide(tiles - slice, kSlices), [] {});
      finish_parts<Schedule>(arguments, sink_of(at.batch), reinterpret_cast<float *>(ring.stages), kSlices > 1 ? 0 : consumer, slice,
                             first_tile / share, at.m + first_m + first_row, at.n + first_n, sums, moments, 1);
    } else if constexpr (kTerms == 3) {
      Rests<OperandA, OperandB> rests{ring.rests};
      for (int number = block / kCluster; number < walk.count; number += clusters) {
        const auto at = walk.place(number);
        multiply_tile_split<OperandA, OperandB, Schedule::kConsumers>(sums, ring, place, rests, consumer, 1, tiles);
        load_moments(at);
        start_inputs(at, 0);
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
        });
        finish(at, sums);
      }
    }
    if constexpr (Schedule::kStoresBoxes) boxes.finish();
  }
  // Other blocks may still arrive at this one's barriers.
  if constexpr (kCluster > 1) device::cluster_barrier();
}

}  // namespace nautilus::kernels
