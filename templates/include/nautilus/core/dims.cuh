// Dimensions as types: a kernel never knows whether a number was fixed at compile time.
#pragma once

#include <nautilus/device/memory.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus {

template <bool kCondition, class Then, class Else>
struct Conditional {
  using Type = Then;
};
template <class Then, class Else>
struct Conditional<false, Then, Else> {
  using Type = Else;
};

template <class A, class B>
inline constexpr bool kIsSame = false;
template <class A>
inline constexpr bool kIsSame<A, A> = true;

template <class Index>
struct UnsignedOf;
template <>
struct UnsignedOf<int> {
  using Type = unsigned int;
};
template <>
struct UnsignedOf<long long> {
  using Type = unsigned long long;
};

// A number known at compile time. Converts to int where it fits, so that arithmetic stays 32-bit.
//
// Constants of the types that maps are made of are enumerators: NVRTC gives every `static constexpr` member an address in the cubin,
// and a symbol as long as the type's name; they made up two thirds of one.
template <long long kN>
struct Static {
  enum : bool { kIsStatic = true };
  enum : long long { kValue = kN };
  using Value = typename Conditional<(kN >= -2147483647LL - 1 && kN <= 2147483647LL), int, long long>::Type;

  template <class Arguments>
  NAUTILUS_DEVICE static constexpr Static get(const Arguments &) {
    return {};
  }
  NAUTILUS_DEVICE constexpr operator Value() const { return static_cast<Value>(kN); }
};

// The twin of Static for a number that the host passes: an integer argument of the kernel, known to be a multiple of kMultipleOf.
// Scalar is one that fits in an int.
template <int kSlotNumber, int kMultipleOf, class ValueType = int>
struct Scalar {
  enum : bool { kIsStatic = false };
  enum : int { kSlot = kSlotNumber, kMultiple = kMultipleOf };
  using Value = ValueType;

  template <class Arguments>
  NAUTILUS_DEVICE static constexpr Value get(const Arguments &arguments) {
    return static_cast<Value>(arguments.scalars[kSlot]);
  }
};
template <int kSlotNumber, int kMultipleOf>
using LongScalar = Scalar<kSlotNumber, kMultipleOf, long long>;

// The twin of Scalar for a number that an earlier kernel gave: the argument says where it lies; it is that times kFactor and plus
// kOffset. Kernels that have one begin when all before them have ended, so that it may be read at any time.
template <int kSlotNumber, int kMultipleOf, long long kFactor, long long kOffset, class ValueType = int>
struct Loaded {
  enum : bool { kIsStatic = false };
  enum : int { kSlot = kSlotNumber, kMultiple = kMultipleOf };
  using Value = ValueType;

  template <class Arguments>
  NAUTILUS_DEVICE static constexpr Value get(const Arguments &arguments) {
    return static_cast<Value>(device::load_number(reinterpret_cast<const long long *>(arguments.scalars[kSlot])) * kFactor + kOffset);
  }
};
template <int kSlotNumber, int kMultipleOf, long long kFactor, long long kOffset>
using LongLoaded = Loaded<kSlotNumber, kMultipleOf, kFactor, kOffset, long long>;

// A number by which indices are divided: the host has worked out what such a division becomes a product with, as `factor` of
// nautilus_cli/ir/functions.py says.
struct Divided {
  int value;
  unsigned long long factor;

  NAUTILUS_DEVICE constexpr operator int() const { return value; }
};

// A Scalar whose factor is another integer argument of the kernel.
template <int kSlotNumber, int kMultipleOf, int kFactorSlot>
struct Divisor : Scalar<kSlotNumber, kMultipleOf> {
  template <class Arguments>
  NAUTILUS_DEVICE static constexpr Divided get(const Arguments &arguments) {
    return {static_cast<int>(arguments.scalars[kSlotNumber]), static_cast<unsigned long long>(arguments.scalars[kFactorSlot])};
  }
};

// Whether a number is known to be a multiple of WIDTH, a power of two.
template <class Number>
NAUTILUS_DEVICE constexpr bool is_multiple(int width) {
  if constexpr (Number::kIsStatic) {
    return Number::kValue % width == 0;
  } else {
    return Number::kMultiple % width == 0;
  }
}

// Whether a number is known to be kN.
template <class Number, long long kN>
NAUTILUS_DEVICE constexpr bool is_exactly() {
  if constexpr (Number::kIsStatic) {
    return Number::kValue == kN;
  } else {
    return false;
  }
}

// Quotient and remainder of a number that is not negative. Unsigned, since that is cheaper: no correction of the sign.
template <class Index, long long kN>
NAUTILUS_DEVICE constexpr Index divide(Index dividend, Static<kN>) {
  using Unsigned = typename UnsignedOf<Index>::Type;
  return static_cast<Index>(static_cast<Unsigned>(dividend) / static_cast<Unsigned>(kN));
}
template <class Index, long long kN>
NAUTILUS_DEVICE constexpr Index remainder(Index dividend, Static<kN>) {
  using Unsigned = typename UnsignedOf<Index>::Type;
  return static_cast<Index>(static_cast<Unsigned>(dividend) % static_cast<Unsigned>(kN));
}

// A divisor that a kernel gave, or an open size, may be 0: then there is no element, and any quotient will do.
template <class Index>
NAUTILUS_DEVICE constexpr Index divide(Index dividend, Index divisor) {
  using Unsigned = typename UnsignedOf<Index>::Type;
  return static_cast<Index>(static_cast<Unsigned>(dividend) / static_cast<Unsigned>(divisor + (divisor == 0)));
}
template <class Index>
NAUTILUS_DEVICE constexpr Index remainder(Index dividend, Index divisor) {
  using Unsigned = typename UnsignedOf<Index>::Type;
  return static_cast<Index>(static_cast<Unsigned>(dividend) % static_cast<Unsigned>(divisor + (divisor == 0)));
}
NAUTILUS_DEVICE constexpr long long divide(long long dividend, int divisor) { return divide<long long>(dividend, divisor); }
NAUTILUS_DEVICE constexpr long long remainder(long long dividend, int divisor) { return remainder<long long>(dividend, divisor); }

NAUTILUS_DEVICE constexpr int divide(int dividend, Divided divisor) {
  const unsigned number = static_cast<unsigned>(dividend), multiplier = static_cast<unsigned>(divisor.factor);
  const unsigned high = static_cast<unsigned>(static_cast<unsigned long long>(number) * multiplier >> 32);
  return static_cast<int>((number + high) >> static_cast<unsigned>(divisor.factor >> 32));
}
NAUTILUS_DEVICE constexpr long long divide(long long dividend, Divided divisor) { return divide<long long>(dividend, divisor.value); }

template <class Index>
struct Division {
  Index quotient;
  Index remainder;
};
template <class Index, class Divisor>
NAUTILUS_DEVICE constexpr Division<Index> divmod(Index dividend, Divisor divisor) {
  const Index quotient = divide(dividend, divisor);
  return {quotient, static_cast<Index>(dividend - quotient * static_cast<Index>(divisor))};
}

// Quotient rounded up; both not negative.
template <class Index, class Divisor>
NAUTILUS_DEVICE constexpr Index ceil_divide(Index dividend, Divisor divisor) {
  return (dividend + static_cast<Index>(divisor) - 1) / static_cast<Index>(divisor);
}
// A list of types.
template <class... Types>
struct Pack {
  enum : int { kCount = sizeof...(Types) };
};

}  // namespace nautilus
