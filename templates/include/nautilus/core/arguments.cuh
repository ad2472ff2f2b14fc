// The one parameter of every kernel: pointers, then integers, as 8-byte words.
#pragma once

namespace nautilus {

template <int kPointerCount, int kScalarCount>
struct Arguments {
  enum : int { kPointers = kPointerCount };
  enum : int { kScalars = kScalarCount };
  void *pointers[kPointerCount];
  long long scalars[kScalarCount];
};

template <int kPointerCount>
struct Arguments<kPointerCount, 0> {
  enum : int { kPointers = kPointerCount };
  enum : int { kScalars = 0 };
  void *pointers[kPointerCount];
};

}  // namespace nautilus
