// Functions that expressions name: one element in, one element out, in compute types (float, double, integers, bool).
//
// The meaning is ONNX's: NaN propagates through max, min and what is built on them; integers wrap; integer division cuts towards
// zero and gives 0 for a divisor of 0; mod has the sign of the divisor, with a flag that of the dividend.
// Operands after those of the operator are its attributes, in the type of the first operand.
#pragma once

#include <nautilus/core/convert.cuh>
#include <nautilus/device/math.cuh>
#include <nautilus/device/platform.cuh>
#include <nautilus/device/types.cuh>

namespace nautilus {
namespace math {

namespace detail {

template <class T>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;

template <class T>
inline constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

template <class T>
inline constexpr int kBits = static_cast<int>(sizeof(T)) * 8;

// Unsigned and at least 32 bits wide, so that sums and products wrap and are never promoted to a signed type.
template <int kBytes>
struct Wrapping {
  using Type = uint32;
};
template <>
struct Wrapping<8> {
  using Type = uint64;
};
template <class T>
using Wrap = typename Wrapping<static_cast<int>(sizeof(T))>::Type;

// The float next to VALUE whose last bit says that digits were cut off: rounded once more, it gives what one rounding gives.
NAUTILUS_DEVICE float to_odd(double value) {
  const float near = static_cast<float>(value);
  const double back = near;
  if (value != value || back == value || device::is_infinite(near)) return near;
  const bool is_beyond = value < 0 ? back < value : back > value;
  return device::bit_cast<float>((device::bit_cast<uint32>(near) - (is_beyond ? 1u : 0u)) | 1u);
}

}  // namespace detail

// Arithmetic

template <class T>
NAUTILUS_DEVICE T add(T a, T b) {
  if constexpr (detail::kIsFloat<T>) return a + b;
  else return static_cast<T>(static_cast<detail::Wrap<T>>(a) + static_cast<detail::Wrap<T>>(b));
}

template <class T>
NAUTILUS_DEVICE T sub(T a, T b) {
  if constexpr (detail::kIsFloat<T>) return a - b;
  else return static_cast<T>(static_cast<detail::Wrap<T>>(a) - static_cast<detail::Wrap<T>>(b));
}

template <class T>
NAUTILUS_DEVICE T mul(T a, T b) {
  if constexpr (detail::kIsFloat<T>) return a * b;
  else return static_cast<T>(static_cast<detail::Wrap<T>>(a) * static_cast<detail::Wrap<T>>(b));
}

template <class T>
NAUTILUS_DEVICE T neg(T a) {
  if constexpr (detail::kIsFloat<T>) return -a;
  else return sub(static_cast<T>(0), a);
}

template <class T>
NAUTILUS_DEVICE T div(T a, T b) {
  if constexpr (detail::kIsFloat<T>) {
    return a / b;
  } else {
    if (b == static_cast<T>(0)) return static_cast<T>(0);
    if constexpr (detail::kIsSigned<T>) {
      if (b == static_cast<T>(-1)) return neg(a);  // the lowest number has no positive twin
    }
    return static_cast<T>(a / b);
  }
}

template <class T>
NAUTILUS_DEVICE T mod(T a, T b, T is_fmod) {
  if constexpr (detail::kIsFloat<T>) {
    const T rest = device::fmod(a, b);
    if (is_fmod != 0 || rest != rest) return rest;
    if (rest == 0) return device::copysign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  } else {
    if (b == static_cast<T>(0)) return static_cast<T>(0);
    if constexpr (detail::kIsSigned<T>) {
      if (b == static_cast<T>(-1)) return static_cast<T>(0);
      const T rest = static_cast<T>(a % b);
      const bool differs = rest != static_cast<T>(0) && (rest < static_cast<T>(0)) != (b < static_cast<T>(0));
      return differs && is_fmod == static_cast<T>(0) ? add(rest, b) : rest;
    } else {
      return static_cast<T>(a % b);
    }
  }
}

template <class T>
NAUTILUS_DEVICE T max(T a, T b) {
  if constexpr (device::detail::kIsSame<T, float>) return device::max_nan(a, b);
  else return a > b || a != a ? a : b;
}

template <class T>
NAUTILUS_DEVICE T min(T a, T b) {
  if constexpr (device::detail::kIsSame<T, float>) return device::min_nan(a, b);
  else return a < b || a != a ? a : b;
}

template <class T>
NAUTILUS_DEVICE T abs(T a) {
  if constexpr (detail::kIsFloat<T>) return device::fabs(a);
  else if constexpr (detail::kIsSigned<T>) return a < static_cast<T>(0) ? neg(a) : a;
  else return a;
}

// NaN stays, and so does the sign of zero.
template <class T>
NAUTILUS_DEVICE T sign(T a) {
  if (a > static_cast<T>(0)) return static_cast<T>(1);
  if constexpr (detail::kIsFloat<T> || detail::kIsSigned<T>) {
    if (a < static_cast<T>(0)) return static_cast<T>(-1);
  }
  return a;
}

template <class T>
NAUTILUS_DEVICE T reciprocal(T a) {
  return static_cast<T>(1) / a;
}

// Integer to integer: by squaring, modulo 2^bits; a negative exponent gives the quotient of 1 by the power.
// Integer to float: through double. Float to integer: in the base's type, which may round a large exponent, but not its parity.
template <class Base, class Exponent>
NAUTILUS_DEVICE Base pow(Base base, Exponent exponent) {
  if constexpr (detail::kIsFloat<Base> && detail::kIsFloat<Exponent>) {
    if constexpr (sizeof(Exponent) > sizeof(Base)) return static_cast<Base>(device::pow(static_cast<double>(base), exponent));
    else return device::pow(base, static_cast<Base>(exponent));
  } else if constexpr (detail::kIsFloat<Base>) {
    const Base size = device::pow(device::fabs(base), static_cast<Base>(exponent));
    return exponent % 2 == 0 ? size : device::copysign(size, base);
  } else if constexpr (detail::kIsFloat<Exponent>) {
    // The power is a few units in the last place off, which must not cut a whole number to the one before it.
    const double power = device::pow(static_cast<double>(base), static_cast<double>(exponent));
    const double whole = device::rint(power);
    return device::convert<Base>(device::fabs(power - whole) <= 1e-15 * device::fabs(power) ? whole : power);
  } else {
    if (exponent < static_cast<Exponent>(0)) {
      if (base == static_cast<Base>(1)) return base;
      if constexpr (detail::kIsSigned<Base>) {
        if (base == static_cast<Base>(-1)) return exponent % 2 == 0 ? static_cast<Base>(1) : base;
      }
      return static_cast<Base>(0);
    }
    Base result = static_cast<Base>(1);
    for (uint64 rest = static_cast<uint64>(exponent); rest != 0; rest >>= 1) {
      if (rest & 1) result = mul(result, base);
      base = mul(base, base);
    }
    return result;
  }
}

// Functions of the mathematics library

#define NAUTILUS_MATH_FORWARD(name, function) \
  template <class T>                          \
  NAUTILUS_DEVICE T name(T a) {               \
    return device::function(a);               \
  }

NAUTILUS_MATH_FORWARD(acos, acos)
NAUTILUS_MATH_FORWARD(acosh, acosh)
NAUTILUS_MATH_FORWARD(asin, asin)
NAUTILUS_MATH_FORWARD(asinh, asinh)
NAUTILUS_MATH_FORWARD(atan, atan)
NAUTILUS_MATH_FORWARD(atanh, atanh)
NAUTILUS_MATH_FORWARD(ceil, ceil)
NAUTILUS_MATH_FORWARD(cos, cos)
NAUTILUS_MATH_FORWARD(cosh, cosh)
NAUTILUS_MATH_FORWARD(erf, erf)
NAUTILUS_MATH_FORWARD(exp, exp)
NAUTILUS_MATH_FORWARD(floor, floor)
NAUTILUS_MATH_FORWARD(log, log)
NAUTILUS_MATH_FORWARD(round, rint)  // half to even
NAUTILUS_MATH_FORWARD(sin, sin)
NAUTILUS_MATH_FORWARD(sinh, sinh)
NAUTILUS_MATH_FORWARD(sqrt, sqrt)
NAUTILUS_MATH_FORWARD(tan, tan)
NAUTILUS_MATH_FORWARD(tanh, tanh)

#undef NAUTILUS_MATH_FORWARD

template <class T>
NAUTILUS_DEVICE bool is_nan(T a) {
  return a != a;
}

template <class T>
NAUTILUS_DEVICE bool is_inf(T a, T detect_negative, T detect_positive) {
  return device::is_infinite(a) && (a < 0 ? detect_negative : detect_positive) != 0;
}

// Activations

template <class T>
NAUTILUS_DEVICE T relu(T a) {
  return max(a, static_cast<T>(0));
}

template <class T>
NAUTILUS_DEVICE T leaky_relu(T a, T alpha) {
  return a < 0 ? a * alpha : a;
}

template <class T>
NAUTILUS_DEVICE T prelu(T a, T slope) {
  return a < static_cast<T>(0) ? mul(a, slope) : a;
}

template <class T>
NAUTILUS_DEVICE T thresholded_relu(T a, T alpha) {
  return a > alpha ? a : static_cast<T>(0);
}

template <class T>
NAUTILUS_DEVICE T elu(T a, T alpha) {
  return a < 0 ? alpha * device::expm1(a) : a;
}

template <class T>
NAUTILUS_DEVICE T selu(T a, T alpha, T gamma) {
  return gamma * (a > 0 ? a : alpha * device::expm1(a));
}

template <class T>
NAUTILUS_DEVICE T celu(T a, T alpha) {
  return a < 0 ? alpha * device::expm1(a / alpha) : a;
}

template <class T>
NAUTILUS_DEVICE T shrink(T a, T bias, T lambd) {
  return a < -lambd ? a + bias : a > lambd ? a - bias : static_cast<T>(0);
}

template <class T>
NAUTILUS_DEVICE T sigmoid(T a) {
  const T denominator = static_cast<T>(1) + device::exp(-a);
  if constexpr (device::detail::kIsSame<T, float>) return device::fast_reciprocal(denominator);  // within one unit in the last place
  else return static_cast<T>(1) / denominator;
}

template <class T>
NAUTILUS_DEVICE T swish(T a, T alpha) {
  return a * sigmoid(alpha * a);
}

template <class T>
NAUTILUS_DEVICE T softplus(T a) {
  return max(a, static_cast<T>(0)) + device::log1p(device::exp(-device::fabs(a)));
}

template <class T>
NAUTILUS_DEVICE T softsign(T a) {
  return a / (static_cast<T>(1) + device::fabs(a));
}

template <class T>
NAUTILUS_DEVICE T hard_sigmoid(T a, T alpha, T beta) {
  return min(max(a * alpha + beta, static_cast<T>(0)), static_cast<T>(1));
}

template <class T>
NAUTILUS_DEVICE T hard_swish(T a) {
  return a * hard_sigmoid(a, static_cast<T>(1.0 / 6.0), static_cast<T>(0.5));
}

// tanh(softplus(a)) = (e e + 2 e) / (e e + 2 e + 2) with e = exp(a), which needs one exponential and cancels nowhere.
template <class T>
NAUTILUS_DEVICE T mish(T a) {
  const T e = device::exp(a);
  const T n = e * (e + static_cast<T>(2));
  return a > static_cast<T>(20) ? a : a * (n / (n + static_cast<T>(2)));
}

// 2 to the power of a polynomial in SIZE whose constant term is -1: how much of the standard normal distribution lies beyond, where
// COEFFICIENTS of the others, the highest first, are fitted to its logarithm, so that its own error is even.
template <int kDegree>
NAUTILUS_DEVICE float normal_tail(float size, const float (&coefficients)[kDegree]) {
  float logarithm = coefficients[0];
  NAUTILUS_UNROLL
  for (int i = 1; i < kDegree; ++i) logarithm = device::fma(logarithm, size, coefficients[i]);
  return device::fast_exp2(device::fma(logarithm, size, -1.0f));
}

// a times the standard normal distribution function of a, to 1.4 units in the last place of a: max(a, 0) - |a| tail(|a|), with a tail that
// is fitted up to 14.
NAUTILUS_DEVICE float times_normal_distribution(float a) {
  constexpr float kCoefficients[] = {-0x1.4c21e2p-20f, 0x1.77e17p-16f,  -0x1.e533a8p-14f, -0x1.28d48ap-12f,
                                     0x1.d96376p-8f,   -0x1.aec86ap-5f, -0x1.d634b8p-2f,  -0x1.26aef4p+0f};
  const float size = device::fmin(device::fabs(a), 40.0f);  // infinity times no tail would be no number
  const float half_a = 0.5f * a;
  return device::copysign(device::fma(-size, normal_tail(size, kCoefficients), half_a + device::fabs(half_a)), a);  // zeros keep the sign
}
NAUTILUS_DEVICE double times_normal_distribution(double a) { return a * 0.5 * (1.0 + device::erf(a * 0.70710678118654752440)); }

// The same to 0.2 units in the last place of a result of type half, or of 2^-24, in three fifths of the instructions: the tail is fitted to
// 10^-4 of itself, and less where half has no more digits. Of negative infinity it is zero, which the product above is not.
NAUTILUS_DEVICE float times_normal_distribution_short(float a) {
  constexpr float kCoefficients[] = {-0x1.5881fep-12f, 0x1.842a16p-8f, -0x1.8e8a18p-5f, -0x1.da7764p-2f, -0x1.2656e8p+0f};
  const float size = device::fmin(device::fabs(a), 40.0f);
  return device::fma(-size, normal_tail(size, kCoefficients), device::max_nan(-0.0f, a));
}

// As good and as long, for warps beside whose instructions tensor cores run: these lose a cycle to each multiplication and addition of floats
// that follows others in consecutive cycles, of which there are two less here, and none to exponentials. The logarithm of the tail is
// 2^-size - 2 and a polynomial without a constant term.
NAUTILUS_DEVICE float times_normal_distribution_beside(float a) {
  const float size = device::fmin(device::fabs(a), 40.0f);
  float logarithm = device::fma(-0x1.b3c12p-12f, size, -0x1.64b01p-1f);
  logarithm = device::fma(logarithm, size, -0x1.d5f842p-2f);
  logarithm = device::fma(logarithm, size, device::fast_exp2(-size));
  // A quarter of it, or 0 of what has no normal quarter, by the exponent.
  const float quarter = device::bit_cast<float>(max(device::bit_cast<int32>(size) - 0x01000000, 0));
  return device::fma(-quarter, device::fast_exp2(logarithm), device::max_nan(-0.0f, a));
}

// FORM: 0 for the exact function, 1 for the one by tanh, 2 for the exact one of a result that is rounded to 16 bits, 3 for the same beside
// tensor cores, which 2 is with kBeside too.
template <bool kBeside = false, class T>
NAUTILUS_DEVICE T gelu(T a, T form) {
  if (form == static_cast<T>(1)) {
    constexpr T kScale = static_cast<T>(0.79788456080286535588);  // sqrt(2 / pi)
    const T half_a = static_cast<T>(0.5) * a;
    return half_a * (static_cast<T>(1) + device::tanh(kScale * (a + static_cast<T>(0.044715) * a * a * a)));
  }
  if constexpr (device::detail::kIsSame<T, float>) {
    if (form == 3.0f || (kBeside && form == 2.0f)) return times_normal_distribution_beside(a);
    if (form == 2.0f) return times_normal_distribution_short(a);
  }
  return times_normal_distribution(a);
}

// Comparison and choice

template <class T>
NAUTILUS_DEVICE bool equal(T a, T b) {
  return a == b;
}
template <class T>
NAUTILUS_DEVICE bool greater(T a, T b) {
  return a > b;
}
template <class T>
NAUTILUS_DEVICE bool greater_or_equal(T a, T b) {
  return a >= b;
}
template <class T>
NAUTILUS_DEVICE bool less(T a, T b) {
  return a < b;
}
template <class T>
NAUTILUS_DEVICE bool less_or_equal(T a, T b) {
  return a <= b;
}
template <class T>
NAUTILUS_DEVICE T where(bool condition, T a, T b) {
  return condition ? a : b;
}

// Order

// Bits that order as values do: NaN is above everything, and zeros of either sign are equal.
template <class T>
NAUTILUS_DEVICE detail::Wrap<T> ordered_bits(T a) {
  using Bits = detail::Wrap<T>;
  constexpr Bits kTop = static_cast<Bits>(1) << (8 * sizeof(Bits) - 1);
  if constexpr (detail::kIsFloat<T>) {
    if (a != a) return static_cast<Bits>(~static_cast<Bits>(0));
    const Bits bits = device::bit_cast<Bits>(a == static_cast<T>(0) ? static_cast<T>(0) : a);
    return (bits & kTop) != 0 ? static_cast<Bits>(~bits) : bits | kTop;
  } else if constexpr (detail::kIsSigned<T>) {
    return static_cast<Bits>(a) ^ kTop;
  } else {
    return static_cast<Bits>(a);
  }
}

// A value of up to 32 bits and its place in one number: the greatest belongs to the first, or last, of the greatest, or least, values,
// and to a NaN where there is one.
template <class T>
NAUTILUS_DEVICE uint64 arg_key(T a, uint32 index, T is_min, T selects_last) {
  static_assert(sizeof(T) <= 4, "half a key is for the place");
  const uint32 bits = ordered_bits(a);
  const uint32 rank = is_min != static_cast<T>(0) && a == a ? ~bits : bits;
  return static_cast<uint64>(rank) << 32 | (selects_last != static_cast<T>(0) ? index : ~index);
}

// The place in a key of `arg_key`.
NAUTILUS_DEVICE int64 arg_index(uint64 key, uint64 selects_last) {
  const uint32 low = static_cast<uint32>(key);
  return static_cast<int64>(selects_last != 0 ? low : ~low);
}

// Logic

NAUTILUS_DEVICE bool logical_not(bool a) { return !a; }
NAUTILUS_DEVICE bool logical_and(bool a, bool b) { return a && b; }
NAUTILUS_DEVICE bool logical_or(bool a, bool b) { return a || b; }
NAUTILUS_DEVICE bool logical_xor(bool a, bool b) { return a != b; }

template <class T>
NAUTILUS_DEVICE T bitwise_not(T a) {
  return static_cast<T>(~a);
}
template <class T>
NAUTILUS_DEVICE T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
NAUTILUS_DEVICE T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
NAUTILUS_DEVICE T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}

// A negative count, or one past the width, leaves what the sign alone gives: -1 for a negative number shifted right, else 0.
template <class T>
NAUTILUS_DEVICE T bit_shift(T a, T count, T is_left) {
  const bool is_outside = count < static_cast<T>(0) || static_cast<uint64>(count) >= static_cast<uint64>(detail::kBits<T>);
  if (is_left != static_cast<T>(0)) return is_outside ? static_cast<T>(0) : static_cast<T>(static_cast<detail::Wrap<T>>(a) << count);
  if (is_outside) return a < static_cast<T>(0) ? static_cast<T>(-1) : static_cast<T>(0);
  return static_cast<T>(a >> count);
}

// The bits of MASK in a byte of several values, of which the one wanted begins at bit SHIFT.
template <class T>
NAUTILUS_DEVICE T unpack_bits(T packed, T shift, T mask) {
  return static_cast<T>(static_cast<detail::Wrap<T>>(packed) >> shift & mask);
}

// The number of a code from 0 to 15, out of sixteen: four choices, by halves.
template <class T>
NAUTILUS_DEVICE T look_up(T code, T n0, T n1, T n2, T n3, T n4, T n5, T n6, T n7, T n8, T n9, T n10, T n11, T n12, T n13, T n14, T n15) {
  const int place = static_cast<int>(min(max(code, static_cast<T>(0)), static_cast<T>(15)));
  const bool is_odd = (place & 1) != 0;
  const bool is_second = (place & 2) != 0;
  const T first = is_second ? (is_odd ? n3 : n2) : (is_odd ? n1 : n0);
  const T second = is_second ? (is_odd ? n7 : n6) : (is_odd ? n5 : n4);
  const T third = is_second ? (is_odd ? n11 : n10) : (is_odd ? n9 : n8);
  const T fourth = is_second ? (is_odd ? n15 : n14) : (is_odd ? n13 : n12);
  const bool is_upper = (place & 4) != 0;
  return (place & 8) != 0 ? (is_upper ? fourth : third) : (is_upper ? second : first);
}

// Conversion: cast_<source>_<target> takes the compute type of the source and gives that of the target, rounded as its storage is.

namespace detail {

template <class Target, class Value>
NAUTILUS_DEVICE typename ComputeOf<Target>::Type cast(Value value) {
  if constexpr (device::detail::kIsSame<Target, half> && device::detail::kIsSame<Value, double>) {
    return device::to_float(device::to_half(to_odd(value)));
  } else if constexpr (device::detail::kIsNarrowFloat<Target> && device::detail::kIsSame<Value, double>) {
    return Target::from(to_odd(value), false).value();
  } else {
    return to_compute(device::convert<Target>(value));
  }
}

// What is too large for the target becomes its highest number.
template <class Target, class Value>
NAUTILUS_DEVICE float saturating_cast(Value value) {
  if constexpr (device::detail::kIsSame<Value, double>) return Target::from(to_odd(value), true).value();
  else return Target::from(static_cast<float>(value), true).value();
}

// To a power of two, through float.
template <device::PowerRounding kRounding, class Value>
NAUTILUS_DEVICE float power_cast(Value value, bool is_saturating) {
  return float8_e8m0::from(static_cast<float>(value), is_saturating, kRounding).value();
}

}  // namespace detail

// Templates, so that only the casts which a kernel names are instantiated: all of them took half of a small cubin.
#define NAUTILUS_MATH_SOURCES(m) \
  m(f32, float) m(f64, double) m(i8, int8) m(i16, int16) m(i32, int32) m(i64, int64) \
  m(u8, uint8) m(u16, uint16) m(u32, uint32) m(u64, uint64) m(bool, bool)

#define NAUTILUS_MATH_CAST(source, Source, target, Target)                                                       \
  template <class Value>                                                                                        \
  NAUTILUS_DEVICE typename ComputeOf<Target>::Type cast_##source##_##target(Value value) {                       \
    static_assert(device::detail::kIsSame<Value, typename ComputeOf<Source>::Type>, "the source's compute type"); \
    return detail::cast<Target>(value);                                                                         \
  }
#define NAUTILUS_MATH_CASTS(source, Source)                     \
  NAUTILUS_MATH_CAST(source, Source, f16, half)                 \
  NAUTILUS_MATH_CAST(source, Source, bf16, bfloat16)             \
  NAUTILUS_MATH_CAST(source, Source, f32, float)                \
  NAUTILUS_MATH_CAST(source, Source, f64, double)               \
  NAUTILUS_MATH_CAST(source, Source, i8, int8)                  \
  NAUTILUS_MATH_CAST(source, Source, i16, int16)                \
  NAUTILUS_MATH_CAST(source, Source, i32, int32)                \
  NAUTILUS_MATH_CAST(source, Source, i64, int64)                \
  NAUTILUS_MATH_CAST(source, Source, u8, uint8)                 \
  NAUTILUS_MATH_CAST(source, Source, u16, uint16)               \
  NAUTILUS_MATH_CAST(source, Source, u32, uint32)               \
  NAUTILUS_MATH_CAST(source, Source, u64, uint64)               \
  NAUTILUS_MATH_CAST(source, Source, bool, bool)                \
  NAUTILUS_MATH_CAST(source, Source, f8e4m3fn, float8_e4m3fn)     \
  NAUTILUS_MATH_CAST(source, Source, f8e4m3fnuz, float8_e4m3fnuz) \
  NAUTILUS_MATH_CAST(source, Source, f8e5m2, float8_e5m2)         \
  NAUTILUS_MATH_CAST(source, Source, f8e5m2fnuz, float8_e5m2fnuz) \
  NAUTILUS_MATH_CAST(source, Source, f8e8m0, float8_e8m0)         \
  NAUTILUS_MATH_CAST(source, Source, f4e2m1, float4_e2m1)         \
  NAUTILUS_MATH_CAST(source, Source, i4, signed4)                \
  NAUTILUS_MATH_CAST(source, Source, u4, unsigned4)              \
  NAUTILUS_MATH_CAST(source, Source, i2, signed2)                \
  NAUTILUS_MATH_CAST(source, Source, u2, unsigned2)

NAUTILUS_MATH_CASTS(f16, half)
NAUTILUS_MATH_CASTS(bf16, bfloat16)
NAUTILUS_MATH_SOURCES(NAUTILUS_MATH_CASTS)

#undef NAUTILUS_MATH_CASTS
#undef NAUTILUS_MATH_CAST

// saturating_cast_<source>_<target>, to 8-bit floats.
#define NAUTILUS_MATH_SATURATING_CAST(source, Source, target, Target)     \
  template <class Value>                                                 \
  NAUTILUS_DEVICE float saturating_cast_##source##_##target(Value value) { \
    static_assert(device::detail::kIsSame<Value, Source>, "the source's compute type"); \
    return detail::saturating_cast<Target>(value);                       \
  }
#define NAUTILUS_MATH_SATURATING_CASTS(source, Source)                      \
  NAUTILUS_MATH_SATURATING_CAST(source, Source, f8e4m3fn, float8_e4m3fn)     \
  NAUTILUS_MATH_SATURATING_CAST(source, Source, f8e4m3fnuz, float8_e4m3fnuz) \
  NAUTILUS_MATH_SATURATING_CAST(source, Source, f8e5m2, float8_e5m2)         \
  NAUTILUS_MATH_SATURATING_CAST(source, Source, f8e5m2fnuz, float8_e5m2fnuz)

NAUTILUS_MATH_SOURCES(NAUTILUS_MATH_SATURATING_CASTS)

#undef NAUTILUS_MATH_SATURATING_CASTS
#undef NAUTILUS_MATH_SATURATING_CAST

// up_cast_<source>_f8e8m0 and so on: how a number between two powers of two is rounded.
#define NAUTILUS_MATH_POWER_CAST(name, kRounding, is_saturating, source, Source) \
  template <class Value>                                                       \
  NAUTILUS_DEVICE float name##_cast_##source##_f8e8m0(Value value) {             \
    static_assert(device::detail::kIsSame<Value, Source>, "the source's compute type"); \
    return detail::power_cast<device::PowerRounding::kRounding>(value, is_saturating); \
  }
#define NAUTILUS_MATH_POWER_CASTS(source, Source)                          \
  NAUTILUS_MATH_POWER_CAST(up, kUp, false, source, Source)                 \
  NAUTILUS_MATH_POWER_CAST(down, kDown, false, source, Source)             \
  NAUTILUS_MATH_POWER_CAST(nearest, kNearest, false, source, Source)       \
  NAUTILUS_MATH_POWER_CAST(saturating_up, kUp, true, source, Source)       \
  NAUTILUS_MATH_POWER_CAST(saturating_down, kDown, true, source, Source)   \
  NAUTILUS_MATH_POWER_CAST(saturating_nearest, kNearest, true, source, Source)

NAUTILUS_MATH_SOURCES(NAUTILUS_MATH_POWER_CASTS)

#undef NAUTILUS_MATH_POWER_CASTS
#undef NAUTILUS_MATH_POWER_CAST
#undef NAUTILUS_MATH_SOURCES

// The bits of a storage type, and the number that has them. Templates, so that only those which a kernel names are instantiated.
#define NAUTILUS_MATH_BITS(name, Storage, Bits)                                                 \
  template <class Value>                                                                       \
  NAUTILUS_DEVICE Bits bits_of_##name(Value value) {                                            \
    return device::bit_cast<Bits>(to_storage<Storage>(value));                                  \
  }                                                                                            \
  template <class Value>                                                                       \
  NAUTILUS_DEVICE typename ComputeOf<Storage>::Type from_bits_##name(Value bits) {               \
    static_assert(device::detail::kIsSame<Value, Bits>, "the unsigned integer of the same width"); \
    return to_compute(device::bit_cast<Storage>(bits));                                         \
  }

NAUTILUS_MATH_BITS(f16, half, uint16)
NAUTILUS_MATH_BITS(bf16, bfloat16, uint16)
NAUTILUS_MATH_BITS(f32, float, uint32)
NAUTILUS_MATH_BITS(f64, double, uint64)
NAUTILUS_MATH_BITS(f8e4m3fn, float8_e4m3fn, uint8)
NAUTILUS_MATH_BITS(f8e4m3fnuz, float8_e4m3fnuz, uint8)
NAUTILUS_MATH_BITS(f8e5m2, float8_e5m2, uint8)
NAUTILUS_MATH_BITS(f8e5m2fnuz, float8_e5m2fnuz, uint8)
NAUTILUS_MATH_BITS(f8e8m0, float8_e8m0, uint8)
NAUTILUS_MATH_BITS(f4e2m1, float4_e2m1, uint8)

#undef NAUTILUS_MATH_BITS

}  // namespace math
}  // namespace nautilus
