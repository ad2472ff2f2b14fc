// Sums of a matrix product by wgmma on their way to results: by each lane to where they belong, or as boxes that are put together in shared
// memory and taken from there by bulk copies, while the warpgroup goes on.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_columns.cuh>
#include <nautilus/kernels/product.cuh>
#include <nautilus/kernels/row_moments.cuh>
#include <nautilus/kernels/row_statistics.cuh>
#include <nautilus/kernels/wgmma_operand.cuh>

namespace nautilus::kernels {

constexpr int kWarpgroupThreads = 128;
constexpr int kWarpgroupRows = 64;  // of one wgmma

// What an epilogue is handed of a thread's two rows of 64, beside their sums.
template <class Sink>
using BandMoments = LaneMoments<4, Sink, 2>;

template <class Sink, class A>
NAUTILUS_DEVICE void start_moments(const A &arguments, const Sink &sink, int first_row, BandMoments<Sink> &moments) {
  const int thread = device::thread_index().x % kWarpgroupThreads, lane = thread % device::kWarpThreads;
  const int row = first_row + thread / device::kWarpThreads * 16 + lane / 4;
  const typename Sink::Row rows[2] = {sink.row(arguments, row), sink.row(arguments, row + 8)};
  moments.start(arguments, sink, rows);
}

// Whether lanes exchange columns of results, of which two are a word, and not of sums before they store vectors: half the shuffles. Where the
// epilogue loads nothing: four loads of a word in place of one of 16 bytes cost more than is gained.
template <class Sink, int kVector>
constexpr bool exchanges_results() {
  using Epilogue = typename Sink::Epilogue;
  if constexpr (Epilogue::kStores == 1 && Epilogue::kLoads == 0 && kVector > 2 && Sink::kSums == 1 && Sink::kPartColumns == 0) {
    using Store = typename Epilogue::Store0;
    return sizeof(typename Store::Storage) == 2 && Store::Map::contiguous_width(kVector) == kVector;
  }
  return false;
}

// What an epilogue loads for a thread's results of 64 rows: vectors of kVector of two rows, chunk by chunk of columns. A chunk's are asked for
// ahead of the one before, since a store keeps the compiler from moving reads; beside many sums a row's only when those before are used, which
// takes half as many registers. The first ones come while products are under way.
template <class SinkType, int kColumns, int kVector>
struct LaneInputs {
  using Sink = SinkType;
  using Epilogue = typename Sink::Epilogue;
  static constexpr int kTogether = greatest(2, kVector);  // columns that a lane holds side by side
  static constexpr int kGroup = kTogether / 2;            // of steps of 8 columns
  static constexpr int kVectors = kTogether / kVector;
  static constexpr int kChunks = kColumns / (8 * kGroup);
  static constexpr bool kHoldsAll = false;
  static_assert(kColumns % (8 * kGroup) == 0, "whole chunks");
  typename Sink::Row rows[2];
  int first_column;
  static constexpr int kHeld = kColumns <= 96 ? 2 : 1;  // chunks
  typename Epilogue::template Inputs<kVector> held[kHeld][2][kVectors];

  template <class A>
  NAUTILUS_DEVICE void start(const A &arguments, const Sink &sink, int row, int column) {
    const int thread = device::thread_index().x % kWarpgroupThreads, lane = thread % device::kWarpThreads;
    first_column = column;
    NAUTILUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      rows[half] = sink.row(arguments, row + thread / device::kWarpThreads * 16 + lane / 4 + 8 * half);
      load(arguments, sink, 0, half);
    }
  }
  NAUTILUS_DEVICE int column(int chunk, int v) const {
    const int in_group = device::thread_index().x % 4;
    return first_column + chunk * 8 * kGroup + in_group % kGroup * 8 + in_group / kGroup * kTogether + v * kVector;
  }
  template <class A>
  NAUTILUS_DEVICE bool is_inside(const A &arguments, const Sink &sink, int chunk, int half, int v) const {
    return rows[half].is_inside && sink.has_column(arguments, column(chunk, v));
  }
  template <class A>
  NAUTILUS_DEVICE void load(const A &arguments, const Sink &sink, int chunk, int half) {
    NAUTILUS_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      if (is_inside(arguments, sink, chunk, half, v))
        held[chunk % kHeld][half][v] = Epilogue::template load<kVector>(arguments, sink.at(rows[half], column(chunk, v)));
    }
  }
};

// Stores a chunk of results that lanes exchange when they are such. PART holds the sums of two rows at two columns of each step.
template <class Sink, int kColumns, int kVector, int kGroup, class A>
NAUTILUS_DEVICE void store_exchanged(const A &arguments, const Sink &sink, int chunk, const float (&part)[kGroup][4],
                                     const LaneInputs<Sink, kColumns, kVector> &inputs, const BandMoments<Sink> &moments) {
  using Inputs = LaneInputs<Sink, kColumns, kVector>;
  using Epilogue = typename Sink::Epilogue;
  using Store = typename Epilogue::Store0;
  using Place = decltype(sink.at(inputs.rows[0], 0));
  using Storage = typename Store::Storage;
  uint32 words[kGroup][2];
  NAUTILUS_UNROLL
  for (int step = 0; step < kGroup; ++step) {
    const int column = inputs.first_column + (chunk * kGroup + step) * 8 + device::thread_index().x % 4 * 2;
    NAUTILUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      Vector<float, 2> values;
      values[0] = part[step][2 * half];
      values[1] = part[step][2 * half + 1];
      const auto at = sink.at(inputs.rows[half], column);
      Vector<Storage, 2> results;
      const StagedCoordinates<typename Place::Index, Place::kRank> staged{{at}, &results};
      Epilogue::put(arguments, staged, moments.template evaluate<Epilogue>(half, arguments, at, typename Epilogue::template Inputs<2>{}, values));
      words[step][half] = device::bit_cast<uint32>(results);
    }
  }
  exchange_columns<Inputs::kTogether, kGroup / 2>(words);
  NAUTILUS_UNROLL
  for (int half = 0; half < 2; ++half) {
    if (!inputs.is_inside(arguments, sink, chunk, half, 0)) continue;
    Vector<uint32, kGroup> vector;
    NAUTILUS_UNROLL
    for (int step = 0; step < kGroup; ++step) vector[step] = words[step][half];
    bool valid = true;
    const auto offset = Store::Map::offset(arguments, sink.at(inputs.rows[half], inputs.column(chunk, 0)), valid);
    device::store_global<Vector<Storage, kVector>>(Store::pointer(arguments) + offset, device::bit_cast<Vector<Storage, kVector>>(vector));
  }
}

// Hands 64 rows of sums to the epilogue, a warpgroup's thread its own, whose inputs have been asked for.
template <class Sink, int kColumns, int kVector, class A>
NAUTILUS_DEVICE void finish_band(const A &arguments, const Sink &sink, float (&sums)[kColumns / 2], LaneInputs<Sink, kColumns, kVector> &inputs,
                                 const BandMoments<Sink> &moments) {
  using Inputs = LaneInputs<Sink, kColumns, kVector>;
  constexpr int kGroup = Inputs::kGroup;
  constexpr bool kIsAhead = Inputs::kHeld > 1;
  KeptPart<Sink, 2> kept;
  NAUTILUS_UNROLL
  for (int chunk = 0; chunk < Inputs::kChunks; ++chunk) {
    NAUTILUS_UNROLL
    for (int half = 0; half < 2; ++half) {
      if (kIsAhead && chunk + 1 < Inputs::kChunks) inputs.load(arguments, sink, chunk + 1, half);
    }
    float part[kGroup][4];
    NAUTILUS_UNROLL
    for (int i = 0; i < kGroup; ++i) {
      NAUTILUS_UNROLL
      for (int e = 0; e < 4; ++e) part[i][e] = sums[(chunk * kGroup + i) * 4 + e];
    }
    if constexpr (exchanges_results<Sink, kVector>()) {
      store_exchanged(arguments, sink, chunk, part, inputs, moments);
    } else {
      if constexpr (kGroup > 1) exchange_columns<Inputs::kTogether, kGroup / 2>(part);
      NAUTILUS_UNROLL
      for (int half = 0; half < 2; ++half) {
        NAUTILUS_UNROLL
        for (int v = 0; v < Inputs::kVectors; ++v) {
          if (!inputs.is_inside(arguments, sink, chunk, half, v)) continue;
          Vector<float, kVector> values;
          NAUTILUS_UNROLL
          for (int e = 0; e < kVector; ++e) {
            const int held = v * kVector + e;
            values[e] = part[held / 2][2 * half + held % 2];
          }
          const auto at = sink.at(inputs.rows[half], inputs.column(chunk, v));
          const auto outputs =
              moments.template evaluate<typename Inputs::Epilogue>(half, arguments, at, inputs.held[chunk % Inputs::kHeld][half][v], values);
          Inputs::Epilogue::put(arguments, at, outputs);
          kept.keep(half, chunk * Inputs::kTogether + v * kVector, outputs.result);
        }
        if (!kIsAhead && chunk + 1 < Inputs::kChunks) inputs.load(arguments, sink, chunk + 1, half);
        kept.finish(arguments, sink, inputs.rows[half], half, (chunk + 1) * Inputs::kTogether, inputs.first_column);
      }
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

// What an epilogue with one store loads for the columns of a tile, the same for all rows: asked for box by box, so that the first are on
// their way while products are.
template <class SinkType, int kColumns>
struct ColumnInputs {
  using Sink = SinkType;
  using Epilogue = typename Sink::Epilogue;
  static constexpr int kItemBytes = static_cast<int>(sizeof(typename Epilogue::Store0::Storage));
  static constexpr int kBoxColumns = kBoxRowBytes / kItemBytes * Sink::kSums;  // of sums
  static constexpr int kBoxes = kColumns / kBoxColumns, kSteps = kBoxColumns / 8;
  static constexpr int kHeld = least(2, kBoxes);  // boxes at once
  static constexpr bool kHoldsAll = kHeld == kBoxes;
  static_assert(kBoxes * kBoxColumns == kColumns && Epilogue::kStores == 1, "whole boxes of one tensor");
  typename Epilogue::template Inputs<2> held[kHeld][kSteps];

  // The first of the two columns of a step that the lane has, from that of the tile on.
  NAUTILUS_DEVICE static int column(int box, int step) {
    return box * kBoxColumns + step * 8 + static_cast<int>(static_cast<unsigned>(device::lane_index()) % 4) * 2;
  }
  template <class A>
  NAUTILUS_DEVICE static bool has_column(const A &arguments, const Sink &sink, int at) {
    return Sink::has_whole_tiles(kColumns) || sink.has_column(arguments, at);
  }
  // Asks for those of the first boxes; ROW is any.
  template <class A>
  NAUTILUS_DEVICE void start(const A &arguments, const Sink &sink, int row, int first_column) {
    NAUTILUS_UNROLL
    for (int box = 0; box < kHeld; ++box) load(arguments, sink, row, first_column, box);
  }
  // A box is finished: asks for those of the one that takes its place.
  template <class A>
  NAUTILUS_DEVICE void follow(const A &arguments, const Sink &sink, int row, int first_column, int box) {
    if (box + kHeld < kBoxes) load(arguments, sink, row, first_column, box + kHeld);
  }

 private:
  template <class A>
  NAUTILUS_DEVICE void load(const A &arguments, const Sink &sink, int row, int first_column, int box) {
    NAUTILUS_UNROLL
    for (int step = 0; step < kSteps; ++step) {
      const int at = first_column + column(box, step);
      if (has_column(arguments, sink, at)) held[box % kHeld][step] = Epilogue::template load<2>(arguments, sink.at(sink.row(arguments, row), at));
    }
  }
};

// The same as finish_band for an epilogue with one store, of rows at one distance, whose loads are the same for all rows and have been asked
// for: MAP is of the tensor that the store writes. What lies outside of it is dropped. With kBeside other warps multiply meanwhile,
// for longer with kIsHidden.
template <int kColumns, bool kBeside, bool kIsHidden, class Inputs, class A>
NAUTILUS_DEVICE void send_band(const A &arguments, const device::TensorMap &map, const typename Inputs::Sink &sink, int batch, int first_row,
                               int first_column, float (&sums)[kColumns / 2], ResultBoxes &boxes, Inputs &inputs,
                               const BandMoments<typename Inputs::Sink> &moments) {
  using Sink = typename Inputs::Sink;
  using Epilogue = typename Sink::Epilogue;
  using Batch = typename BatchOf<typename Epilogue::Store0::Map>::Type;
  const auto row_of = [&](int row) { return sink.row(arguments, first_row + row); };
  if (!row_of(0).is_inside) return;  // so are all others
  const unsigned thread = static_cast<unsigned>(device::thread_index().x) % kWarpgroupThreads, lane = thread % device::kWarpThreads;
  const unsigned row = thread / device::kWarpThreads * 16 + lane / 4;
  // Bytes of a lane, those of a step and what the swizzle turns over, which eight rows repeat, meet in a place by exclusive or.
  constexpr unsigned kStepBytes = 8 / Sink::kSums * Inputs::kItemBytes;
  const unsigned lane_place = row * kBoxRowBytes + (lane % 4 * (kStepBytes / 4) ^ row % 8 * 16);
  NAUTILUS_UNROLL
  for (int box = 0; box < Inputs::kBoxes; ++box) {
    unsigned char *const filled = boxes.take();
    NAUTILUS_UNROLL
    for (int step = 0; step < Inputs::kSteps; ++step) {
      const int column = first_column + Inputs::column(box, step);
      if (!Inputs::has_column(arguments, sink, column)) continue;
      const auto place_of = [&](int half) {
        using Place = decltype(sink.at(row_of(0), 0));
        using Index = typename Place::Index;
        unsigned char *const place = filled + (lane_place ^ step * kStepBytes) + 8 * half * kBoxRowBytes;
        return StagedCoordinates<Index, Place::kRank, kBeside && kIsHidden>{{sink.at(row_of(static_cast<int>(row) + 8 * half), column)}, place};
      };
      const auto evaluate = [&](int half) {
        const int held = (box * Inputs::kSteps + step) * 4 + 2 * half;
        Vector<float, 2> values;
        values[0] = sums[held];
        values[1] = sums[held + 1];
        return moments.template evaluate<Epilogue>(half, arguments, place_of(half), inputs.held[box % Inputs::kHeld][step], values);
      };
      // Beside tensor cores results that wait for each other are what leaves these their cycles. Alone, they wait a fifth less where both rows'
      // come before either is stored, and where a sum is given up for its result: the next tile's first product names its register.
      if constexpr (kBeside) {
        Epilogue::put(arguments, place_of(0), evaluate(0));
        Epilogue::put(arguments, place_of(1), evaluate(1));
      } else {
        const auto upper = evaluate(0), lower = evaluate(1);
        if constexpr (kIsSameType<typename Epilogue::Store0::Compute, float>) {
          NAUTILUS_UNROLL
          for (int i = 0; i < 2; ++i) {
            sums[(box * Inputs::kSteps + step) * 4 + i] = upper.store0[i / Sink::kSums];
            sums[(box * Inputs::kSteps + step) * 4 + 2 + i] = lower.store0[i / Sink::kSums];
          }
        }
        Epilogue::put(arguments, place_of(0), upper);
        Epilogue::put(arguments, place_of(1), lower);
      }
    }
    int at[Batch::kRank];
    Batch::split(arguments, batch, at);
    at[0] = (first_column + box * Inputs::kBoxColumns) / Sink::kSums;
    at[1] = first_row;
    boxes.send(map, filled, at);
    inputs.follow(arguments, sink, first_row, first_column, box);
  }
}

}  // namespace nautilus::kernels
