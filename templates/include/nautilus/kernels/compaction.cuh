// Compaction family: the places of the elements of a vector that are kept, one behind the other, and how many there are.
//
// A block goes through its elements 1024 at a time, a warp's worth of neighbours each time that a warp votes: 32 votes, whose counts one
// warp's scan turns into where the elements of each vote go. A block of a tile knows from the tallies how many come before it, so that
// the result does not depend on how blocks run.
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

template <class Problem, class Schedule, class Keep, class Tally, class Place, class Total, class A>
struct CompactionKernel {
  using Index = typename Problem::Index;
  enum : int {
    kThreads = Schedule::kThreads,
    kVotes = 32,
    kStep = kVotes * device::kWarpThreads,
    kItems = kThreads == 1 ? 1 : kStep / kThreads,  // votes of a warp
    kWarps = kThreads == 1 ? 1 : kThreads / device::kWarpThreads
  };

  const A &arguments;
  Index first;
  Index end;
  bool is_last;  // the block that knows the total

  NAUTILUS_DEVICE explicit CompactionKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const Index elements = static_cast<Index>(Problem::Elements::get(arguments));
    const Index tile = Problem::kIsTallied ? static_cast<Index>(Problem::Tile::get(arguments)) : elements;
    const Index block = static_cast<Index>(device::block_index().x);
    first = block * tile;
    end = elements - first < tile ? elements : first + tile;
    is_last = end == elements && (first < elements || block == 0);
  }

  NAUTILUS_DEVICE void run() const {
    device::dependency_wait();
    if (first < end || is_last) {
      Index found = before();
      if constexpr (kThreads == 1) {
        for (Index i = first; i < end; ++i) {
          if (is_kept(i)) put(found++, i);
        }
      } else {
        int buffer = 0;
        for (Index step = first; step < end; step += kStep) found += compact(step, found, buffer);
      }
      if (is_last && device::thread_index().x == 0) {
        Total::template apply<1>(arguments, coordinates<Index>(0), Splat<long long>{static_cast<long long>(found)});
      }
    }
    device::dependency_trigger();
  }

 private:
  NAUTILUS_DEVICE bool is_kept(Index i) const { return Keep::template apply<1>(arguments, coordinates<Index>(i))[0]; }
  NAUTILUS_DEVICE void put(Index number, Index i) const {
    Place::template apply<1>(arguments, coordinates<Index>(number), Splat<long long>{static_cast<long long>(i)});
  }

  // How many elements are kept in the tiles before this one; the same for all threads.
  NAUTILUS_DEVICE Index before() const {
    if constexpr (!Problem::kIsTallied) {
      return 0;
    } else {
      long long own = 0;
      const Index tiles = static_cast<Index>(device::block_index().x);
      for (Index tile = device::thread_index().x; tile < tiles; tile += kThreads) {
        own += Tally::template apply<1>(arguments, coordinates<Index>(tile))[0];
      }
      if constexpr (kThreads == 1) {
        return static_cast<Index>(own);
      } else {
        own = device::warp_reduce<Sum>(own, device::kWarpThreads);
        long long *slots = device::dynamic_shared<long long>(2 * kVotes * sizeof(long long));
        const int warp = device::thread_index().x / device::kWarpThreads;
        if (device::thread_index().x % device::kWarpThreads == 0) slots[warp] = own;
        device::block_barrier();
        long long total = 0;
        for (int other = 0; other < kWarps; ++other) total += slots[other];
        return static_cast<Index>(total);
      }
    }
  }

  // Puts the kept elements of the step from STEP on, behind FOUND others; returns how many they are.
  NAUTILUS_DEVICE Index compact(Index step, Index found, int &buffer) const {
    const int lane = device::thread_index().x % device::kWarpThreads;
    const int warp = device::thread_index().x / device::kWarpThreads;
    int *counts = device::dynamic_shared<int>(buffer * (kVotes * sizeof(long long)));
    buffer = 1 - buffer;
    unsigned int votes[kItems];
    NAUTILUS_UNROLL
    for (int item = 0; item < kItems; ++item) {
      const Index i = step + (item * kThreads + static_cast<int>(device::thread_index().x));
      votes[item] = device::warp_ballot(i < end && is_kept(i));
      if (lane == 0) counts[item * kWarps + warp] = device::popcount(votes[item]);
    }
    // A buffer is written again only after the next step's barrier, which all its readers have then reached.
    device::block_barrier();
    int sum = counts[lane];
    NAUTILUS_UNROLL
    for (int distance = 1; distance < device::kWarpThreads; distance *= 2) {
      const int earlier = device::shuffle_up(sum, distance);
      if (lane >= distance) sum += earlier;
    }
    const unsigned int below = (1u << lane) - 1;
    NAUTILUS_UNROLL
    for (int item = 0; item < kItems; ++item) {
      const int vote = item * kWarps + warp;
      const int up_to = device::shuffle(sum, vote);
      if ((votes[item] >> lane & 1u) != 0) {
        const int own = up_to - device::popcount(votes[item]) + device::popcount(votes[item] & below);
        put(found + own, step + (item * kThreads + static_cast<int>(device::thread_index().x)));
      }
    }
    return device::shuffle(sum, kVotes - 1);
  }
};

template <class Problem, class Schedule, class Keep, class Tally, class Place, class Total, class A>
NAUTILUS_DEVICE void compaction(const A &arguments) {
  CompactionKernel<Problem, Schedule, Keep, Tally, Place, Total, A>(arguments).run();
}

}  // namespace nautilus::kernels
