// How the threads of a block of a product by wgmma share the work, and its registers.
#pragma once

#include <nautilus/kernels/wgmma_parts.cuh>
#include <nautilus/kernels/wgmma_result.cuh>

namespace nautilus::kernels {

// The first warpgroup is the producer; with kLoadsA all its threads are, and need registers.
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
  static constexpr int kResultBytes = Schedule::kStoresBoxes ? Schedule::kConsumers * ResultBoxes::kBytes : ReceivedSums<Schedule>::kBytes;
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

}  // namespace nautilus::kernels
