// Index maps: the device twin of nautilus_cli/ir/index_map.py. How an iteration coordinate finds its element.
//
// A map is a chain of stages; each sums digit times stride over the mixed-radix digits of its coordinates. The first stage takes
// the iteration coordinates, each later one the index that the one before it gave. A guarded digit says where no element is.
#pragma once

#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>

namespace nautilus {

// One digit of a coordinate: EXTENT values, each step of which adds STRIDE.
template <class ExtentType, class StrideType>
struct Axis {
  using Extent = ExtentType;
  using Stride = StrideType;
  enum : bool { kIsGuarded = false };
  enum : bool { kIsStatic = Extent::kIsStatic && Stride::kIsStatic };

  template <class Index, class A>
  NAUTILUS_DEVICE static constexpr bool holds(const A &, Index) {
    return true;
  }
};

// Holds an element only where begin <= digit < end.
template <class ExtentType, class StrideType, class Begin, class End>
struct GuardedAxis {
  using Extent = ExtentType;
  using Stride = StrideType;
  enum : bool { kIsGuarded = true };
  enum : bool { kIsStatic = Extent::kIsStatic && Stride::kIsStatic };

  template <class Index, class A>
  NAUTILUS_DEVICE static constexpr bool holds(const A &arguments, Index digit) {
    return digit >= static_cast<Index>(Begin::get(arguments)) && digit < static_cast<Index>(End::get(arguments));
  }
};

// Digit times stride, summed from the least significant digit; takes the digits off REST. The most significant digit of a
// coordinate is all that is left of it: no remainder to take.
template <bool kIsMostSignificant, class Index, class First, class... Lower, class A>
NAUTILUS_DEVICE constexpr Index sum_digits(const A &arguments, Index &rest, bool &valid) {
  Index lower = 0;
  if constexpr (sizeof...(Lower) > 0) lower = sum_digits<false, Index, Lower...>(arguments, rest, valid);
  Index digit = rest;
  if constexpr (!kIsMostSignificant) {
    const Division<Index> division = divmod(rest, First::Extent::get(arguments));
    digit = division.remainder;
    rest = division.quotient;
  }
  valid = valid && First::template holds<Index>(arguments, digit);
  return lower + digit * static_cast<Index>(First::Stride::get(arguments));
}

// Whether moving along AXIS breaks groups of WIDTH neighbours.
template <class Axis>
NAUTILUS_DEVICE constexpr bool breaks_groups(int width) {
  return !is_exactly<typename Axis::Extent, 1>() && !is_multiple<typename Axis::Stride>(width);
}

template <class Axis>
NAUTILUS_DEVICE constexpr bool repeats() {
  return is_exactly<typename Axis::Stride, 0>() && !Axis::kIsGuarded;
}

template <class First, class... Rest>
struct LastOf {
  using Type = typename LastOf<Rest...>::Type;
};
template <class Only>
struct LastOf<Only> {
  using Type = Only;
};

// The digits of one coordinate, most significant first.
template <class... Axes>
struct Digits {
  using Last = typename LastOf<Axes...>::Type;
  enum : bool { kIsGuarded = (Axes::kIsGuarded || ...) };
  enum : bool { kRepeats = (repeats<Axes>() && ...) };
  // Whether each step adds one number.
  enum : bool { kIsLinear = sizeof...(Axes) == 1 && !kIsGuarded };

  template <class Index, class A>
  NAUTILUS_DEVICE static constexpr Index index(const A &arguments, Index coordinate, bool &valid) {
    return sum_digits<true, Index, Axes...>(arguments, coordinate, valid);
  }
  NAUTILUS_DEVICE static constexpr int breaks(int width) { return (0 + ... + (breaks_groups<Axes>(width) ? 1 : 0)); }
};

template <class OffsetType, class... Coordinate>
struct Stage {
  using Offset = OffsetType;
  using LastDigits = typename LastOf<Coordinate...>::Type;
  enum : int { kRank = sizeof...(Coordinate) };
  enum : bool { kIsGuarded = (Coordinate::kIsGuarded || ...) };
  enum : bool { kIsLinear = (Coordinate::kIsLinear && ...) };

  template <class A, class At>
  NAUTILUS_DEVICE static constexpr typename At::Index index(const A &arguments, const At &at, bool &valid) {
    static_assert(static_cast<int>(At::kRank) == static_cast<int>(kRank), "the map has another rank than the place");
    using Index = typename At::Index;
    Index total = static_cast<Index>(Offset::get(arguments));
    int dimension = 0;
    ((total += Coordinate::template index<Index>(arguments, at[dimension++], valid)), ...);
    return total;
  }
  NAUTILUS_DEVICE static constexpr int breaks(int width) { return (0 + ... + Coordinate::breaks(width)); }
};

template <class... Stages>
struct Map {
  using First = typename LastOf<Stages...>::Type;  // the only stage, where there is one; widths need no more
  using LastAxis = typename First::LastDigits::Last;
  enum : bool { kIsGuarded = (Stages::kIsGuarded || ...) };
  enum : bool { kIsSingle = sizeof...(Stages) == 1 };
  enum : bool { kIsLinear = kIsSingle && First::kIsLinear };
  // Whether all neighbours along the last coordinate lie together, wherever the first of them does.
  enum : bool { kHasRows = kIsSingle && !First::kIsGuarded && First::LastDigits::kIsLinear && is_exactly<typename LastAxis::Stride, 1>() };

  // Offset of the element at AT; VALID becomes false, and the offset meaningless, where a guard does not hold.
  template <class A, class At>
  NAUTILUS_DEVICE static constexpr typename At::Index offset(const A &arguments, const At &at, bool &valid) {
    return follow<Stages...>(arguments, at, valid);
  }

  // Greatest power of two up to LIMIT by which neighbours along the last coordinate lie together: a group that starts at a multiple
  // of the width has consecutive offsets, of which the first is a multiple of the width.
  NAUTILUS_DEVICE static constexpr int contiguous_width(int limit) {
    if constexpr (kIsSingle) {
      if (!is_exactly<typename LastAxis::Stride, 1>() || LastAxis::kIsGuarded) return 1;
      int width = limit;
      // The last axis, of stride 1, breaks every group; it must be the only one that does.
      while (width > 1 && (!is_multiple<typename LastAxis::Extent>(width) || !is_multiple<typename First::Offset>(width) ||
                           First::breaks(width) != (is_exactly<typename LastAxis::Extent, 1>() ? 0 : 1))) {
        width /= 2;
      }
      return width;
    }
    return 1;
  }

  // Greatest power of two up to LIMIT by which neighbours along the last coordinate are one element.
  NAUTILUS_DEVICE static constexpr int repeated_width(int limit) {
    if constexpr (kIsSingle) {
      if constexpr (First::LastDigits::kRepeats) return limit;
      if constexpr (repeats<LastAxis>()) {
        int width = limit;
        while (width > 1 && !is_multiple<typename LastAxis::Extent>(width)) width /= 2;
        return width;
      }
    }
    return 1;
  }

  // Greatest power of two up to LIMIT by which the guards hold or fail together for neighbours along the last coordinate.
  NAUTILUS_DEVICE static constexpr int guard_width(int limit) {
    if constexpr (kIsSingle && !LastAxis::kIsGuarded) {
      int width = limit;
      while (width > 1 && !is_multiple<typename LastAxis::Extent>(width)) width /= 2;
      return width;
    }
    return 1;
  }

 private:
  template <class Stage, class... Later, class A, class At>
  NAUTILUS_DEVICE static constexpr typename At::Index follow(const A &arguments, const At &at, bool &valid) {
    using Index = typename At::Index;
    const Index index = Stage::index(arguments, at, valid);
    if constexpr (sizeof...(Later) == 0) {
      return index;
    } else {
      // A later stage must not take digits of an index that no guard allowed: it may be negative.
      const Index allowed = Stage::kIsGuarded && !valid ? 0 : index;
      return follow<Later...>(arguments, Coordinates<Index, 1>{{allowed}}, valid);
    }
  }
};

}  // namespace nautilus
