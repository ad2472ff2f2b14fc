// The one parameter of a kernel that has tensor maps: these, which the host encodes, then pointers, then integers. From sm_90 on.
#pragma once

#include <nautilus/device/tensor_copy.cuh>

namespace nautilus {

template <int kMapCount, int kPointerCount, int kScalarCount>
struct MappedArguments {
  enum : int { kPointers = kPointerCount };
  device::TensorMap maps[kMapCount];
  void *pointers[kPointerCount];
  long long scalars[kScalarCount];
};

template <int kMapCount, int kPointerCount>
struct MappedArguments<kMapCount, kPointerCount, 0> {
  enum : int { kPointers = kPointerCount };
  device::TensorMap maps[kMapCount];
  void *pointers[kPointerCount];
};

}  // namespace nautilus
