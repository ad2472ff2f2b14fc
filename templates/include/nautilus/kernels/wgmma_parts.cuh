// Sums of a tile whose depth is shared out: among the consumers of a block, which then all have the same rows, and among the blocks of a
// cluster. They meet in shared memory, where the ring has been, and each part finishes some columns of what all have added.
#pragma once

#include <nautilus/device/device.cuh>
#include <nautilus/kernels/wgmma_result.cuh>

namespace nautilus::kernels {

// Into how many equal shares, at most MOST, a number of groups falls.
constexpr int equal_shares(int groups, int most) {
  int shares = least(groups, most);
  while (groups % shares != 0) --shares;
  return shares;
}

// How many parts a tile's depth has, and by how many of them its columns are finished.
template <class Schedule>
struct DepthParts {
  static constexpr int kSlices = Schedule::kSlicesDepth ? Schedule::kConsumers : 1;
  static constexpr int kParts = kSlices * Schedule::kClusterK;
  static constexpr int kColumns = 8 * greatest(1, Schedule::kVectorC / 2);  // that lanes exchange
  static_assert(Schedule::kTileN % kColumns == 0, "whole groups of columns");
  static constexpr int kShares = equal_shares(Schedule::kTileN / kColumns, kParts);
  static constexpr int kShareColumns = Schedule::kTileN / kShares;
};

// Adds the parts' sums in order. Every thread of the cluster but the consumers' meets them at one cluster barrier, where there are several
// blocks. ROWS numbers the consumers that have rows of their own.
template <class Schedule, int kBands, class Sink, class A>
NAUTILUS_DEVICE void finish_parts(const A &arguments, const Sink &sink, float *shared, int rows, int slice, int rank, int first_row,
                                  int first_column, float (&sums)[kBands][Schedule::kTileN / 2], const BandMoments<Sink> (&moments)[kBands],
                                  int barrier) {
  using Parts = DepthParts<Schedule>;
  constexpr int kSums = Schedule::kTileN / 2, kOwn = kSums / Parts::kShares;
  const int thread = device::thread_index().x % kWarpgroupThreads;
  const auto place = [&](int of_slice, int band, int i) {  // every register of a warpgroup is a line of shared memory
    return shared + (((rows + of_slice) * kBands + band) * kSums + i) * kWarpgroupThreads + thread;
  };
  const int part = rank * Parts::kSlices + slice;
  LaneInputs<Sink, Parts::kShareColumns, Schedule::kVectorC> inputs;
  const auto start_inputs = [&](int band) {
    inputs.start(arguments, sink, first_row + band * kWarpgroupRows, first_column + part * Parts::kShareColumns);
  };
  if (part < Parts::kShares) start_inputs(0);
  device::named_barrier(barrier, Schedule::kConsumers * kWarpgroupThreads);  // the ring has been read
  NAUTILUS_UNROLL
  for (int band = 0; band < kBands; ++band) {
    NAUTILUS_UNROLL
    for (int i = 0; i < kSums; ++i) *place(slice, band, i) = sums[band][i];
  }
  if constexpr (Schedule::kClusterK > 1) {
    device::cluster_barrier();
  } else {
    device::named_barrier(barrier, Schedule::kConsumers * kWarpgroupThreads);
  }
  if (part >= Parts::kShares) return;
  NAUTILUS_UNROLL
  for (int band = 0; band < kBands; ++band) {
    float totals[kOwn] = {};
    NAUTILUS_UNROLL
    for (int block = 0; block < Schedule::kClusterK; ++block) {
      NAUTILUS_UNROLL
      for (int of_slice = 0; of_slice < Parts::kSlices; ++of_slice) {
        NAUTILUS_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          const float *const from = place(of_slice, band, part * kOwn + i);
          if constexpr (Schedule::kClusterK > 1) {
            totals[i] += device::load_shared_at(from, block);
          } else {
            totals[i] += *from;
          }
        }
      }
    }
    if (band > 0) start_inputs(band);
    finish_band(arguments, sink, totals, inputs, moments[band]);
  }
}

}  // namespace nautilus::kernels
