// What becomes of the sums of products with few rows: those of slices and of a cluster are added in order, and threads hand vectors of
// results to the epilogue.
#pragma once

#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/product.cuh>
#include <nautilus/kernels/skinny_sums.cuh>

namespace nautilus::kernels {

// Hands the results of a tile to the epilogue where a thread has several vectors and reads something for them: up to four reads before the first
// store, which the compiler moves no read over. Where a vector is not there they are of the last row or column, since what is read in a branch
// is waited for there. SUMS gives those of the vector at a row and a column of the tile.
template <class Schedule, class Epilogue, class Sink, class Sums, class A>
NAUTILUS_DEVICE void finish_batches(const A &arguments, const Sink &sink, TileIndex tile, int thread, const Sums &sums) {
  constexpr int kThreads = kSkinnyThreads<Schedule>, kVector = Schedule::kVectorC;
  constexpr int kVectorsRow = Schedule::kTileN / kVector, kVectors = Schedule::kTileM * kVectorsRow;
  constexpr int kBatch = least(4, (kVectors + kThreads - 1) / kThreads);
  const int last_row = sink.last_row(arguments), last_column = sink.last_column(arguments, kVector);
  if (last_row < 0 || last_column < 0) return;
  const auto row = [&](int vector) { return static_cast<int>(static_cast<unsigned>(vector) / kVectorsRow); };  // of the tile
  const auto column = [&](int vector) { return static_cast<int>(static_cast<unsigned>(vector) % kVectorsRow) * kVector; };
  const auto at = [&](int m, int n) { return sink.at(sink.row(arguments, m), n); };
  const int first_row = tile.m * Schedule::kTileM, first_column = tile.n * Schedule::kTileN;
  for (int first = thread; first < kVectors; first += kBatch * kThreads) {
    typename Epilogue::template Inputs<kVector> inputs[kBatch];
    NAUTILUS_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      const int m = first_row + row(first + i * kThreads), n = first_column + column(first + i * kThreads);
      inputs[i] = Epilogue::template load<kVector>(arguments, at(least(m, last_row), least(n, last_column)));
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < kBatch; ++i) {
      const int vector = first + i * kThreads, m = first_row + row(vector), n = first_column + column(vector);
      if (vector < kVectors && m <= last_row && n <= last_column) {
        Epilogue::template compute<kVector>(arguments, at(m, n), inputs[i], sums(row(vector), column(vector)));
      }
    }
  }
}

// Adds the sums of all slices and then of all blocks of the cluster in order, and hands them to the epilogue, spread over all threads.
template <class Schedule, class Sink, class Sums, class A>
NAUTILUS_DEVICE void finish_skinny(const A &arguments, const Sink &sink, TileIndex tile, int slice, int first_column, Sums &sums,
                                   float *shared) {
  using Epilogue = typename Sink::Epilogue;
  constexpr int kThreads = kSkinnyThreads<Schedule>, kVector = Schedule::kVectorC, kCluster = Schedule::kClusterK;
  using Values = Vector<float, kVector>;
  constexpr int kPitch = Schedule::kTileN < 4 ? Schedule::kTileN : Schedule::kTileN + 4;  // so that rows begin in different banks
  constexpr int kSlice = Schedule::kTileM * kPitch, kVectorsRow = Schedule::kTileN / kVector, kVectors = Schedule::kTileM * kVectorsRow;
  const auto place = [&](int vector) { return shared + vector / kVectorsRow * kPitch + vector % kVectorsRow * kVector; };
  const auto add_slices = [&](const float *from) {
    Values total{};
    NAUTILUS_UNROLL
    for (int other = 0; other < Schedule::kSlicesK; ++other) {
      const auto sum = *reinterpret_cast<const Values *>(from + other * kSlice);
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) total[lane] += sum[lane];
    }
    return total;
  };
  device::block_barrier();  // the last tile has been read
  sums.put([&](int m, int n, float sum) { shared[slice * kSlice + m * kPitch + first_column + n] = sum; });
  const int thread = device::thread_index().x, part = static_cast<int>(static_cast<unsigned>(device::block_index().x) % kCluster);
  if constexpr (kCluster > 1) {
    if constexpr (Schedule::kSlicesK > 1) {  // reads of other blocks are slow: one for each result
      device::block_barrier();
      for (int vector = thread; vector < kVectors; vector += kThreads) {
        *reinterpret_cast<Values *>(place(vector)) = add_slices(place(vector));
      }
    }
    device::cluster_barrier();
  } else {
    device::block_barrier();
  }
  const auto finish = [&](int vector) {
    const int m = vector / kVectorsRow, n = vector % kVectorsRow * kVector;
    const auto row = sink.row(arguments, tile.m * Schedule::kTileM + m);
    const int column = tile.n * Schedule::kTileN + n;
    if (!row.is_inside || !sink.has_column(arguments, column)) return;
    const auto inputs = Epilogue::template load<kVector>(arguments, sink.at(row, column));
    Values total{};
    if constexpr (kCluster == 1) {
      total = add_slices(place(vector));
    } else {
      Values parts[kCluster];
      NAUTILUS_UNROLL
      for (int block = 0; block < kCluster; ++block) {
        if constexpr (kVector == 4) {
          parts[block] = device::load_shared_vector_at(reinterpret_cast<const Values *>(place(vector)), block);
        } else {
          NAUTILUS_UNROLL
          for (int lane = 0; lane < kVector; ++lane) parts[block][lane] = device::load_shared_at(place(vector) + lane, block);
        }
      }
      NAUTILUS_UNROLL
      for (int block = 0; block < kCluster; ++block) {
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) total[lane] += parts[block][lane];
      }
    }
    Epilogue::template compute<kVector>(arguments, sink.at(row, column), inputs, total);
  };
  const int first = part * kThreads + thread;
  if constexpr (kVectors <= kThreads * kCluster) {
    if (first < kVectors) finish(first);
  } else if constexpr (Epilogue::kLoads == 0 || kCluster > 1) {
    for (int vector = first; vector < kVectors; vector += kThreads * kCluster) finish(vector);
  } else {
    finish_batches<Schedule, Epilogue>(arguments, sink, tile, thread, [&](int m, int n) { return add_slices(shared + m * kPitch + n); });
  }
  if constexpr (kCluster > 1) device::cluster_barrier();  // others may still read this block's sums
}

}  // namespace nautilus::kernels
