// Row family: reductions over the columns of each row, in order, then what is written for each element and for each row.
//
// A group of kRowLanes x kColumnThreads neighbouring threads takes kRowLanes neighbouring rows. Where a row is contiguous, kRowLanes
// is 1; where neighbouring rows are neighbours in memory, kRowLanes makes neighbouring threads read neighbouring addresses.
// With kItems > 0 the columns of a thread are kItems vectors, and what several phases read stays in registers; with 0 every phase
// reads again.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/reduce.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

template <class Problem, class Schedule, class Program, class A>
struct RowKernel {
  using Index = typename Problem::Index;
  enum : int {
    kRowLanes = Schedule::kRowLanes,
    kColumnThreads = Schedule::kColumnThreads,
    kVector = Schedule::kVector,
    kItems = Schedule::kItems,
    kIsHeld = kItems > 0,
    kGroup = kRowLanes * kColumnThreads,
    kRowsBlock = Schedule::kThreads / kColumnThreads,
    kStep = kColumnThreads * kVector,
    kAhead = kVector < 8 ? 4 : 2,  // vectors that are read before any is used, where the row is not held
    // Shared memory for the partial results of a reduction's warps: two buffers, taken in turn, of 8-byte slots.
    kSlots = Schedule::kThreads / device::kWarpThreads * kRowLanes
  };

  using Held = typename Program::template Inputs<kVector>;

  const A &arguments;
  Index row;
  Index columns;
  int column_thread;
  bool is_active;
  Held held[kIsHeld ? kItems : 1];

  NAUTILUS_DEVICE explicit RowKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const Index first = static_cast<Index>(device::block_index().x) * kRowsBlock;
    const Index left = static_cast<Index>(Problem::Rows::get(arguments)) - first;
    const int place = device::thread_index().x / kGroup * kRowLanes + device::thread_index().x % kRowLanes;
    column_thread = device::thread_index().x % kGroup / kRowLanes;
    // Threads without a row go along: the others need them at shuffles and barriers.
    is_active = place < left;
    row = is_active ? first + place : first;
    columns = static_cast<Index>(Problem::Columns::get(arguments));
  }

  NAUTILUS_DEVICE void run() {
    device::dependency_wait();
    if constexpr (kIsHeld) {
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        if (holds(item)) held[item] = Program::template load<kVector>(arguments, at(item));
      }
    }
    reduce<0>(typename Program::Reductions());
    device::dependency_trigger();
  }

 private:
  // Whether this thread has an element of its vector ITEM; a row is a whole number of vectors.
  NAUTILUS_DEVICE bool holds(int item) const { return is_active && item * kStep + column_thread * kVector < columns; }
  NAUTILUS_DEVICE Coordinates<Index, 2> at(int item) const { return coordinates<Index>(row, item * kStep + column_thread * kVector); }

  // The reductions that are left, after those that gave RESULTS.
  template <int kNumber, class First, class... Rest, class... Results>
  NAUTILUS_DEVICE void reduce(Pack<First, Rest...>, const Results &...results) {
    using Value = typename First::Term::Result;
    const Value combined = across_threads<kNumber, typename First::Combine>(own<First>(results...));
    const auto finished = First::Finish::template apply<1>(arguments, coordinates<Index>(row), results..., Splat<Value>{combined});
    reduce<kNumber + 1>(Pack<Rest...>(), results..., Splat<typename First::Finish::Result>{finished[0]});
  }

  template <int kNumber, class... Results>
  NAUTILUS_DEVICE void reduce(Pack<>, const Results &...results) {
    if constexpr (Program::ColumnEpilogue::kStores > 0) write_columns(results...);
    if constexpr (Program::RowEpilogue::kStores > 0) {
      if (is_active && column_thread == 0) Program::RowEpilogue::template apply<1>(arguments, coordinates<Index>(row), results...);
    }
  }

  // The combined terms of this thread's columns. Lanes are kept apart until the end: sums are shorter, hence more exact.
  template <class Reduction, class... Results>
  NAUTILUS_DEVICE typename Reduction::Term::Result own(const Results &...results) {
    using Term = typename Reduction::Term;
    using Value = typename Term::Result;
    using Combine = typename Reduction::Combine;
    Vector<Value, kVector> partial = splat<kVector>(Combine::template identity<Value>());
    if constexpr (kIsHeld) {
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        if (holds(item)) {
          const auto inputs = Term::template resume<kVector>(arguments, at(item), held[item]);
          combine_lanes<Combine>(partial, Term::template compute<kVector>(arguments, at(item), inputs, results...));
        }
      }
    } else {
      // Counted down, so that no sum passes the end of the index type.
      for (Index left = first_left(); left > 0; left -= kAhead * kStep) {
        typename Term::template Inputs<kVector> inputs[kAhead];
        NAUTILUS_UNROLL
        for (int ahead = 0; ahead < kAhead; ++ahead) {
          if (ahead * kStep < left) inputs[ahead] = Term::template load<kVector>(arguments, at_left(left, ahead));
        }
        NAUTILUS_UNROLL
        for (int ahead = 0; ahead < kAhead; ++ahead) {
          if (ahead * kStep < left) {
            combine_lanes<Combine>(partial, Term::template compute<kVector>(arguments, at_left(left, ahead), inputs[ahead], results...));
          }
        }
      }
    }
    NAUTILUS_UNROLL
    for (int width = kVector / 2; width > 0; width /= 2) {
      NAUTILUS_UNROLL
      for (int lane = 0; lane < width; ++lane) partial[lane] = Combine()(partial[lane], partial[lane + width]);
    }
    return partial[0];
  }

  // Columns from this thread's first one to the end; not positive where there is none.
  NAUTILUS_DEVICE Index first_left() const { return is_active ? columns - column_thread * kVector : 0; }
  NAUTILUS_DEVICE Coordinates<Index, 2> at_left(Index left, int ahead) const {
    return coordinates<Index>(row, columns - left + ahead * kStep);
  }

  template <class Combine, class Value>
  NAUTILUS_DEVICE static void combine_lanes(Vector<Value, kVector> &partial, const Vector<Value, kVector> &term) {
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) partial[lane] = Combine()(partial[lane], term[lane]);
  }

  // Combines over the threads of a row; each gets the result.
  template <int kNumber, class Combine, class Value>
  NAUTILUS_DEVICE static Value across_threads(Value value) {
    if constexpr (kColumnThreads == 1) {
      return value;
    } else if constexpr (kGroup <= device::kWarpThreads) {
      return across_lanes<Combine>(value);
    } else {
      static_assert(sizeof(Value) <= 8, "a slot of shared memory holds the value");
      constexpr int kWarps = kGroup / device::kWarpThreads;
      const int thread = device::thread_index().x;
      const int row_lane = thread % kRowLanes;
      Value *slots = device::dynamic_shared<Value>(kNumber % 2 * kSlots * 8);
      value = across_lanes<Combine>(value);
      if (thread % device::kWarpThreads < kRowLanes) slots[thread / device::kWarpThreads * kRowLanes + row_lane] = value;
      // A buffer is written again only after the next reduction's barrier, which all its readers have then reached.
      device::block_barrier();
      const int first_warp = thread / kGroup * kWarps;
      value = slots[first_warp * kRowLanes + row_lane];
      for (int warp = 1; warp < kWarps; ++warp) value = Combine()(value, slots[(first_warp + warp) * kRowLanes + row_lane]);
      return value;
    }
  }

  // Combines over the lanes of a warp that have the same row.
  template <class Combine, class Value>
  NAUTILUS_DEVICE static Value across_lanes(Value value) {
    constexpr int kLanes = kGroup < device::kWarpThreads ? kGroup : device::kWarpThreads;
    if constexpr (kRowLanes == 1) {
      return device::warp_reduce<Combine>(value, kLanes);
    } else {
      NAUTILUS_UNROLL
      for (int distance = kRowLanes; distance < kLanes; distance *= 2) value = Combine()(value, device::shuffle_xor(value, distance));
      return value;
    }
  }

  template <class... Results>
  NAUTILUS_DEVICE void write_columns(const Results &...results) {
    using Epilogue = typename Program::ColumnEpilogue;
    if constexpr (kIsHeld) {
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        if (holds(item)) {
          const auto inputs = Epilogue::template resume<kVector>(arguments, at(item), held[item]);
          Epilogue::template compute<kVector>(arguments, at(item), inputs, results...);
        }
      }
    } else {
      for (Index left = first_left(); left > 0; left -= kStep) {
        Epilogue::template apply<kVector>(arguments, at_left(left, 0), results...);
      }
    }
  }
};

template <class Problem, class Schedule, class Program, class A>
NAUTILUS_DEVICE void row(const A &arguments) {
  RowKernel<Problem, Schedule, Program, A>(arguments).run();
}

}  // namespace nautilus::kernels
