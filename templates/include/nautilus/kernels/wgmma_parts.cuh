// Sums of a tile whose depth is shared out: among the consumers of a block, which then all have the same rows, and among the blocks of a
// cluster. Each part finishes some columns, of which the others send it their sums: among blocks by stores that a barrier counts, so that no
// memory need be fenced, and no block waits for more than it gets; in a block by ordinary stores and a barrier of the consumers.
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
  static constexpr bool kIsOfOneBlock = Schedule::kClusterK == 1;
  static constexpr int kParts = kSlices * Schedule::kClusterK;
  static constexpr int kColumns = 8 * greatest(1, Schedule::kVectorC / 2);  // that lanes exchange
  static_assert(Schedule::kTileN % kColumns == 0, "whole groups of columns");
  static constexpr int kShares = equal_shares(Schedule::kTileN / kColumns, kParts);
  static constexpr int kShareColumns = Schedule::kTileN / kShares;
};

// Where a block gets the sums that other parts have of the columns that its own finish, and the barrier that counts them.
template <class Schedule>
struct ReceivedSums {
  using Parts = DepthParts<Schedule>;
  static constexpr int kBands = Schedule::kTileM / kWarpgroupRows;    // of all consumers
  static constexpr int kOwn = Schedule::kTileN / 2 / Parts::kShares;  // sums of a thread and a band that one part finishes
  static constexpr int kChunks = kOwn / 4;                            // of 16 bytes
  static constexpr int kSenders = Parts::kParts - 1;
  static constexpr int kSenderBytes = kBands * kOwn * kWarpgroupThreads * static_cast<int>(sizeof(float));
  static constexpr int kSumBytes = Parts::kSlices * kSenders * kSenderBytes;
  static constexpr int kBytes = Parts::kParts > 1 ? kSumBytes + 16 : 0;
  static_assert(kChunks * 4 == kOwn, "whole accesses");
  unsigned char *sums;

  NAUTILUS_DEVICE device::Mbarrier *barrier() const { return reinterpret_cast<device::Mbarrier *>(sums + kSumBytes); }
  // One thread prepares the barrier for what block RANK gets.
  NAUTILUS_DEVICE void prepare(int rank) const {
    if constexpr (Parts::kIsOfOneBlock) return;
    const int finishing = greatest(0, least(Parts::kSlices, Parts::kShares - rank * Parts::kSlices));  // parts
    device::mbarrier_init(barrier(), 1);
    device::mbarrier_init_fence();
    device::mbarrier_arrive_expect(barrier(), finishing * kSenders * kSenderBytes);
  }
  // Where a thread of a warpgroup gets a chunk of the sums of BAND of part FROM, or sends them to, as part TO: neighbouring threads side by side.
  NAUTILUS_DEVICE float *place(int from, int to, int band, int chunk) const {
    const int sender = from < to ? from : from - 1, line = (((to % Parts::kSlices * kSenders + sender) * kBands + band) * kChunks + chunk);
    return reinterpret_cast<float *>(sums) + (line * kWarpgroupThreads + device::thread_index().x % kWarpgroupThreads) * 4;
  }
};

// Adds the parts' sums in order: each part those of its columns, which the others send it. RANK is that of the block in its cluster, SLICE that
// of the consumer where these share out the depth; else ROWS is, of those that have rows of their own. Every thread of the cluster has arrived
// at its barrier once, and those that are no consumers wait for that too.
template <class Schedule, int kBands, class Sink, class A>
NAUTILUS_DEVICE void finish_parts(const A &arguments, const Sink &sink, const ReceivedSums<Schedule> &received, int rows, int slice, int rank,
                                  int first_row, int first_column, float (&sums)[kBands][Schedule::kTileN / 2],
                                  const BandMoments<Sink> (&moments)[kBands]) {
  using Parts = DepthParts<Schedule>;
  using Received = ReceivedSums<Schedule>;
  constexpr int kOwn = Received::kOwn, kMeeting = Schedule::kConsumers + 1, kThreads = Parts::kSlices * kWarpgroupThreads;
  const int part = rank * Parts::kSlices + slice, first_band = rows * kBands;
  if constexpr (Schedule::kClusterK > 1) device::cluster_wait();  // others' barriers are prepared
  float own[kBands][kOwn];
  NAUTILUS_UNROLL
  for (int to = 0; to < Parts::kShares; ++to) {
    NAUTILUS_UNROLL
    for (int band = 0; band < kBands; ++band) {
      NAUTILUS_UNROLL
      for (int chunk = 0; chunk < Received::kChunks; ++chunk) {
        float values[4];
        NAUTILUS_UNROLL
        for (int i = 0; i < 4; ++i) values[i] = sums[band][to * kOwn + chunk * 4 + i];
        if (to == part) {
          NAUTILUS_UNROLL
          for (int i = 0; i < 4; ++i) own[band][chunk * 4 + i] = values[i];
        } else if constexpr (Parts::kIsOfOneBlock) {
          device::store_shared(received.place(part, to, first_band + band, chunk), Vector<float, 4>{{values[0], values[1], values[2], values[3]}});
        } else {
          device::store_shared_async(received.place(part, to, first_band + band, chunk), values, received.barrier(), to / Parts::kSlices);
        }
      }
    }
  }
  if (part >= Parts::kShares) {
    if constexpr (Parts::kIsOfOneBlock) device::named_barrier_arrive(kMeeting, kThreads);
    return;
  }
  LaneInputs<Sink, Parts::kShareColumns, Schedule::kVectorC> inputs;
  const auto start_inputs = [&](int band) {
    inputs.start(arguments, sink, first_row + band * kWarpgroupRows, first_column + part * Parts::kShareColumns);
  };
  start_inputs(0);
  if constexpr (Parts::kIsOfOneBlock) {
    device::named_barrier(kMeeting, kThreads);
  } else {
    device::mbarrier_wait(received.barrier(), 0);
  }
  NAUTILUS_UNROLL
  for (int band = 0; band < kBands; ++band) {
    float totals[kOwn] = {};
    NAUTILUS_UNROLL
    for (int from = 0; from < Parts::kParts; ++from) {
      NAUTILUS_UNROLL
      for (int chunk = 0; chunk < Received::kChunks; ++chunk) {
        Vector<float, 4> values;
        if (from != part) {
          values = *reinterpret_cast<const Vector<float, 4> *>(received.place(from, part, first_band + band, chunk));
        } else {
          NAUTILUS_UNROLL
          for (int i = 0; i < 4; ++i) values[i] = own[band][chunk * 4 + i];
        }
        NAUTILUS_UNROLL
        for (int i = 0; i < 4; ++i) totals[chunk * 4 + i] += values[i];
      }
    }
    if (band > 0) start_inputs(band);
    finish_band(arguments, sink, totals, inputs, moments[band]);
  }
}

}  // namespace nautilus::kernels
