// The one parameter of every kernel: pointers, then integers, as 8-byte words.
#pragma once

namespace nautilus {

template <int kPointerCount, int kScalarCount>
struct Arguments {
  static constexpr int kPointers = kPointerCount;
  static constexpr int kScalars = kScalarCount;
  void *pointers[kPointerCount];
  long long scalars[kScalarCount];
};

template <int kPointerCount>
struct Arguments<kPointerCount, 0> {
  static constexpr int kPointers = kPointerCount;
  static constexpr int kScalars = 0;
  void *pointers[kPointerCount];
};

}  // namespace nautilus
