// Parameters of a functor: values that the kernel hands to an expression, indexed by lane.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus {

// The same value in every lane: the result of a row.
template <class T>
struct Splat {
  using Element = T;
  T value;
  NAUTILUS_DEVICE constexpr T operator[](int) const { return value; }
};

// The parameter of position K.
template <int kPosition, class First, class... Rest>
NAUTILUS_DEVICE constexpr const auto &parameter(const First &first, const Rest &...rest) {
  if constexpr (kPosition == 0) {
    return first;
  } else {
    return parameter<kPosition - 1>(rest...);
  }
}

}  // namespace nautilus
