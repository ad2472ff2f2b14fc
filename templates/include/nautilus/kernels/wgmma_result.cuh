// Sums of a matrix product by wgmma on their way to results: by each lane to where they belong, or as boxes that are put together in shared
// memory and taken from there by bulk copies, while the warpgroup goes on.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_product.cuh>
#include <nautilus/kernels/row_statistics.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>

namespace nautilus::kernels {

constexpr int kWarpgroupThreads = 128;
constexpr int kWarpgroupRows = 64;  // of one wgmma

// Hands 64 rows of sums to the epilogue, those of a warpgroup's thread from FIRST_ROW on, chunk by chunk of columns.
template <int kColumns, int kVector, class Sink, class A>
NAUTILUS_DEVICE void finish_band(const A &arguments, const Sink &sink, int first_row, int first_column, float (&sums)[kColumns / 2]) {
  using Epilogue = typename Sink::Epilogue;
  constexpr int kTogether = greatest(2, kVector);  // columns that a lane holds side by side
  constexpr int kGroup = kTogether / 2;            // of steps of 8 columns
  constexpr int kVectors = kTogether / kVector;
  static_assert(kColumns % (8 * kGroup) == 0, "whole chunks");
  const int thread = device::thread_index().x % kWarpgroupThreads, lane = thread % device::kWarpThreads, in_group = lane % 4;
  const typename Sink::Row rows[2] = {sink.row(arguments, first_row + thread / device::kWarpThreads * 16 + lane / 4),
                                      sink.row(arguments, first_row + thread / device::kWarpThreads * 16 + lane / 4 + 8)};
  constexpr int kChunks = kColumns / (8 * kGroup);
  const auto column = [&](int chunk, int v) {
    return first_column + chunk * 8 * kGroup + in_group % kGroup * 8 + in_group / kGroup * kTogether + v * kVector;
  };
  // Reads for a chunk are issued before the one ahead of it is finished: a store keeps the compiler from moving them.
  typename Epilogue::template Inputs<kVector> inputs[2][2][kVectors];
  const auto load = [&](int chunk) {
    NAUTILUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      NAUTILUS_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        if (rows[half].is_inside && sink.has_column(arguments, column(chunk, v)))
          inputs[chunk % 2][half][v] = Epilogue::template load<kVector>(arguments, sink.at(rows[half], column(chunk, v)));
      }
    }
  };
  KeptPart<Sink, 2> kept;
  load(0);
  NAUTILUS_UNROLL
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if (chunk + 1 < kChunks) load(chunk + 1);
    float part[kGroup][4];
    NAUTILUS_UNROLL
    for (int i = 0; i < kGroup; ++i) {
      NAUTILUS_UNROLL
      for (int e = 0; e < 4; ++e) part[i][e] = sums[(chunk * kGroup + i) * 4 + e];
    }
    if constexpr (kGroup > 1) exchange_columns<kTogether, kGroup / 2>(part);
    NAUTILUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      NAUTILUS_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        if (!rows[half].is_inside || !sink.has_column(arguments, column(chunk, v))) continue;
        Vector<float, kVector> values;
        NAUTILUS_UNROLL
        for (int e = 0; e < kVector; ++e) {
          const int held = v * kVector + e;
          values[e] = part[held / 2][2 * half + held % 2];
        }
        const auto results =
            Epilogue::template compute<kVector>(arguments, sink.at(rows[half], column(chunk, v)), inputs[chunk % 2][half][v], values);
        kept.keep(half, chunk * kTogether + v * kVector, results);
      }
      kept.finish(arguments, sink, rows[half], half, (chunk + 1) * kTogether, first_column);
    }
  }
}

// Two boxes in shared memory that a warpgroup fills in turn, each 64 rows of 128 bytes, swizzled within these.
struct ResultBoxes {
  static constexpr int kBoxBytes = kWarpgroupRows * kBoxRowBytes;
  static constexpr int kBytes = 2 * kBoxBytes;
  unsigned char *boxes;
  int barrier;  // of the warpgroup alone
  int next = 0;

  // The box to fill next, once the copy that read it last has done so.
  NAUTILUS_DEVICE unsigned char *take() {
    if (is_elected()) device::bulk_wait_read<1>();
    device::named_barrier(barrier, kWarpgroupThreads);
    unsigned char *const box = boxes + next * kBoxBytes;
    next ^= 1;
    return box;
  }
  // Sends a filled box to AT of the map's tensor.
  template <int kRank>
  NAUTILUS_DEVICE void send(const device::TensorMap &map, const unsigned char *box, const int (&at)[kRank]) const {
    device::async_proxy_fence();
    device::named_barrier(barrier, kWarpgroupThreads);
    if (is_elected()) {
      device::tensor_store(map, box, at);
      device::bulk_commit();
    }
  }
  // Before the thread ends: shared memory is given away.
  NAUTILUS_DEVICE void finish() const {
    if (is_elected()) device::bulk_wait_read<0>();
  }

 private:
  NAUTILUS_DEVICE static bool is_elected() { return device::thread_index().x % kWarpgroupThreads == 0; }
};

// The same as finish_band for an epilogue with one store, of rows at one distance, whose loads are the same for all rows: MAP is of the
// tensor that the store writes. What lies outside of it is dropped.
template <int kColumns, class Sink, class A>
NAUTILUS_DEVICE void send_band(const A &arguments, const device::TensorMap &map, const Sink &sink, int batch, int first_row,
                               int first_column, float (&sums)[kColumns / 2], ResultBoxes &boxes) {
  using Epilogue = typename Sink::Epilogue;
  using Store = typename Epilogue::Store0;
  using Batch = typename BatchOf<typename Store::Map>::Type;
  constexpr int kItemBytes = static_cast<int>(sizeof(typename Store::Storage));
  constexpr int kBoxColumns = kBoxRowBytes / kItemBytes * Sink::kSums, kSteps = kBoxColumns / 8;  // of sums
  constexpr int kBoxes = kColumns / kBoxColumns;
  static_assert(kBoxes * kBoxColumns == kColumns && Epilogue::kStores == 1, "whole boxes of one tensor");
  const auto row_of = [&](int row) { return sink.row(arguments, first_row + row); };
  if (!row_of(0).is_inside) return;  // so are all others
  const int thread = device::thread_index().x % kWarpgroupThreads, lane = thread % device::kWarpThreads;
  const int row = thread / device::kWarpThreads * 16 + lane / 4, pair = lane % 4 * 2;
  const auto column = [&](int box, int step) { return first_column + box * kBoxColumns + step * 8 + pair; };
  const auto has_column = [&](int at) { return Sink::has_whole_tiles(kColumns) || sink.has_column(arguments, at); };
  typename Epilogue::template Inputs<2> inputs[2][kSteps];
  const auto load = [&](int box) {
    NAUTILUS_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      if (has_column(column(box, step)))
        inputs[box % 2][step] = Epilogue::template load<2>(arguments, sink.at(row_of(0), column(box, step)));
    }
  };
  load(0);
  NAUTILUS_UNROLL
  for (int box = 0; box < kBoxes; ++box) {
    if (box + 1 < kBoxes) load(box + 1);
    unsigned char *const filled = boxes.take();
    NAUTILUS_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      if (!has_column(column(box, step))) continue;
      const int byte = (step * 8 + pair) / Sink::kSums * kItemBytes;
      NAUTILUS_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int held = (box * kSteps + step) * 4 + 2 * half;
        Vector<float, 2> values;
        values[0] = sums[held];
        values[1] = sums[held + 1];
        using Place = decltype(sink.at(row_of(0), 0));
        using Index = typename Place::Index;
        // Eight rows repeat the swizzle.
        unsigned char *const place = filled + (row + 8 * half) * kBoxRowBytes + ((byte / 16 ^ row % 8) * 16 + byte % 16);
        const StagedCoordinates<Index, Place::kRank> at{{sink.at(row_of(row + 8 * half), column(box, step))}, place};
        Epilogue::template compute<2>(arguments, at, inputs[box % 2][step], values);
      }
    }
    int at[Batch::kRank];
    Batch::split(arguments, batch, at);
    at[0] = (first_column + box * kBoxColumns) / Sink::kSums;
    at[1] = first_row;
    boxes.send(map, filled, at);
  }
}

}  // namespace nautilus::kernels
