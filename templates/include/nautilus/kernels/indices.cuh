// Run-time indices of a gather or scatter: functors with one integer result each, from which an offset is summed.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus::kernels {

// A number of a pack.
template <int kNumber, class A, class First, class... Rest>
NAUTILUS_DEVICE long long number_of(const A &arguments, Pack<First, Rest...>) {
  if constexpr (kNumber == 0) {
    return static_cast<long long>(First::get(arguments));
  } else {
    return number_of<kNumber - 1>(arguments, Pack<Rest...>());
  }
}

// Extent and stride of an index: from the arguments where the problem has some that are not known at compile time.
template <class Problem, int kNumber, class A, class Extents = typename Problem::Extents>
NAUTILUS_DEVICE long long extent_of(const A &arguments, int) {
  return number_of<kNumber>(arguments, Extents());
}
template <class Problem, int kNumber, class A>
NAUTILUS_DEVICE constexpr long long extent_of(const A &, long) {
  return Problem::kExtents[kNumber];
}
template <class Problem, int kNumber, class A, class Strides = typename Problem::Strides>
NAUTILUS_DEVICE long long stride_of(const A &arguments, int) {
  return number_of<kNumber>(arguments, Strides());
}
template <class Problem, int kNumber, class A>
NAUTILUS_DEVICE constexpr long long stride_of(const A &, long) {
  return Problem::kStrides[kNumber];
}

// What the indices at AT add up to, each times its stride, index kNumber first. An index below zero counts from the end, once;
// IS_INSIDE becomes false, and the sum meaningless, where one is out of range.
template <class Problem, int kNumber, class A, class At>
NAUTILUS_DEVICE typename At::Index indexed_offset(const A &, const At &, bool &, Pack<>) {
  return 0;
}
template <class Problem, int kNumber, class A, class At, class First, class... Rest>
NAUTILUS_DEVICE typename At::Index indexed_offset(const A &arguments, const At &at, bool &is_inside, Pack<First, Rest...>) {
  using Index = typename At::Index;
  const long long extent = extent_of<Problem, kNumber>(arguments, 0);
  const long long stride = stride_of<Problem, kNumber>(arguments, 0);
  const auto indices = First::template apply<1>(arguments, at);
  long long index = static_cast<long long>(indices[0]);
  if (index < 0) index += extent;
  is_inside = is_inside && index >= 0 && index < extent;
  const Index rest = indexed_offset<Problem, kNumber + 1>(arguments, at, is_inside, Pack<Rest...>());
  return static_cast<Index>(index) * static_cast<Index>(stride) + rest;
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
