// Scan family: what the elements of a row up to each of them combine to.
//
// A group of neighbouring threads takes a row, tile by tile; each thread has kVector neighbouring columns of a tile. Lanes pass
// their totals along by shuffles, warps by shared memory, and tiles by a carry. A thread alone goes through its row in order.
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

template <class Problem, class Schedule, class Term, class Epilogue, class A>
struct ScanKernel {
  using Index = typename Problem::Index;
  using Combine = typename Problem::Combine;
  using Value = typename Term::Result;
  enum : int {
    kGroup = Schedule::kColumnThreads,
    kVector = Schedule::kVector,
    kTile = kGroup * kVector,
    kLanes = kGroup < device::kWarpThreads ? kGroup : static_cast<int>(device::kWarpThreads),
    kWarps = Schedule::kThreads / device::kWarpThreads,
    kSlotBytes = 8,
    kAhead = kVector < 8 ? 4 : 2  // tiles that are read before any is used
  };

  const A &arguments;
  Index row;
  Index columns;
  int place;  // among the threads of the row
  bool is_active;

  NAUTILUS_DEVICE explicit ScanKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    constexpr int kRowsBlock = Schedule::kThreads / kGroup;
    const Index first = static_cast<Index>(device::block_index().x) * kRowsBlock;
    const Index left = static_cast<Index>(Problem::Rows::get(arguments)) - first;
    const int own = device::thread_index().x / kGroup;
    // Threads without a row go along: the others need them at shuffles and barriers.
    is_active = own < left;
    row = is_active ? first + own : first;
    place = device::thread_index().x % kGroup;
    columns = static_cast<Index>(Problem::Columns::get(arguments));
  }

  NAUTILUS_DEVICE void run() const {
    device::dependency_wait();
    Value carry = Combine::template identity<Value>();
    int buffer = 0;
    // Counted down, so that no sum passes the end of the index type.
    for (Index left = columns; left > 0; left -= kAhead * kTile) {
      typename Term::template Inputs<kVector> inputs[kAhead];
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        if (holds(left, ahead)) inputs[ahead] = Term::template load<kVector>(arguments, at(left, ahead));
      }
      NAUTILUS_UNROLL
      for (int ahead = 0; ahead < kAhead; ++ahead) {
        if (ahead * kTile >= left) break;  // the same for all threads
        Vector<Value, kVector> values = splat<kVector>(Combine::template identity<Value>());
        if (holds(left, ahead)) values = Term::template compute<kVector>(arguments, at(left, ahead), inputs[ahead]);
        const Value total = scan_lane(values);
        const Value before = across_threads(total, carry, buffer);
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) values[lane] = Combine()(before, values[lane]);
        if (holds(left, ahead)) Epilogue::template apply<kVector>(arguments, at(left, ahead), values);
      }
    }
    device::dependency_trigger();
  }

 private:
  // Whether this thread has columns in the tile AHEAD of the one that LEFT columns from the end begins; a row is whole vectors.
  NAUTILUS_DEVICE bool holds(Index left, int ahead) const { return is_active && ahead * kTile + place * kVector < left; }
  NAUTILUS_DEVICE Coordinates<Index, 2> at(Index left, int ahead) const {
    return coordinates<Index>(row, columns - left + (ahead * kTile + place * kVector));
  }

  // Makes of a thread's values what they combine to, each with those before it; returns what all do.
  NAUTILUS_DEVICE static Value scan_lane(Vector<Value, kVector> &values) {
    Value total = Combine::template identity<Value>();
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) {
      const Value next = Combine()(total, values[lane]);
      values[lane] = Problem::kIsExclusive ? total : next;
      total = next;
    }
    return total;
  }

  // What everything before this thread's values combines to; the carry is then for the next tile.
  NAUTILUS_DEVICE static Value across_threads(Value total, Value &carry, int &buffer) {
    const Value start = carry;
    if constexpr (kGroup == 1) {
      carry = Combine()(carry, total);
      return start;
    } else {
      const int lane = device::thread_index().x % kLanes;
      Value sum = total;
      NAUTILUS_UNROLL
      for (int distance = 1; distance < kLanes; distance *= 2) {
        const Value earlier = device::shuffle_up(sum, distance);
        if (lane >= distance) sum = Combine()(earlier, sum);
      }
      const Value neighbour = device::shuffle_up(sum, 1);
      const Value before = lane > 0 ? neighbour : Combine::template identity<Value>();
      const int first_lane = device::thread_index().x % device::kWarpThreads / kLanes * kLanes;
      const Value of_lanes = device::shuffle(sum, first_lane + (kLanes - 1));
      if constexpr (kGroup <= device::kWarpThreads) {
        carry = Combine()(carry, of_lanes);
        return Combine()(start, before);
      } else {
        static_assert(sizeof(Value) <= kSlotBytes, "a slot of shared memory holds the value");
        Value *slots = device::dynamic_shared<Value>(buffer * (kWarps * kSlotBytes));
        buffer = 1 - buffer;
        const int warp = device::thread_index().x / device::kWarpThreads;
        if (lane == 0) slots[warp] = of_lanes;
        // A buffer is written again only after the next tile's barrier, which all its readers have then reached.
        device::block_barrier();
        const int first_warp = device::thread_index().x / kGroup * (kGroup / device::kWarpThreads);
        Value of_warps = Combine::template identity<Value>(), of_earlier = of_warps;
        for (int other = 0; other < kGroup / device::kWarpThreads; ++other) {
          if (first_warp + other == warp) of_earlier = of_warps;
          of_warps = Combine()(of_warps, slots[first_warp + other]);
        }
        carry = Combine()(carry, of_warps);
        return Combine()(start, Combine()(of_earlier, before));
      }
    }
  }
};

template <class Problem, class Schedule, class Term, class Epilogue, class A>
NAUTILUS_DEVICE void scan(const A &arguments) {
  ScanKernel<Problem, Schedule, Term, Epilogue, A>(arguments).run();
}

}  // namespace nautilus::kernels
