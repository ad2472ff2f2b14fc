// Storage types and the types in which kernels compute: narrower floats compute as float, integers of less than a byte as bytes.
#pragma once

#include <nautilus/device/types.cuh>

namespace nautilus {

using device::bfloat16;
using device::float4_e2m1;
using device::float8_e4m3fn;
using device::float8_e4m3fnuz;
using device::float8_e5m2;
using device::float8_e5m2fnuz;
using device::float8_e8m0;
using device::half;
using device::signed2;
using device::signed4;
using device::unsigned2;
using device::unsigned4;

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

template <int kExponentBits, int kMantissaBits, int kBias, device::Specials kSpecials>
struct ComputeOf<device::NarrowFloat<kExponentBits, kMantissaBits, kBias, kSpecials>> {
  using Type = float;
};
template <>
struct ComputeOf<float8_e8m0> {
  using Type = float;
};
template <int kBits, class Value>
struct ComputeOf<device::NarrowInteger<kBits, Value>> {
  using Type = Value;
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
