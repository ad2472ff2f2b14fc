// Gather family: rows of a tensor, or single elements, at places that run-time indices give.
//
// A row's indices are evaluated once by each of its threads. An index below zero counts from the end, once; one outside its
// extent reads nothing, gives zeros and stores code 1 in the status word, the last pointer argument.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/core/status.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/indices.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

template <class Problem>
NAUTILUS_DEVICE constexpr bool are_strides_multiples(int width) {
  for (int i = 0; i < Problem::kStridesCount; ++i) {
    if (Problem::kStrides[i] % width != 0) return false;
  }
  return true;
}

// How many of WIDTH neighbouring columns one transaction reads.
template <class Problem, class Map>
NAUTILUS_DEVICE constexpr int gathered_width(int width) {
  int chunk = transaction_width<typename Problem::Data>(Map::contiguous_width(width));
  while (chunk > 1 && !are_strides_multiples<Problem>(chunk)) chunk /= 2;
  return chunk;
}

template <class Problem, class Schedule, class Base, class Indices, class Epilogue, class A>
NAUTILUS_DEVICE void gather_rows(const A &arguments) {
  using Index = typename Problem::Index;
  using Data = typename Problem::Data;
  using Compute = typename ComputeOf<Data>::Type;
  using Map = typename Base::Load0::Map;
  static_assert(!Map::kIsGuarded, "every gathered element exists");
  static_assert(Indices::kCount == Problem::kExtentsCount && Indices::kCount == Problem::kStridesCount, "an extent and a stride for each index");
  constexpr int kVector = Schedule::kVector;
  constexpr int kColumnThreads = Schedule::kColumnThreads;
  constexpr int kRowsBlock = Schedule::kThreads / kColumnThreads;
  constexpr int kChunk = gathered_width<Problem, Map>(kVector);

  const Index first = static_cast<Index>(device::block_index().x) * kRowsBlock;
  const Index left = static_cast<Index>(Problem::Rows::get(arguments)) - first;
  const int place = device::thread_index().x / kColumnThreads;
  if (place >= left) return device::dependency_wait_if_open<typename Problem::Rows>();
  const Index row = first + place;
  const Index columns = static_cast<Index>(Problem::Columns::get(arguments));
  const Index own = (static_cast<Index>(device::block_index().y) * kColumnThreads + device::thread_index().x % kColumnThreads) * kVector;
  const Index step = static_cast<Index>(device::grid_extent().y) * (kColumnThreads * kVector);
  device::dependency_wait();

  bool is_inside = true;
  const Index shift = indexed_offset<Problem, 0>(arguments, coordinates<Index>(row), is_inside, Indices());
  if (!is_inside && own == 0) report_index_out_of_range(arguments);
  const Data *data = static_cast<const Data *>(arguments.pointers[Problem::DataSlot::kValue]);

  // Counted down, so that no sum passes the end of the index type.
  for (Index rest = columns - own; rest > 0; rest -= step) {
    const auto at = coordinates<Index>(row, columns - rest);
    Vector<Compute, kVector> values{};
    if (is_inside) {
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; lane += kChunk) {
        bool valid = true;
        const Index offset = Map::offset(arguments, at.advanced(lane), valid) + shift;
        const auto chunk = device::load_global<Vector<Data, kChunk>>(data + offset);
        NAUTILUS_UNROLL
        for (int i = 0; i < kChunk; ++i) values[lane + i] = to_compute(chunk[i]);
      }
    }
    Epilogue::template apply<kVector>(arguments, at, values);
  }
  device::dependency_trigger();
}

// The functors are the base, one for each index, and the epilogue.
template <class Problem, class Schedule, class Base, class... IndicesAndEpilogue, class A>
NAUTILUS_DEVICE void gather(const A &arguments) {
  using Split = SplitLast<Pack<>, IndicesAndEpilogue...>;
  gather_rows<Problem, Schedule, Base, typename Split::First, typename Split::Last>(arguments);
}

}  // namespace nautilus::kernels
