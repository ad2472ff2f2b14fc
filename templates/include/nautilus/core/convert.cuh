// Storage types and the types in which kernels compute: 16-bit floats compute as float.
#pragma once

#include <nautilus/device/types.cuh>

namespace nautilus {

using device::bfloat16;
using device::half;

template <class Storage>
struct ComputeOf {
  using Type = Storage;
};
template <>
struct ComputeOf<half> {
  using Type = float;
};
template <>
struct ComputeOf<bfloat16> {
  using Type = float;
};

template <class Storage>
NAUTILUS_DEVICE typename ComputeOf<Storage>::Type to_compute(Storage value) {
  return device::convert<typename ComputeOf<Storage>::Type>(value);
}

// Rounded to nearest even where the storage is narrower.
template <class Storage>
NAUTILUS_DEVICE Storage to_storage(typename ComputeOf<Storage>::Type value) {
  return device::convert<Storage>(value);
}

}  // namespace nautilus
