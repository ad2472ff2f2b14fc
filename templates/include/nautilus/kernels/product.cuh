// The SIMT main loop that matrix products and convolutions share: tiles through shared memory, sums in registers.
//
// A block computes kTileM by kTileN results. Its threads form kSlicesK groups; each group has a register tile of kThreadM by kThreadN
// results a thread and takes its share of every tile's depth; the groups' sums are added in order at the end. With one stage or two, the next
// tile is in registers while one is multiplied; with more, copies run kStages - 1 tiles ahead where nothing is computed on the way.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>
#include <nautilus/kernels/product_tile.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Most blocks along y of a grid; batches beyond it go on along z.
constexpr int kMostBlocksY = 65535;

// Threads of a block.
template <class Schedule>
inline constexpr int kProductThreads =
    Schedule::kTileM / Schedule::kThreadM * (Schedule::kTileN / Schedule::kThreadN) * Schedule::kSlicesK;

// Which results a block computes.
struct TileIndex {
  int m, n;
};

// The tile with a number: they run down groups of kGroup rows of tiles, so that those in flight share rows and columns in L2. Numbers may be
// behind the last one where kMayBeBehind says so: the rows of these are none.
//
// A division by what only the run knows takes a hundred cycles, before anything is on its way: there is none where the quotient is known.
template <int kGroup, bool kMayBeBehind>
NAUTILUS_DEVICE TileIndex grouped_tile(int number, int tiles_m, int tiles_n) {
  const bool is_first_group = tiles_m <= kGroup && (!kMayBeBehind || number < tiles_m * tiles_n);
  const int first = is_first_group ? 0 : divide(number, kGroup * tiles_n) * kGroup;
  const int height = greatest(1, least(tiles_m - first, kGroup)), rest = number - first * tiles_n;
  constexpr int kKnown = least(kGroup, 8);
  int column = rest;
  NAUTILUS_UNROLL
  for (int known = 2; known <= kKnown; ++known) {
    if (height == known) column = static_cast<int>(static_cast<unsigned>(rest) / static_cast<unsigned>(known));
  }
  if (kGroup > kKnown && height > kKnown) column = divide(rest, height);
  return {first + rest - column * height, column};
}

// The tile of a block. There may be more blocks than tiles, and no tile at all.
template <class Schedule>
NAUTILUS_DEVICE TileIndex tile_index(int block, int rows, int columns) {
  const int tiles_m = ceil_divide(rows, Schedule::kTileM), tiles_n = greatest(1, ceil_divide(columns, Schedule::kTileN));
  return grouped_tile<Schedule::kGroupM, true>(block, tiles_m, tiles_n);
}

// Place of a thread's first result in the block's tile, and which slice of the depth it sums.
template <class Schedule>
struct ThreadPlace {
  static constexpr int kThreadsM = Schedule::kTileM / Schedule::kThreadM;
  static constexpr int kThreadsN = Schedule::kTileN / Schedule::kThreadN;
  static constexpr int kChunkM = least(Schedule::kFragment, Schedule::kThreadM);
  static constexpr int kChunkN = least(Schedule::kFragment, Schedule::kThreadN);
  using Rows = device::Fragment<Schedule::kThreadM, kChunkM, kThreadsM * kChunkM>;
  using Columns = device::Fragment<Schedule::kThreadN, kChunkN, kThreadsN * kChunkN>;
  // A warp as four by eight threads reads the fewest different bytes of both tiles.
  static constexpr int kLanesM = least(kThreadsM, 4);
  static constexpr int kLanesN = least(kThreadsN, device::kWarpThreads / kLanesM);
  int m, n, slice;

  NAUTILUS_DEVICE explicit ThreadPlace(int thread_number) {
    const unsigned thread = static_cast<unsigned>(thread_number);
    const unsigned lane_n = thread % kLanesN;
    const unsigned lane_m = thread / kLanesN % kLanesM;
    const unsigned patch = thread / (kLanesN * kLanesM);
    const unsigned patch_n = patch % (kThreadsN / kLanesN);
    const unsigned patch_m = patch / (kThreadsN / kLanesN) % (kThreadsM / kLanesM);
    m = static_cast<int>(patch_m * kLanesM + lane_m) * kChunkM;
    n = static_cast<int>(patch_n * kLanesN + lane_n) * kChunkN;
    slice = static_cast<int>(thread / (kThreadsM * kThreadsN));
  }
};

// Which depths of a tile a slice sums: groups of kGroup, in turn with the other slices. Slices of a warp then read from lines that are
// swapped in different ways.
template <int kCountN, int kGroupN, int kSlices>
struct SliceDepths {
  static constexpr int kCount = kCountN;
  static constexpr int kGroup = kGroupN;

  // The depth of a step, from the slice's first one.
  NAUTILUS_DEVICE static constexpr int depth(int step) { return step / kGroup * (kGroup * kSlices) + step % kGroup; }
};

// Hands results to the epilogue, straight from the registers of each thread. Reads of several rows are issued before their first store.
template <class Schedule, class Sink, class T, class A>
NAUTILUS_DEVICE void finish_registers(const A &arguments, const Sink &sink, TileIndex tile, const ThreadPlace<Schedule> &thread,
                                      const T (&sums)[Schedule::kThreadM][Schedule::kThreadN]) {
  using Epilogue = typename Sink::Epilogue;
  using Threads = ThreadPlace<Schedule>;
  constexpr int kVector = Schedule::kVectorC;
  constexpr int kVectors = Schedule::kThreadN / kVector;
  constexpr int kInputs = greatest(1, Epilogue::kLoads) * Schedule::kThreadN;
  constexpr int kRows = least(Schedule::kThreadM, greatest(1, 64 / kInputs));  // about 64 registers of reads in flight
  NAUTILUS_UNROLL
  for (int first = 0; first < Schedule::kThreadM; first += kRows) {
    typename Sink::Row rows[kRows];
    typename Epilogue::template Inputs<kVector> inputs[kRows][kVectors];
    NAUTILUS_UNROLL
    for (int i = 0; i < kRows; ++i) {
      rows[i] = sink.row(arguments, tile.m * Schedule::kTileM + thread.m + Threads::Rows::offset(first + i));
      NAUTILUS_UNROLL
      for (int j = 0; j < kVectors; ++j) {
        const int n = tile.n * Schedule::kTileN + thread.n + Threads::Columns::offset(j * kVector);
        if (rows[i].is_inside && sink.has_column(arguments, n)) inputs[i][j] = Epilogue::template load<kVector>(arguments, sink.at(rows[i], n));
      }
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < kRows; ++i) {
      NAUTILUS_UNROLL
      for (int j = 0; j < kVectors; ++j) {
        const int n = tile.n * Schedule::kTileN + thread.n + Threads::Columns::offset(j * kVector);
        if (rows[i].is_inside && sink.has_column(arguments, n)) {
          Vector<T, kVector> values;
          NAUTILUS_UNROLL
          for (int lane = 0; lane < kVector; ++lane) values[lane] = sums[first + i][j * kVector + lane];
          Epilogue::template compute<kVector>(arguments, sink.at(rows[i], n), inputs[i][j], values);
        }
      }
    }
  }
}

// Adds the slices' sums in order, through shared memory, and hands the results to the epilogue, spread over all threads. Of
// several vectors of a thread, what is read is asked for before the sums meet, since ptxas moves no load over a barrier.
template <class Schedule, class Sink, class T, class A>
NAUTILUS_DEVICE void finish_slices(const A &arguments, const Sink &sink, TileIndex tile, const ThreadPlace<Schedule> &thread,
                                   const T (&sums)[Schedule::kThreadM][Schedule::kThreadN], int thread_number, T *shared) {
  using Epilogue = typename Sink::Epilogue;
  using Threads = ThreadPlace<Schedule>;
  constexpr int kVector = Schedule::kVectorC;
  constexpr int kTile = Schedule::kTileM * Schedule::kTileN;
  constexpr int kVectors = kTile / kVector;
  device::block_barrier();  // the last tile has been read
  NAUTILUS_UNROLL
  for (int i = 0; i < Schedule::kThreadM; ++i) {
    NAUTILUS_UNROLL
    for (int j = 0; j < Schedule::kThreadN; j += kVector) {
      Vector<T, kVector> values;
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) values[lane] = sums[i][j + lane];
      const int place = (thread.m + Threads::Rows::offset(i)) * Schedule::kTileN + thread.n + Threads::Columns::offset(j);
      *reinterpret_cast<Vector<T, kVector> *>(shared + thread.slice * kTile + place) = values;
    }
  }
  constexpr int kThreads = kProductThreads<Schedule>, kRow = Schedule::kTileN / kVector;
  constexpr int kTurns = (kVectors + kThreads - 1) / kThreads;
  constexpr int kInputs = Epilogue::kLoads * kVector;
  constexpr int kAtOnce = kInputs > 0 ? least(kTurns, greatest(1, 32 / kInputs)) : 1;  // about 32 registers of reads in flight
  if constexpr (kTurns == 1 || kInputs == 0) {
    device::block_barrier();
    for (int vector = thread_number; vector < kVectors; vector += kThreads) {
      const int m = vector / kRow, n = vector % kRow * kVector;
      const auto row = sink.row(arguments, tile.m * Schedule::kTileM + m);
      const int column = tile.n * Schedule::kTileN + n;
      if (!row.is_inside || !sink.has_column(arguments, column)) continue;
      const auto inputs = Epilogue::template load<kVector>(arguments, sink.at(row, column));
      Vector<T, kVector> total = *reinterpret_cast<const Vector<T, kVector> *>(shared + m * Schedule::kTileN + n);
      NAUTILUS_UNROLL
      for (int slice = 1; slice < Schedule::kSlicesK; ++slice) {
        const auto part = *reinterpret_cast<const Vector<T, kVector> *>(shared + slice * kTile + m * Schedule::kTileN + n);
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) total[lane] += part[lane];
      }
      Epilogue::template compute<kVector>(arguments, sink.at(row, column), inputs, total);
    }
  } else {
    const auto row_of = [&](int vector) { return sink.row(arguments, tile.m * Schedule::kTileM + vector / kRow); };
    const auto column_of = [&](int vector) { return tile.n * Schedule::kTileN + vector % kRow * kVector; };
    const auto finish = [&](int vector, const auto &row, const auto &inputs) {
      const T *const sum = shared + vector * kVector;  // rows of the tile lie one after the other
      Vector<T, kVector> total = *reinterpret_cast<const Vector<T, kVector> *>(sum);
      NAUTILUS_UNROLL
      for (int slice = 1; slice < Schedule::kSlicesK; ++slice) {
        const auto part = *reinterpret_cast<const Vector<T, kVector> *>(sum + slice * kTile);
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) total[lane] += part[lane];
      }
      Epilogue::template compute<kVector>(arguments, sink.at(row, column_of(vector)), inputs, total);
    };
    typename Sink::Row rows[kAtOnce];
    typename Epilogue::template Inputs<kVector> inputs[kAtOnce];
    bool is_there[kAtOnce];
    const auto read = [&](int first) {
      NAUTILUS_UNROLL
      for (int v = 0; v < kAtOnce; ++v) {
        const int vector = first + v * kThreads;
        rows[v] = row_of(vector);
        is_there[v] = vector < kVectors && rows[v].is_inside && sink.has_column(arguments, column_of(vector));
        if (is_there[v]) inputs[v] = Epilogue::template load<kVector>(arguments, sink.at(rows[v], column_of(vector)));
      }
    };
    read(thread_number);
    device::block_barrier();
    for (int first = thread_number; first < kVectors; first += kAtOnce * kThreads) {
      NAUTILUS_UNROLL
      for (int v = 0; v < kAtOnce; ++v) {
        if (is_there[v]) finish(first + v * kThreads, rows[v], inputs[v]);
      }
      if (kTurns > kAtOnce) read(first + kAtOnce * kThreads);
    }
  }
}

// Computes one tile of results. SOURCE_A gives the rows, SOURCE_B the columns, SINK takes the results.
template <class Schedule, class T, class SourceA, class SourceB, class Sink, class A>
NAUTILUS_DEVICE void product(const A &arguments, const SourceA &source_a, const SourceB &source_b, const Sink &sink, TileIndex tile) {
  constexpr int kThreads = kProductThreads<Schedule>;
  constexpr int kStages = Schedule::kStages;
  using Threads = ThreadPlace<Schedule>;
  constexpr int kFragment = Schedule::kFragment;
  constexpr bool kIsAsync = kStages > 2, kWantsSwap = sizeof(T) == 4 && kFragment <= 4 && Threads::kChunkN > 1;
  using LoaderA = TileLoader<T, SourceA, Schedule::kTileM, Schedule::kTileK, Schedule::kVectorA, kFragment, kThreads, kIsAsync, false>;
  using LoaderB = TileLoader<T, SourceB, Schedule::kTileN, Schedule::kTileK, Schedule::kVectorB, kFragment, kThreads, kIsAsync, kWantsSwap>;
  constexpr int kSteps = Schedule::kTileK / Schedule::kSlicesK;
  using LayoutA = typename LoaderA::Layout;
  using LayoutB = typename LoaderB::Layout;
  using Depths = SliceDepths<kSteps, least(kSteps, greatest(4, greatest(LayoutA::kDepths, LayoutB::kDepths))),
                             Schedule::kSlicesK>;
  constexpr int kStage = LayoutA::kElements + LayoutB::kElements;

  const int thread_number = device::thread_index().x;
  const Threads thread(thread_number);
  const int place_a = LayoutA::place(thread.slice * Depths::kGroup, thread.m);
  const int place_b = LayoutB::place(thread.slice * Depths::kGroup, thread.n);
  T *const shared = device::dynamic_shared<T>();
  T sums[Schedule::kThreadM][Schedule::kThreadN] = {};

  LoaderA loader_a(arguments, source_a, tile.m * Schedule::kTileM, thread_number);
  LoaderB loader_b(arguments, source_b, tile.n * Schedule::kTileN, thread_number);
  device::dependency_wait();
  const int tiles = ceil_divide(source_a.depth(arguments), Schedule::kTileK);
  // What is computed on the way is read before the tile ahead of it is multiplied and stored after; copies go between the steps.
  constexpr int kParts = Depths::kCount;
  const auto fetch = [&](int number) {
    if (number < tiles) {
      if constexpr (!LoaderA::kIsCopied) loader_a.fetch(arguments, number * Schedule::kTileK);
      if constexpr (!LoaderB::kIsCopied) loader_b.fetch(arguments, number * Schedule::kTileK);
    }
  };
  const auto copy = [&](auto is_checked, int number, T *stage, int part) {
    constexpr bool kIsChecked = decltype(is_checked)::kValue != 0;
    const int depth = (kIsChecked ? least(number, tiles - 1) : number) * Schedule::kTileK;  // the last one once more costs less than a branch
    if constexpr (LoaderA::kIsCopied) loader_a.template copy<kParts, kIsChecked>(arguments, depth, stage, part);
    if constexpr (LoaderB::kIsCopied) loader_b.template copy<kParts, kIsChecked>(arguments, depth, stage + LayoutA::kElements, part);
  };
  const auto store = [&](int number, T *stage) {
    if (number < tiles) {
      if constexpr (!LoaderA::kIsCopied) loader_a.store(arguments, number * Schedule::kTileK, stage);
      if constexpr (!LoaderB::kIsCopied) loader_b.store(arguments, number * Schedule::kTileK, stage + LayoutA::kElements);
    }
  };
  const auto commit = [] {
    if constexpr (kIsAsync) device::cp_async_commit();
  };
  const auto next = [&](T *stage) { return stage == shared + (kStages - 1) * kStage ? shared : stage + kStage; };
  constexpr int kAhead = kIsAsync ? kStages - 1 : 1;
  T *reading = shared, *filling = shared;
  NAUTILUS_UNROLL
  for (int number = 0; number < kAhead; ++number) {
    fetch(number);
    if (tiles > 0) {
      NAUTILUS_UNROLL
      for (int part = 0; part < kParts; ++part) copy(Static<1>{}, number, filling, part);
    }
    commit();
    store(number, filling);
    filling = next(filling);
  }
  const auto advance = [&](auto is_checked, int number) {
    if constexpr (kIsAsync) device::cp_async_wait<kStages - 2>();
    // Before the barrier, since ptxas moves no load over one, and would put these off until what they bring is stored.
    fetch(number + kAhead);
    device::block_barrier();  // the tile is there, and the one before it has been read
    device::add_outer_products<typename Threads::Rows, typename Threads::Columns, LayoutA, LayoutB, Depths, LoaderB::kIsSwapped>(
        sums, reading, place_a, reading + LayoutA::kElements, place_b, [&](int part) { copy(is_checked, number + kAhead, filling, part); });
    commit();
    if constexpr (kStages == 1) device::block_barrier();
    store(number + kAhead, filling);
    reading = next(reading);
    filling = next(filling);
  };
  int number = 0;
  // Of open sizes most tiles are whole all the same: these are copied without asking of each element whether it is there.
  if constexpr (LoaderA::kIsCopied && LoaderB::kIsCopied && kHasOpenDepth<SourceA>) {
    const bool has_all_rows = loader_a.has_all_rows(arguments, tile.m * Schedule::kTileM) && loader_b.has_all_rows(arguments, tile.n * Schedule::kTileN);
    const int whole = has_all_rows ? source_a.depth(arguments) / Schedule::kTileK : 0;
    loader_a.move(arguments, kAhead * Schedule::kTileK);
    loader_b.move(arguments, kAhead * Schedule::kTileK);
    for (; number + kAhead < whole; ++number) {
      advance(Static<0>{}, number);
      loader_a.move(arguments, Schedule::kTileK);
      loader_b.move(arguments, Schedule::kTileK);
    }
  }
  for (; number < tiles; ++number) advance(Static<1>{}, number);
  if constexpr (kStages > 2) device::cp_async_wait<0>();
  device::dependency_trigger();
  if constexpr (Schedule::kSlicesK == 1) {
    finish_registers<Schedule>(arguments, sink, tile, thread, sums);
  } else {
    finish_slices<Schedule>(arguments, sink, tile, thread, sums, thread_number, shared);
  }
}

}  // namespace nautilus::kernels
