// Scatter family: a copy of a tensor in which rows that run-time indices name are overwritten, or combined with updates.
//
// Each group of threads owns some columns of some rows: it reads them into shared memory, goes through all updates in their order,
// applies those that fall into its rows, and stores. So updates of one element are applied in order, whatever the schedule, without
// atomics: results are the same in every run. The work is rows x columns + parts x updates looked at + updates applied x columns;
// where all columns share their indices, or a group has one column, the lanes of a warp look at 32 updates at once.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/reduce.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/core/status.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/indices.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus {

// The update takes the place of what was there.
struct Assign {
  template <class T>
  NAUTILUS_DEVICE T operator()(T, T update) const {
    return update;
  }
};

namespace kernels {

template <class Problem, class Schedule, class Data, class Update, class Indices, class Epilogue, class A>
struct ScatterKernel {
  using Index = typename Problem::Index;
  using Combine = typename Problem::Combine;
  enum : int {
    kGroupThreads = Schedule::kGroupThreads,  // 1, or a warp
    kColumns = Schedule::kGroupColumns,       // vectors along the columns that a group owns
    kSlots = kGroupThreads / kColumns,        // lanes of a group with the same columns
    kRows = Schedule::kRows,
    kVector = Schedule::kVector,
    kGroups = Schedule::kThreads / kGroupThreads,
    kAhead = 4  // elements or indices that are read before any is used
  };
  using Cell = Vector<typename Problem::Value, kVector>;
  static_assert(kGroupThreads == 1 || kGroupThreads == device::kWarpThreads, "a group is a thread or a warp");

  const A &arguments;
  Cell *cells;
  Index first_row;
  int rows;            // of the group, here
  Index group_column;  // the first of the group, which stands for all where they share their indices
  Index column;        // the first of this thread
  int slot;            // place among the lanes with the same columns
  bool is_active;      // whether this thread's columns exist

  NAUTILUS_DEVICE explicit ScatterKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const int thread = device::thread_index().x;
    const int group = thread / kGroupThreads;
    const int lane = thread % kGroupThreads;
    const Index all_rows = static_cast<Index>(Problem::Rows::get(arguments));
    const Index parts = all_rows > 0 ? (all_rows + (kRows - 1)) / kRows : Index{1};  // of no rows, too, there is a block
    const Index block = static_cast<Index>(device::block_index().x);
    const Index part = block % parts;
    first_row = part * kRows;
    rows = static_cast<int>(all_rows - first_row < kRows ? all_rows - first_row : static_cast<Index>(kRows));
    group_column = (block / parts * kGroups + group) * (kColumns * kVector);
    column = group_column + lane % kColumns * kVector;
    slot = lane / kColumns;
    is_active = column < static_cast<Index>(Problem::Columns::get(arguments));
    // A thread alone has its cells apart from one another, so that neighbouring threads use neighbouring banks.
    cells = device::dynamic_shared<Cell>() + (kGroupThreads == 1 ? thread : group * (kRows * kColumns) + lane % kColumns);
  }

  NAUTILUS_DEVICE void run() {
    device::dependency_wait();
    load();
    meet();
    if constexpr (kGroupThreads == 1) {
      if (is_active) apply_alone();
    } else if (group_column < static_cast<Index>(Problem::Columns::get(arguments))) {
      apply_together();
    }
    device::dependency_trigger();
    store();
  }

 private:
  NAUTILUS_DEVICE Cell &cell(int row) const { return cells[row * (kGroupThreads == 1 ? static_cast<int>(kGroups) : static_cast<int>(kColumns))]; }

  // Lanes of a group see each other's cells; where each has its own, there is nothing to see.
  NAUTILUS_DEVICE void meet() const {
    if constexpr (kSlots > 1) device::warp_barrier();
  }

  NAUTILUS_DEVICE void load() const {
    for (int row = slot; row < rows; row += kSlots * kAhead) {
      typename Data::template Inputs<kVector> inputs[kAhead];
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        if (is_active && row + ahead * kSlots < rows) inputs[ahead] = Data::template load<kVector>(arguments, at(row + ahead * kSlots));
      }
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        const int own = row + ahead * kSlots;
        if (is_active && own < rows) cell(own) = Data::template compute<kVector>(arguments, at(own), inputs[ahead]);
      }
    }
  }

  NAUTILUS_DEVICE void store() const {
    for (int row = slot; row < rows; row += kSlots) {
      if (is_active) Epilogue::template apply<kVector>(arguments, at(row), cell(row));
    }
  }

  NAUTILUS_DEVICE Coordinates<Index, 2> at(int row) const { return coordinates<Index>(first_row + row, column); }

  // The group's row that UPDATE goes to; none of its rows where it goes elsewhere, or nowhere.
  NAUTILUS_DEVICE int destination(Index update, Index from_column) const {
    bool is_inside = true;
    const Index row = indexed_offset<Problem, 0>(arguments, coordinates<Index>(update, from_column), is_inside, Indices());
    if (!is_inside) {
      if (first_row == 0) report_index_out_of_range(arguments);
      return -1;
    }
    return row >= first_row && row - first_row < rows ? static_cast<int>(row - first_row) : -1;
  }

  NAUTILUS_DEVICE static void combine(Cell &target, const Cell &update) {
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) target[lane] = Combine()(target[lane], update[lane]);
  }

  NAUTILUS_DEVICE void apply_alone() const {
    const Index updates = static_cast<Index>(Problem::Updates::get(arguments));
    for (Index first = 0; first < updates; first += kAhead) {
      int row[kAhead];
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) row[ahead] = first + ahead < updates ? destination(first + ahead, column) : -1;
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        if (row[ahead] >= 0) combine(cell(row[ahead]), Update::template apply<kVector>(arguments, coordinates<Index>(first + ahead, column)));
      }
    }
  }

  // Each lane looks at one of 32 updates. Those that hit are applied in order, kSlots neighbours at a time: their values are read
  // together, then each slot has its turn.
  NAUTILUS_DEVICE void apply_together() const {
    constexpr unsigned int kSlotMask = kSlots == 32 ? ~0u : (1u << kSlots % 32) - 1;
    const Index updates = static_cast<Index>(Problem::Updates::get(arguments));
    const int lane = device::thread_index().x % kGroupThreads;
    for (Index first = 0; first < updates; first += kGroupThreads) {
      const int own = first + lane < updates ? destination(first + lane, group_column) : -1;
      unsigned int hits = device::warp_ballot(own >= 0);
      while (hits != 0) {
        const int source = first_bit(hits) / kSlots * kSlots;
        const unsigned int turns = hits >> source & kSlotMask;
        hits &= ~(kSlotMask << source);
        const int row = device::shuffle(own, source + slot);
        const bool is_hit = is_active && row >= 0;
        Cell update{};
        if (is_hit) update = Update::template apply<kVector>(arguments, coordinates<Index>(first + (source + slot), column));
        for (unsigned int rest = turns; rest != 0; rest &= rest - 1) {
          if (is_hit && slot == first_bit(rest)) combine(cell(row), update);
          meet();
        }
      }
    }
  }

  NAUTILUS_DEVICE static int first_bit(unsigned int bits) { return 31 - device::count_leading_zeros(bits & (~bits + 1)); }
};

// The functors are the data, the updates, one for each index, and the epilogue.
template <class Problem, class Schedule, class Data, class Update, class... IndicesAndEpilogue, class A>
NAUTILUS_DEVICE void scatter(const A &arguments) {
  using Split = SplitLast<Pack<>, IndicesAndEpilogue...>;
  ScatterKernel<Problem, Schedule, Data, Update, typename Split::First, typename Split::Last, A>(arguments).run();
}

}  // namespace kernels
}  // namespace nautilus
