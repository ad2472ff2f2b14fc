// The main loop of products with few rows: A's rows in shared memory, weights from global memory straight to the registers of the thread
// that multiplies them, so that nothing but the number of registers limits how many are on their way.
//
// A block computes kTileM by kTileN results. kSlicesK warps share out the depth of the same columns, and kClusterK blocks of a cluster the
// tiles of kTileK depths; their sums are added in order at the end, through shared memory. A thread asks for the next weights as soon as
// it has used those before: kLoads at a time for each of its columns.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/gemm.cuh>
#include <nautilus/kernels/skinny_sums.cuh>
#include <nautilus/kernels/skinny_weights.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Threads of a block; how weights lie has no say in it.
template <class Schedule>
inline constexpr int kSkinnyThreads =
    Schedule::kTileN / (Schedule::kThreadN * (device::kWarpThreads / Schedule::kLanesK)) * Schedule::kSlicesK * device::kWarpThreads;

// Brings kTileM rows of the first DEPTHS depths of a tile into shared memory, zero where there are none: by asynchronous copies where they
// are of that very type, else computed by the functor. Threads go row by row of 8 vectors, so that short depths end early.
template <class Schedule, class T, class Rows, class Source, class A>
NAUTILUS_DEVICE void bring_rows(const A &arguments, const Source &source, int first_row, int first_depth, int depths, T *tile) {
  using Functor = typename Source::Functor;
  constexpr int kThreads = kSkinnyThreads<Schedule>, kVector = Schedule::kVectorA;
  constexpr int kVectorsRow = Schedule::kTileK / kVector, kVectors = Schedule::kTileM * kVectorsRow;
  constexpr int kRun = kVectorsRow % 8 == 0 ? 8 : 1, kRuns = Schedule::kTileM * kRun;  // vectors of a row, and of all
  constexpr int kItems = (kVectors + kThreads - 1) / kThreads;
  constexpr int kTogether = least(kItems, 4);  // reads on their way
  constexpr int kPiece = least(kVector, 16 / static_cast<int>(sizeof(T)));
  constexpr bool kIsCopied = is_copied<T, Functor, kVector>();
  // A tile for the greatest depth is mostly empty at a small one: what no thread has is not stored. What is read is held as words until
  // then, since the compiler would wait for each read before the next one to take it apart.
  using Policy = Weights<Functor, kVector, false>;
  constexpr bool kIsHeld = !kIsCopied && !Source::kIsDepthKnown && Policy::kCanSkip;
  const auto is_behind = [&](int item) { return !Source::kIsDepthKnown && item * kThreads / kRuns * kRun * kVector >= depths; };
  const unsigned thread = static_cast<unsigned>(device::thread_index().x);
#pragma unroll 1
  for (int first = 0; first < kItems; first += kTogether) {
    if (first * kThreads / kRuns * kRun * kVector >= depths) break;
    typename Functor::template Inputs<kVector> inputs[kIsHeld ? 1 : kTogether];
    typename Policy::Held held[kIsHeld ? kTogether : 1];
    bool is_inside[kTogether];
    const auto number = [&](int i) { return static_cast<unsigned>((first + i) * kThreads) + thread; };
    const auto row = [&](int i) { return static_cast<int>(number(i) % kRuns / kRun); };
    const auto depth = [&](int i) { return static_cast<int>((number(i) / kRuns * kRun + number(i) % kRun) * kVector); };
    const auto place = [&](int i) {
      return source.place(arguments, source.row(arguments, first_row + row(i)), first_depth, depth(i));
    };
    NAUTILUS_UNROLL
    for (int i = 0; i < kTogether; ++i) {
      if (kIsCopied && is_behind(first + i)) break;
      is_inside[i] = number(i) < kVectors && source.row(arguments, first_row + row(i)).is_inside &&
                     (Source::is_whole(Schedule::kTileK) || first_depth + depth(i) < source.depth(arguments));
      if constexpr (kIsCopied) {
        using Load = typename Functor::Load0;
        constexpr int kBytes = kVector * static_cast<int>(sizeof(T));
        bool is_there = is_inside[i];
        const auto offset = is_there ? Load::Map::offset(arguments, place(i).at, is_there) : 0;
        if (number(i) < kVectors) {
          device::cp_async<kBytes>(tile + Rows::place(row(i), depth(i)), Load::pointer(arguments) + (is_there ? offset : 0), is_there ? kBytes : 0);
        }
      } else if constexpr (kIsHeld) {
        held[i] = Policy::fetch_if(arguments, place(i).at, is_inside[i]);
      } else {
        inputs[i] = {};
        if (is_inside[i]) inputs[i] = Functor::template load<kVector>(arguments, place(i).at);
      }
    }
    if constexpr (!kIsCopied) {
      NAUTILUS_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        if (is_behind(first + i)) break;
        if (!(kIsHeld && kVectors % kThreads == 0) && number(i) >= kVectors) continue;
        const auto computed = [&] {
          if constexpr (kIsHeld) {
            return Policy::template elements<T>(arguments, place(i).at, held[i]);
          } else {
            return Functor::template compute<kVector>(arguments, place(i).at, inputs[i]);
          }
        }();
        NAUTILUS_UNROLL
        for (int begin = 0; begin < kVector; begin += kPiece) {
          constexpr int kRun = least(kPiece, Rows::kNeighbours);
          NAUTILUS_UNROLL
          for (int part = 0; part < kPiece; part += kRun) {
            Vector<T, kRun> values;
            NAUTILUS_UNROLL
            for (int lane = 0; lane < kRun; ++lane) {
              values[lane] = kIsHeld || is_inside[i] ? device::convert<T>(computed[begin + part + lane]) : T{};
            }
            device::store_shared(tile + Rows::place(row(i), depth(i) + begin + part), values);
          }
        }
      }
    }
  }
}

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

// Computes one tile of results. SOURCE_A gives the rows, SOURCE_B the COLUMNS columns, SINK takes the results, SUMS is DotSums or TensorSums.
// Constant weights are asked for before earlier kernels have finished.
template <class Schedule, class Sums, bool kBIsConstant, class SourceA, class SourceB, class Sink, class A>
NAUTILUS_DEVICE void skinny_product(const A &arguments, const SourceA &source_a, const SourceB &source_b, const Sink &sink, TileIndex tile,
                                    int columns) {
  using T = typename Sums::Element;
  using Loads = typename Sums::Loads;
  using Policy = Weights<typename SourceB::Functor, Loads::kVector, kBIsConstant>;
  constexpr int kTile = Schedule::kTileM * Schedule::kTileK, kStages = Schedule::kStages;
  constexpr int kSteps = Schedule::kTileK / Loads::kStep;
  static_assert(kSteps > 0, "a tile has a step for every slice");

  const unsigned warp = static_cast<unsigned>(device::thread_index().x) / device::kWarpThreads;
  const int slice = static_cast<int>(warp % Schedule::kSlicesK);
  const int first_column = static_cast<int>(warp / Schedule::kSlicesK) * Loads::kColumns;
  T *const shared = device::dynamic_shared<T>();

  const int depth = source_a.depth(arguments);
  const int all_tiles = ceil_divide(depth, Schedule::kTileK);
  const int share = ceil_divide(all_tiles, Schedule::kClusterK);
  const int part = static_cast<int>(static_cast<unsigned>(device::block_index().x) % Schedule::kClusterK);
  const int first_tile = Schedule::kClusterK == 1 ? 0 : least(all_tiles, part * share);
  const int tiles = least(share, all_tiles - first_tile);
  const int first_depth = first_tile * Schedule::kTileK;
  constexpr bool kIsOneTile = kStages == 1 && Schedule::kClusterK == 1;
  const int own_depth = kIsOneTile ? depth : least(depth - first_depth, tiles * Schedule::kTileK);
  const int steps = static_cast<int>(static_cast<unsigned>(own_depth + Loads::kStep - 1) / Loads::kStep);

  // Columns beyond the last are read as that one and not stored.
  typename SourceB::Row rows[Loads::kItems];
  NAUTILUS_UNROLL
  for (int item = 0; item < Loads::kItems; ++item) {
    const int column = tile.n * Schedule::kTileN + first_column + Loads::column(item);
    rows[item] = source_b.row(arguments, least(column, columns - (Loads::kIsDepthLast ? 1 : Loads::kVector)));
  }
  const int own_run = slice * Loads::kRuns + static_cast<int>(static_cast<unsigned>(device::lane_index()) % Loads::kLanesK);
  const auto run_of = [&](int step, int load) { return own_run + load * Loads::kLanesK + step * (Loads::kStep / Loads::kRun); };
  const auto depth_of = [&](int step, int load) { return run_of(step, load) * Loads::kRun; };
  typename Policy::Held held[Schedule::kLoads][Loads::kItems];
  const auto is_there = [&](int step, int load) {
    return SourceB::is_whole(Loads::kStep) || first_depth + depth_of(step, load) < depth;
  };
  // Where there is none, nothing is read and zeros are held. Weights that a functor computes are read as the first ones and not used: reads
  // on a condition would not all be on their way at once.
  constexpr bool kIsSkipped = Policy::kCanSkip && !SourceB::kIsDepthKnown && !SourceB::is_whole(Loads::kStep);
  const auto place_of = [&](int item, int step, int load) {
    const bool is_read = kIsSkipped || is_there(step, load);
    return source_b.place(arguments, rows[item], is_read ? first_depth : 0, is_read ? depth_of(step, load) : 0).at;
  };
  const int whole_steps = (depth - first_depth) / Loads::kStep;
  const auto fetch = [&](int step, int load) {
    NAUTILUS_UNROLL
    for (int item = 0; item < Loads::kItems; ++item) {
      if constexpr (kIsSkipped) {
        held[load][item] = Policy::fetch_if(arguments, place_of(item, step, load), is_there(step, load));
      } else {
        held[load][item] = Policy::fetch(arguments, place_of(item, step, load));
      }
    }
  };
  const auto fetch_first = [&] {
    if (kIsSkipped || steps > 0) {
      NAUTILUS_UNROLL
      for (int load = 0; load < Schedule::kLoads; ++load) fetch(0, load);
    }
  };
  const auto bring = [&](int number) {
    if (kIsOneTile || number < tiles) {
      bring_rows<Schedule, T, typename Sums::Rows>(arguments, source_a, tile.m * Schedule::kTileM, first_depth + number * Schedule::kTileK,
                                                   least(Schedule::kTileK, steps * Loads::kStep - number * Schedule::kTileK),
                                                   shared + number % kStages * kTile);
    }
    device::cp_async_commit();
  };

  if constexpr (kBIsConstant) fetch_first();
  device::dependency_wait();
  if constexpr (Schedule::kEarlyTrigger) device::dependency_trigger();
  if constexpr (!kBIsConstant) fetch_first();
  NAUTILUS_UNROLL
  for (int number = 0; number < greatest(1, kStages - 1); ++number) bring(number);
  Sums sums;
  const int rounds = kIsOneTile ? 1 : tiles;
  for (int number = 0; number < rounds; ++number) {
    device::cp_async_wait<greatest(0, kStages - 2)>();
    device::block_barrier();  // the tile is there, and the one before it has been read
    if constexpr (kStages > 1) bring(number + kStages - 1);
    const T *const rows_tile = shared + number % kStages * kTile;
    const int end = least(steps, (number + 1) * kSteps);
#pragma unroll 1
    for (int step = number * kSteps; step < end; ++step) {
      NAUTILUS_UNROLL
      for (int load = 0; load < Schedule::kLoads; ++load) {
        Vector<T, Loads::kVector> weights[Loads::kItems];
        NAUTILUS_UNROLL
        for (int item = 0; item < Loads::kItems; ++item) {
          weights[item] = Policy::template elements<T>(arguments, place_of(item, step, load), held[load][item]);
        }
        if (!kIsSkipped && !SourceB::is_whole(Loads::kStep) && step >= whole_steps && !is_there(step, load)) {
          NAUTILUS_UNROLL
          for (int item = 0; item < Loads::kItems; ++item) weights[item] = {};
        }
        if (kIsSkipped || step + 1 < steps) fetch(step + 1, load);
        sums.add(weights, rows_tile, run_of(step - number * kSteps, load));
      }
    }
  }
  device::cp_async_wait<0>();
  if constexpr (!Schedule::kEarlyTrigger) device::dependency_trigger();
  finish_skinny<Schedule>(arguments, sink, tile, slice, first_column, sums, reinterpret_cast<float *>(shared));
}

}  // namespace nautilus::kernels
