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

}  // namespace nautilus::kernels
