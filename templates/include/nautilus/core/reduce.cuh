// Combiners of reductions: associative functions of two values with an identity. NaN propagates through Max and Min.
#pragma once

#include <nautilus/core/constants.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus {

namespace detail {

// The greatest value of a type, infinity where there is one; `lowest` likewise.
template <class T>
NAUTILUS_DEVICE constexpr T highest() {
  if constexpr (device::detail::kIsSame<T, float>) return constant_f32(0x7F800000u);
  else if constexpr (device::detail::kIsSame<T, double>) return constant_f64(0x7FF0000000000000ull);
  else if constexpr (device::detail::kIsSame<T, bool>) return true;
  else return static_cast<T>(~0ull >> (64 - math::detail::kBits<T> + (math::detail::kIsSigned<T> ? 1 : 0)));
}

template <class T>
NAUTILUS_DEVICE constexpr T lowest() {
  if constexpr (math::detail::kIsFloat<T>) return -highest<T>();
  else if constexpr (device::detail::kIsSame<T, bool>) return false;
  else return math::detail::kIsSigned<T> ? static_cast<T>(-highest<T>() - 1) : static_cast<T>(0);
}

}  // namespace detail

struct Sum {
  template <class T>
  NAUTILUS_DEVICE static constexpr T identity() {
    return static_cast<T>(0);
  }
  template <class T>
  NAUTILUS_DEVICE T operator()(T a, T b) const {
    return math::add(a, b);
  }
};

struct Prod {
  template <class T>
  NAUTILUS_DEVICE static constexpr T identity() {
    return static_cast<T>(1);
  }
  template <class T>
  NAUTILUS_DEVICE T operator()(T a, T b) const {
    return math::mul(a, b);
  }
};

struct Max {
  template <class T>
  NAUTILUS_DEVICE static constexpr T identity() {
    return detail::lowest<T>();
  }
  template <class T>
  NAUTILUS_DEVICE T operator()(T a, T b) const {
    return math::max(a, b);
  }
};

struct Min {
  template <class T>
  NAUTILUS_DEVICE static constexpr T identity() {
    return detail::highest<T>();
  }
  template <class T>
  NAUTILUS_DEVICE T operator()(T a, T b) const {
    return math::min(a, b);
  }
};

struct Any {
  template <class T>
  NAUTILUS_DEVICE static constexpr T identity() {
    return static_cast<T>(false);
  }
  template <class T>
  NAUTILUS_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a || b);
  }
};

struct All {
  template <class T>
  NAUTILUS_DEVICE static constexpr T identity() {
    return static_cast<T>(true);
  }
  template <class T>
  NAUTILUS_DEVICE T operator()(T a, T b) const {
    return static_cast<T>(a && b);
  }
};

}  // namespace nautilus
