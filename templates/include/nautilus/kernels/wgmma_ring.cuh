// Where tiles of operands wait in shared memory for the warpgroups that multiply them: in one ring of stages that hold both, or in a ring for
// each operand.
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

// A barrier of the warps that read a stage, in all blocks that this one brings a part of it to.
template <class Schedule>
struct Readers {
  using Groups = Warpgroups<Schedule>;

  NAUTILUS_DEVICE static void prepare(device::Mbarrier *barrier) {
    device::mbarrier_init(barrier, Groups::kReaders * (kWarpgroupThreads / device::kWarpThreads) * Groups::kSharing);
  }
  // Of each warp that has read the stage.
  NAUTILUS_DEVICE static void release(device::Mbarrier *barrier) {
    const int lane = device::lane_index();
    if constexpr (Groups::kSharing == 1) {
      if (lane == 0) device::mbarrier_arrive(barrier);
    } else {
      if (lane < Groups::kSharing) device::mbarrier_arrive_at(barrier, lane);
    }
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
  using Stage = int;
  unsigned char *stages, *rests, *results;
  device::Mbarrier *full, *empty;

  NAUTILUS_DEVICE Ring()
      : stages(device::dynamic_shared<unsigned char>()),
        rests(stages + kStages * kStageBytes),
        results(rests + kRestsBytes),
        full(device::dynamic_shared<device::Mbarrier>(kStages * kStageBytes + kRestsBytes + Warpgroups<Schedule>::kResultBytes)),
        empty(full + kStages) {}
  NAUTILUS_DEVICE unsigned char *a(Stage stage) const { return stages + stage * kStageBytes; }
  NAUTILUS_DEVICE unsigned char *b(Stage stage) const { return stages + stage * kStageBytes + OperandA::kBytes; }

  // One thread prepares the barriers of the first STAGES: a stage is full when its bytes are there and warps that write have done so, and
  // empty when it has been read. Lanes side by side, each of a stage, take three times as long: places that differ go one by one.
  NAUTILUS_DEVICE void prepare(int stages) const {
    NAUTILUS_UNROLL
    for (int i = 0; i < kStages; ++i) {
      if (i >= stages) break;
      device::mbarrier_init(full + i, 1 + kWriters);
      Readers<Schedule>::prepare(empty + i);
    }
    device::mbarrier_init_fence();
  }
  // The stage of a place, by one lane for all.
  NAUTILUS_DEVICE static Stage stage(const Place &place) { return device::shuffle(place.stage, 0); }
  NAUTILUS_DEVICE void wait(Stage stage, const Place &place) const { device::mbarrier_wait(full + stage, place.parity); }
  NAUTILUS_DEVICE void release(Stage stage) const { Readers<Schedule>::release(empty + stage); }
};

// The places of both operands' rings.
template <int kStages, int kOtherStages>
struct RingPlaces {
  RingPlace<kStages> constant;
  RingPlace<kOtherStages> other;

  NAUTILUS_DEVICE void advance() {
    constant.advance();
    other.advance();
  }
  NAUTILUS_DEVICE void advance(int steps) {
    constant.advance(steps);
    other.advance(steps);
  }
};

// A ring of many stages for the operand that no kernel writes, which can so be under way before earlier kernels have finished, and one of few
// for the other, which comes from L2. Tiles are read, and given back, in pairs: only the smaller ring says that a pair has been read.
template <class Schedule, Constant kConstant, class OperandA, class OperandB>
struct RingPair {
  static_assert(kConstant != Constant::kNone && !OperandA::kIsLoaded, "bulk copies bring both operands, of which one is a constant");
  static constexpr bool kHoldsA = kConstant == Constant::kA;  // in the great ring
  static constexpr int kStages = Schedule::kStages, kOtherStages = Schedule::kOtherStages;
  static_assert(kStages >= kOtherStages, "the last tiles are under way when those of the other ring are");
  static constexpr int kBytes = kHoldsA ? OperandA::kBytes : OperandB::kBytes;
  static constexpr int kOtherBytes = kHoldsA ? OperandB::kBytes : OperandA::kBytes;
  static constexpr int kRingBytes = kStages * kBytes + kOtherStages * kOtherBytes;
  using Place = RingPlaces<kStages, kOtherStages>;
  struct Stage {
    int constant, other;
  };
  unsigned char *stages, *others, *results;
  device::Mbarrier *full, *other_full, *other_empty;

  NAUTILUS_DEVICE RingPair()
      : stages(device::dynamic_shared<unsigned char>()),
        others(stages + kStages * kBytes),
        results(stages + kRingBytes),
        full(device::dynamic_shared<device::Mbarrier>(kRingBytes + Warpgroups<Schedule>::kResultBytes)),
        other_full(full + kStages),
        other_empty(other_full + kOtherStages) {}
  NAUTILUS_DEVICE unsigned char *constant(int stage) const { return stages + stage * kBytes; }
  NAUTILUS_DEVICE unsigned char *other(int stage) const { return others + stage * kOtherBytes; }
  NAUTILUS_DEVICE unsigned char *a(Stage stage) const { return kHoldsA ? constant(stage.constant) : other(stage.other); }
  NAUTILUS_DEVICE unsigned char *b(Stage stage) const { return kHoldsA ? other(stage.other) : constant(stage.constant); }

  // One thread prepares the barriers of the first STAGES of the great ring, and all of the other.
  NAUTILUS_DEVICE void prepare(int stages) const {
    NAUTILUS_UNROLL
    for (int i = 0; i < kStages; ++i) {
      if (i >= stages) break;
      device::mbarrier_init(full + i, 1);
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < kOtherStages; ++i) {
      device::mbarrier_init(other_full + i, 1);
      Readers<Schedule>::prepare(other_empty + i);
    }
    device::mbarrier_init_fence();
  }
  NAUTILUS_DEVICE static Stage stage(const Place &place) {
    return {device::shuffle(place.constant.stage, 0), device::shuffle(place.other.stage, 0)};
  }
  NAUTILUS_DEVICE void wait(const Stage &stage, const Place &place) const {
    device::mbarrier_wait(full + stage.constant, place.constant.parity);
    device::mbarrier_wait(other_full + stage.other, place.other.parity);
  }
  NAUTILUS_DEVICE void release(const Stage &stage) const { Readers<Schedule>::release(other_empty + stage.other); }
};

template <bool kIsPair, class Schedule, int kTerms, Constant kConstant, class OperandA, class OperandB>
struct RingChoice {
  using Type = Ring<Schedule, kTerms, OperandA, OperandB>;
};
template <class Schedule, int kTerms, Constant kConstant, class OperandA, class OperandB>
struct RingChoice<true, Schedule, kTerms, kConstant, OperandA, OperandB> {
  using Type = RingPair<Schedule, kConstant, OperandA, OperandB>;
};
// What a schedule asks for.
template <class Schedule, int kTerms, Constant kConstant, class OperandA, class OperandB>
using RingFor = RingChoice<(Schedule::kOtherStages > 0), Schedule, kTerms, kConstant, OperandA, OperandB>;

// Fills a ring with the tiles of depth, TILES of each of the results' tiles from FIRST on, every STEP-th: by one thread. COPY_A(place, tile, to,
// barrier) starts the copy of a tile of A, COPY_B that of one of B; those of a constant operand before earlier kernels have finished.
template <Constant kConstant, class Walk, class Ring, class CopyA, class CopyB>
NAUTILUS_DEVICE void fill_ring(const Walk &walk, const Ring &ring, int first, int step, int tiles, CopyA copy_a, CopyB copy_b) {
  using At = typename Walk::Place;
  typename Ring::Place place;
  const auto load_a = [&](const At &at, int tile, int stage) { copy_a(at, tile, ring.a(stage), ring.full + stage); };
  const auto load_b = [&](const At &at, int tile, int stage) { copy_b(at, tile, ring.b(stage), ring.full + stage); };
  const auto load_first = [&](const At &at, int tile, int stage) {
    device::mbarrier_arrive_expect(ring.full + stage, ring.kCopiedBytes);
    if constexpr (kConstant == Constant::kA) {
      load_a(at, tile, stage);
    } else {
      load_b(at, tile, stage);
    }
  };
  int early = 0;  // tiles of a constant operand that are on their way before those of the other
  if constexpr (kConstant != Constant::kNone) {
    const auto at = walk.place(first);
    for (; early < least(Ring::kStages, tiles); ++early) load_first(at, early, early);
  }
  device::dependency_wait();
  for (int number = first; number < walk.count; number += step) {
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
}

// Fills a pair of rings likewise. COPY starts the copy of a tile of the constant operand, COPY_OTHER that of one of the other, and
// PREFETCH(place, tile) brings one of the constant operand into L2.
template <class Schedule, class Walk, class Ring, class Copy, class CopyOther, class Prefetch>
NAUTILUS_DEVICE void fill_rings(const Walk &walk, const Ring &ring, int first, int step, int tiles, Copy copy, CopyOther copy_other,
                                Prefetch prefetch) {
  typename Ring::Place place;
  int next_number = tiles > 0 ? first : walk.count, next_tile = 0;  // of the constant operand
  auto next_at = walk.place(first);
  const auto load_next = [&] {
    if (next_number >= walk.count) return;
    device::Mbarrier *const full = ring.full + place.constant.stage;
    device::mbarrier_arrive_expect(full, Ring::kBytes);
    copy(next_at, next_tile, ring.constant(place.constant.stage), full);
    place.constant.advance();
    if (++next_tile < tiles) return;
    next_tile = 0;
    next_number += step;
    next_at = walk.place(next_number);
  };
  for (int i = 0; i < Ring::kStages; ++i) load_next();
  if constexpr (Schedule::kPrefetches) {
    if (next_number == first) {
      for (int tile = next_tile; tile < tiles; ++tile) prefetch(next_at, tile);
    }
  }
  device::dependency_wait();
  int untouched = Ring::kOtherStages;
  for (int number = first; number < walk.count; number += step) {
    const auto at = walk.place(number);
    for (int tile = 0; tile < tiles; ++tile) {
      const int stage = place.other.stage;
      const bool is_untouched = untouched > 0;
      if (is_untouched) {
        --untouched;
      } else {
        device::mbarrier_wait(ring.other_empty + stage, place.other.parity ^ 1);
      }
      device::mbarrier_arrive_expect(ring.other_full + stage, Ring::kOtherBytes);
      copy_other(at, tile, ring.other(stage), ring.other_full + stage);
      place.other.advance();
      if (!is_untouched) load_next();  // the tile that lay beside it has been read too
    }
  }
}

}  // namespace nautilus::kernels
