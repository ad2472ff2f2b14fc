// Where tiles of operands wait in shared memory for the warpgroups that multiply them: a ring of stages, and who fills it by bulk copies.
#pragma once

#include <nautilus/device/device.cuh>
#include <nautilus/kernels/wgmma_groups.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>
#include <nautilus/kernels/wgmma_split.cuh>

namespace nautilus::kernels {

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

// Stages of a tile of A and one of B, and their barriers; before these, what results leave from, and what tf32 leaves of floats, which is
// needed for kTerms 3.
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

  // One thread prepares barriers of the first STAGES, which with kIsOpen only the run knows. A stage is full when its bytes are there and warps
  // that write have done so; it is empty when every warp that reads it, of all blocks that this one brings a part of it to, has done so.
  template <bool kIsOpen>
  NAUTILUS_DEVICE void prepare(int stages) const {
    if constexpr (kIsOpen) {
      prepare_by_four<true, true>(stages);
    } else {
      prepare_full<false>(stages);
      prepare_empty<false>(stages);
    }
  }
  // Lanes side by side, each of a stage, take three times as long: places that differ go one by one.
  template <bool kIsOpen>
  NAUTILUS_DEVICE void prepare_full(int stages) const {
    if constexpr (kIsOpen) {
      prepare_by_four<true, false>(stages);
    } else {
      NAUTILUS_UNROLL
      for (int i = 0; i < kStages; ++i) {
        if (i >= stages) break;
        init_full(i);
      }
      device::mbarrier_init_fence();
    }
  }
  template <bool kIsOpen>
  NAUTILUS_DEVICE void prepare_empty(int stages) const {
    if constexpr (kIsOpen) {
      prepare_by_four<false, true>(stages);
    } else {
      NAUTILUS_UNROLL
      for (int i = 0; i < kStages; ++i) {
        if (i >= stages) break;
        init_empty(i);
      }
      device::mbarrier_init_fence();
    }
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
  // Waits until whoever reads a stage, of the first STAGES, has done so for the last time; the next one to be filled would be FILLED. Blocks that
  // read what this one brings arrive at its barriers, which are there only as long as it is: a cluster's barrier does not wait for arrivals that
  // are under way, unless it orders all of memory. One thread does it.
  NAUTILUS_DEVICE void drain(Place filled, int stages) const {
#pragma unroll 1
    for (int stage = 0; stage < least(kStages, stages); ++stage)
      device::mbarrier_wait(empty + stage, filled.parity ^ static_cast<int>(stage < filled.stage) ^ 1);
  }

 private:
  NAUTILUS_DEVICE void init_full(int stage) const { device::mbarrier_init(full + stage, 1 + kWriters); }
  NAUTILUS_DEVICE void init_empty(int stage) const {
    using Groups = Warpgroups<Schedule>;
    device::mbarrier_init(empty + stage, Groups::kReaders * (kWarpgroupThreads / device::kWarpThreads) * Groups::kSharing);
  }
  // The first four in any case, since each question costs a fence: the compiler puts one before the barriers behind it. Nobody waits at those
  // that are too many.
  template <bool kHasFull, bool kHasEmpty>
  NAUTILUS_DEVICE void prepare_by_four(int stages) const {
    constexpr int kTogether = 4;
    NAUTILUS_UNROLL
    for (int first = 0; first < kStages; first += kTogether) {
      if (first > 0 && first >= stages) break;
      NAUTILUS_UNROLL
      for (int i = first; i < least(first + kTogether, kStages); ++i) {
        if constexpr (kHasFull) init_full(i);
        if constexpr (kHasEmpty) init_empty(i);
      }
    }
    device::mbarrier_init_fence();
  }
};

// Starts the copies of the tiles of depth, from FIRST_TILE on, of a block's rows and columns, which begin FIRST_M and FIRST_N into those of its
// cluster; there it is block BESIDE of those that share an operand.
template <class Schedule, class OperandA, class OperandB, class A>
struct TileCopies {
  using Groups = Warpgroups<Schedule, OperandA::kIsLoaded>;
  static constexpr uint16 kBlocks = (1 << Groups::kSharing) - 1;
  const A &arguments;
  int first_m, first_n, first_tile, beside;

  template <class Place, class Ring>
  NAUTILUS_DEVICE void load_a(const Place &at, int tile, const Ring &ring, int stage) const {
    OperandA::load(arguments, arguments.maps[0], at.batch, at.m + first_m, (first_tile + tile) * OperandA::kDepth, ring.a(stage),
                   ring.full + stage, beside / Schedule::kClusterM, kBlocks);
  }
  template <class Place, class Ring>
  NAUTILUS_DEVICE void load_b(const Place &at, int tile, const Ring &ring, int stage) const {
    OperandB::load(arguments, arguments.maps[Groups::kMapB], at.batch, at.n + first_n, (first_tile + tile) * OperandB::kDepth, ring.b(stage),
                   ring.full + stage, beside % Schedule::kClusterM, kBlocks);
  }
  // Of a stage that is empty: the constant operand's, or B's. The other operand's follows.
  template <Constant kConstant, class Place, class Ring>
  NAUTILUS_DEVICE void load_first(const Place &at, int tile, const Ring &ring, int stage) const {
    device::mbarrier_arrive_expect(ring.full + stage, ring.kCopiedBytes);
    if constexpr (kConstant == Constant::kA) {
      load_a(at, tile, ring, stage);
    } else {
      load_b(at, tile, ring, stage);
    }
  }
  template <Constant kConstant, class Place, class Ring>
  NAUTILUS_DEVICE void load_second(const Place &at, int tile, const Ring &ring, int stage) const {
    if constexpr (kConstant == Constant::kA) {
      load_b(at, tile, ring, stage);
    } else {
      load_a(at, tile, ring, stage);
    }
  }
};

// Starts the copies of a constant operand's tiles that an empty ring holds, of TILES of the result's tile AT; returns how many. What they read
// no earlier kernel writes. One thread does it, and fills the ring.
template <Constant kConstant, class Place, class Ring, class Copies>
NAUTILUS_DEVICE int start_ring(const Place &at, const Ring &ring, const Copies &copies, int tiles) {
  const int early = least(Ring::kStages, tiles);
#pragma unroll 1
  for (int tile = 0; tile < early; ++tile) copies.template load_first<kConstant>(at, tile, ring, tile);
  return early;
}

// Fills a ring with the tiles of depth, TILES of each of the result's tiles from number FIRST on, which is AT, every STEP-th, once earlier kernels
// have finished. Of the first EARLY the constant operand's have been started. Returns what would be filled next.
template <Constant kConstant, class Walk, class Ring, class Copies>
NAUTILUS_DEVICE typename Ring::Place fill_ring(const Walk &walk, const Ring &ring, const Copies &copies, typename Walk::Place at, int first,
                                               int step, int tiles, int early) {
  typename Ring::Place place;
  device::dependency_wait();
  int begin = 0;
  if constexpr (Walk::kHasOpenDepth && kConstant != Constant::kNone) {
    // Nothing is asked of those whose other operand is under way: whatever stands between their copies delays the last one.
#pragma unroll 1
    for (; begin < early; ++begin) copies.template load_second<kConstant>(at, begin, ring, begin);
    place.advance(begin);
    early = 0;
  }
  for (int number = first; number < walk.count; number += step) {
    // With an open depth, where the first tile lies is known before the wait: what is worked out after it delays the first copies.
    if constexpr (!Walk::kHasOpenDepth) at = walk.place(number);
    // Unrolled, as where the depth is short and known, places ahead do not fit into a producer's registers.
#pragma unroll 1
    for (int tile = begin; tile < tiles; ++tile) {
      if (early > 0) {
        --early;
      } else {
        device::mbarrier_wait(ring.empty + place.stage, place.parity ^ 1);
        copies.template load_first<kConstant>(at, tile, ring, place.stage);
      }
      copies.template load_second<kConstant>(at, tile, ring, place.stage);
      place.advance();
    }
    begin = 0;
    if constexpr (Walk::kHasOpenDepth) {
      if (number + step < walk.count) at = walk.place(number + step);
    }
  }
  return place;
}

}  // namespace nautilus::kernels
