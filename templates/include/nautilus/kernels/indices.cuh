// Run-time indices of a gather or scatter: functors with one integer result each, from which an offset is summed.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus::kernels {

// What the indices at AT add up to, each times its stride, index kNumber first. An index below zero counts from the end, once;
// IS_INSIDE becomes false, and the sum meaningless, where one is out of range.
template <class Problem, int kNumber, class A, class At>
NAUTILUS_DEVICE typename At::Index indexed_offset(const A &, const At &, bool &, Pack<>) {
  return 0;
}
template <class Problem, int kNumber, class A, class At, class First, class... Rest>
NAUTILUS_DEVICE typename At::Index indexed_offset(const A &arguments, const At &at, bool &is_inside, Pack<First, Rest...>) {
  using Index = typename At::Index;
  constexpr long long kExtent = Problem::kExtents[kNumber];
  constexpr long long kStride = Problem::kStrides[kNumber];
  const auto indices = First::template apply<1>(arguments, at);
  long long index = static_cast<long long>(indices[0]);
  if (index < 0) index += kExtent;
  is_inside = is_inside && index >= 0 && index < kExtent;
  const Index rest = indexed_offset<Problem, kNumber + 1>(arguments, at, is_inside, Pack<Rest...>());
  return static_cast<Index>(index) * static_cast<Index>(kStride) + rest;
}

// Everything but the last of some types, and the last.
template <class Front, class... Types>
struct SplitLast;
template <class... Front, class Only>
struct SplitLast<Pack<Front...>, Only> {
  using First = Pack<Front...>;
  using Last = Only;
};
template <class... Front, class Next, class After, class... Rest>
struct SplitLast<Pack<Front...>, Next, After, Rest...> : SplitLast<Pack<Front..., Next>, After, Rest...> {};

}  // namespace nautilus::kernels
