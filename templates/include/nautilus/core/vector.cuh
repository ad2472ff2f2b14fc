// A few neighbouring elements that one thread handles at once.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus {

// Largest alignment, up to the 16 bytes of one memory transaction, that BYTES allow.
NAUTILUS_DEVICE constexpr int vector_alignment(int bytes) {
  int alignment = 1;
  while (alignment < 16 && bytes % (2 * alignment) == 0) alignment *= 2;
  return alignment;
}

template <class T, int kWidth>
struct alignas(vector_alignment(static_cast<int>(sizeof(T)) * kWidth)) Vector {
  using Element = T;
  enum : int { kLanes = kWidth };
  T lanes[kWidth];

  NAUTILUS_DEVICE constexpr T &operator[](int lane) { return lanes[lane]; }
  NAUTILUS_DEVICE constexpr const T &operator[](int lane) const { return lanes[lane]; }
};

template <int kWidth, class T>
NAUTILUS_DEVICE constexpr Vector<T, kWidth> splat(T value) {
  Vector<T, kWidth> result{};
  NAUTILUS_UNROLL
  for (int lane = 0; lane < kWidth; ++lane) result[lane] = value;
  return result;
}

// What an expression without a result hands back.
struct Nothing {};

}  // namespace nautilus
