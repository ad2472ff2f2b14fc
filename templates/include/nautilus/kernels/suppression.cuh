// Suppression family: the boxes that a class of an image keeps. The box of the greatest score is kept, and those that it covers too much
// of are not; so it goes on with those that are left.
//
// A block takes a class of an image, each thread every kThreads-th box. One pass does both: it drops what the box that was kept last
// covers, and looks for the greatest score among the rest. A score and the number of its box make one key, all of which are different,
// so that the result does not depend on how threads run.
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

// A box as its least and greatest corner.
struct Corners {
  float low[2];
  float high[2];

  NAUTILUS_DEVICE float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

// Whether two boxes have more in common, relative to what they cover together, than is allowed. Boxes without an area have nothing.
NAUTILUS_DEVICE bool covers_too_much(const Corners &a, const Corners &b, float allowed) {
  float sides[2];
  for (int axis = 0; axis < 2; ++axis) {
    const float begin = a.low[axis] > b.low[axis] ? a.low[axis] : b.low[axis];
    const float end = a.high[axis] < b.high[axis] ? a.high[axis] : b.high[axis];
    if (!(end > begin)) return false;
    sides[axis] = end - begin;
  }
  const float shared = sides[0] * sides[1];
  const float together = a.area() + b.area() - shared;
  if (!(shared > 0.0f) || !(a.area() > 0.0f) || !(b.area() > 0.0f) || !(together > 0.0f)) return false;
  return shared / together > allowed;
}

template <class Problem, class Schedule, class Box, class Score, class Most, class Overlap, class Least, class Epilogue, class A>
struct SuppressionKernel {
  using Index = typename Problem::Index;
  using Key = unsigned long long;
  enum : int {
    kThreads = Schedule::kThreads,
    kWarps = kThreads == 1 ? 1 : kThreads / device::kWarpThreads,
    kWordBits = 32,
    kSlots = 32  // keys of a buffer
  };

  const A &arguments;
  Index image;
  Index category;
  Index boxes;
  Index slots;
  int thread;
  unsigned int *left;  // bits of the boxes that may still be kept: a thread's own words

  NAUTILUS_DEVICE explicit SuppressionKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const Index block = static_cast<Index>(device::block_index().x);
    image = divide(block, Problem::Classes::get(arguments));
    category = block - image * static_cast<Index>(Problem::Classes::get(arguments));
    boxes = static_cast<Index>(Problem::Boxes::get(arguments));
    slots = static_cast<Index>(Problem::Slots::get(arguments));
    thread = device::thread_index().x;
    left = device::dynamic_shared<unsigned int>(2 * kSlots * sizeof(Key));
  }

  NAUTILUS_DEVICE void run() const {
    device::dependency_wait();
    // Of no images, and of none of their classes, there is a block, too.
    if (image < static_cast<Index>(Problem::Images::get(arguments)) && category < static_cast<Index>(Problem::Classes::get(arguments))) {
      suppress();
    }
    device::dependency_trigger();
  }

 private:
  NAUTILUS_DEVICE void suppress() const {
    const long long most = Most::template apply<1>(arguments, coordinates<Index>(0))[0];
    const float allowed = Overlap::template apply<1>(arguments, coordinates<Index>(0))[0];
    Index kept = 0;
    Corners last{};
    for (Index word = 0; word * kWordBits * kThreads < boxes; ++word) left[word * kThreads + thread] = candidates(word);
    while (kept < slots && kept < most) {
      const Key best = across_threads(pass(last, allowed, kept > 0), static_cast<int>(kept % 2));
      if (best == 0) break;
      const Index box = static_cast<Index>(~static_cast<unsigned int>(best));
      last = corners(box);
      if (box % kThreads == thread) clear(box);
      if (thread == 0) put(kept, static_cast<long long>(box));
      ++kept;
    }
    for (Index slot = kept + thread; slot < slots; slot += kThreads) put(slot, -1);
  }

  NAUTILUS_DEVICE void put(Index slot, long long box) const {
    Epilogue::template apply<1>(arguments, coordinates<Index>(image, category, slot), Splat<long long>{box});
  }
  NAUTILUS_DEVICE float score(Index box) const { return Score::template apply<1>(arguments, coordinates<Index>(image, category, box))[0]; }
  NAUTILUS_DEVICE void clear(Index box) const {
    const Index own = box / kThreads;
    left[own / kWordBits * kThreads + thread] &= ~(1u << own % kWordBits);
  }

  // Those of a word's boxes whose score is above the least one; one that is no number never is.
  NAUTILUS_DEVICE unsigned int candidates(Index word) const {
    unsigned int bits = 0;
    for (int bit = 0; bit < kWordBits; ++bit) {
      const Index box = (word * kWordBits + bit) * kThreads + thread;
      if (box >= boxes) break;
      const float own = score(box);
      bool is_left = own == own;
      if constexpr (Problem::kHasLeast) is_left = own > Least::template apply<1>(arguments, coordinates<Index>(0))[0];
      if (is_left) bits |= 1u << bit;
    }
    return bits;
  }

  NAUTILUS_DEVICE Corners corners(Index box) const {
    const Vector<float, 4> found = Box::template apply<4>(arguments, coordinates<Index>(image, box, 0));
    Corners made;
    for (int axis = 0; axis < 2; ++axis) {
      if constexpr (Problem::kIsCentred) {
        const float half = found[2 + axis] / 2.0f;
        made.low[axis] = found[axis] - half;
        made.high[axis] = found[axis] + half;
      } else {
        made.low[axis] = found[axis] < found[2 + axis] ? found[axis] : found[2 + axis];
        made.high[axis] = found[axis] < found[2 + axis] ? found[2 + axis] : found[axis];
      }
    }
    return made;
  }

  // Drops this thread's boxes that LAST covers, where there is one; returns the greatest key of the rest, 0 where none is left.
  NAUTILUS_DEVICE Key pass(const Corners &last, float allowed, bool has_last) const {
    Key best = 0;
    for (Index word = 0; word * kWordBits * kThreads < boxes; ++word) {
      unsigned int &bits = left[word * kThreads + thread];
      for (int bit = 0; bit < kWordBits && bits >> bit != 0; ++bit) {
        if ((bits >> bit & 1u) == 0) continue;
        const Index box = (word * kWordBits + bit) * kThreads + thread;
        if (has_last && covers_too_much(corners(box), last, allowed)) {
          bits &= ~(1u << bit);
          continue;
        }
        const Key key = static_cast<Key>(math::ordered_bits(score(box))) << 32 | ~static_cast<unsigned int>(box);
        best = key > best ? key : best;
      }
    }
    return best;
  }

  // A buffer is written again only after the next pass's barrier, which all its readers have then reached.
  NAUTILUS_DEVICE Key across_threads(Key own, int buffer) const {
    if constexpr (kThreads == 1) {
      return own;
    } else {
      Key *keys = device::dynamic_shared<Key>(buffer * kSlots * static_cast<int>(sizeof(Key)));
      own = device::warp_reduce<Max>(own, device::kWarpThreads);
      if (thread % device::kWarpThreads == 0) keys[thread / device::kWarpThreads] = own;
      device::block_barrier();
      Key best = keys[0];
      for (int warp = 1; warp < kWarps; ++warp) best = keys[warp] > best ? keys[warp] : best;
      return best;
    }
  }
};

template <class Problem, class Schedule, class Box, class Score, class Most, class Overlap, class Least, class Epilogue, class A>
NAUTILUS_DEVICE void suppression(const A &arguments) {
  SuppressionKernel<Problem, Schedule, Box, Score, Most, Overlap, Least, Epilogue, A>(arguments).run();
}

}  // namespace nautilus::kernels
