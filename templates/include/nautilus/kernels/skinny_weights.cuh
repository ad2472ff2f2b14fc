// How weights of a skinny product come from global memory: a policy says what a thread holds while they are on their way, and how numbers
// are made of it once they are needed.
//
// A policy has `Held`; `fetch(arguments, at)`, which only issues reads; and `elements<T>(arguments, at, held)`, the numbers as T. Where
// kCanSkip says so, it has `fetch_if(arguments, at, is_there)`, too, which holds zeros where there is nothing. Weights of fewer bits, with
// scales beside them, would be one more policy.
#pragma once

#include <nautilus/core/convert.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_tile.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// Bits of BYTES. Whole words are taken apart only where they are used: the compiler would do it as soon as they come, and wait for them.
template <int kBytes, bool kIsWords = kBytes % 4 == 0>
struct alignas(vector_alignment(kBytes)) HeldBits {
  uint32 words[kBytes / 4];
};
template <int kBytes>
struct alignas(vector_alignment(kBytes)) HeldBits<kBytes, false> {
  uint8 bytes[kBytes];
};

// Weights that lie in memory as a plain tensor: one transaction, held as it is. Constant ones pass L1 by.
template <class Functor, int kVector, bool kIsConstant>
struct StoredWeights {
  using Load = typename Functor::Load0;
  using Storage = typename Load::Storage;
  using Held = HeldBits<kVector * static_cast<int>(sizeof(Storage))>;
  static constexpr device::LoadHint kHint = kIsConstant ? device::LoadHint::kNoAllocate : device::LoadHint::kDefault;
  static constexpr bool kCanSkip = sizeof(Held) % 4 == 0;

  template <class A, class At>
  NAUTILUS_DEVICE static Held fetch(const A &arguments, const At &at) {
    bool is_inside = true;
    const auto offset = Load::Map::offset(arguments, at, is_inside);
    if (Load::Map::kIsGuarded && !is_inside) return {};
    return device::load_global<Held, kHint>(Load::pointer(arguments) + offset);
  }

  template <class A, class At>
  NAUTILUS_DEVICE static Held fetch_if(const A &arguments, const At &at, bool is_there) {
    const auto offset = Load::Map::offset(arguments, at, is_there);
    return device::load_global_if<Held, kHint>(Load::pointer(arguments) + offset, is_there);
  }

  template <class T, class A, class At>
  NAUTILUS_DEVICE static Vector<T, kVector> elements(const A &, const At &, const Held &held) {
    const auto stored = device::bit_cast<Vector<Storage, kVector>>(held);
    if constexpr (kIsSameType<T, Storage>) {
      return stored;
    } else {
      Vector<T, kVector> values;
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) values[lane] = device::convert<T>(to_compute(stored[lane]));
      return values;
    }
  }
};

// Weights that a functor computes from what it reads.
template <class Functor, int kVector>
struct ComputedWeights {
  using Held = typename Functor::template Inputs<kVector>;
  static constexpr bool kCanSkip = false;

  template <class A, class At>
  NAUTILUS_DEVICE static Held fetch(const A &arguments, const At &at) {
    return Functor::template load<kVector>(arguments, at);
  }

  template <class T, class A, class At>
  NAUTILUS_DEVICE static Vector<T, kVector> elements(const A &arguments, const At &at, const Held &held) {
    const auto computed = Functor::template compute<kVector>(arguments, at, held);
    Vector<T, kVector> values;
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kVector; ++lane) values[lane] = device::convert<T>(computed[lane]);
    return values;
  }
};

template <class Functor, int kVector>
NAUTILUS_DEVICE constexpr bool is_stored() {
  if constexpr (Functor::kIsPlainLoad) {
    using Load = typename Functor::Load0;
    return Load::Map::contiguous_width(kVector) == kVector && transaction_width<typename Load::Storage>(kVector) == kVector;
  } else {
    return false;
  }
}

// The policy of a functor.
template <class Functor, int kVector, bool kIsConstant>
using Weights = typename Conditional<is_stored<Functor, kVector>(), StoredWeights<Functor, kVector, kIsConstant>,
                                     ComputedWeights<Functor, kVector>>::Type;

}  // namespace nautilus::kernels
