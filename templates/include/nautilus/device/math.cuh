// Mathematics that needs a name of its own: functions of a header that device code does not have, and single instructions.
// float functions are accurate to a few units in the last place on both machines, but not equal bit for bit; fma, sqrt, the roundings
// and everything on integers are.
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/types.cuh>

namespace nautilus::device {

#ifdef NAUTILUS_EMULATED
#define NAUTILUS_LIBM(name) __builtin_##name
#else
#define NAUTILUS_LIBM(name) ::name
#endif

#define NAUTILUS_DEFINE_UNARY(name)                                           \
    NAUTILUS_DEVICE float name(float x) { return NAUTILUS_LIBM(name##f)(x); } \
    NAUTILUS_DEVICE double name(double x) { return NAUTILUS_LIBM(name)(x); }
#define NAUTILUS_DEFINE_BINARY(name)                                                      \
    NAUTILUS_DEVICE float name(float x, float y) { return NAUTILUS_LIBM(name##f)(x, y); } \
    NAUTILUS_DEVICE double name(double x, double y) { return NAUTILUS_LIBM(name)(x, y); }

NAUTILUS_DEFINE_UNARY(acos)
NAUTILUS_DEFINE_UNARY(acosh)
NAUTILUS_DEFINE_UNARY(asin)
NAUTILUS_DEFINE_UNARY(asinh)
NAUTILUS_DEFINE_UNARY(atan)
NAUTILUS_DEFINE_UNARY(atanh)
NAUTILUS_DEFINE_UNARY(cbrt)
NAUTILUS_DEFINE_UNARY(ceil)
NAUTILUS_DEFINE_UNARY(cos)
NAUTILUS_DEFINE_UNARY(cosh)
NAUTILUS_DEFINE_UNARY(erf)
NAUTILUS_DEFINE_UNARY(erfc)
NAUTILUS_DEFINE_UNARY(exp)
NAUTILUS_DEFINE_UNARY(exp2)
NAUTILUS_DEFINE_UNARY(expm1)
NAUTILUS_DEFINE_UNARY(fabs)
NAUTILUS_DEFINE_UNARY(floor)
NAUTILUS_DEFINE_UNARY(log)
NAUTILUS_DEFINE_UNARY(log10)
NAUTILUS_DEFINE_UNARY(log1p)
NAUTILUS_DEFINE_UNARY(log2)
NAUTILUS_DEFINE_UNARY(rint)   // half to even
NAUTILUS_DEFINE_UNARY(round)  // half away from zero
NAUTILUS_DEFINE_UNARY(sin)
NAUTILUS_DEFINE_UNARY(sinh)
NAUTILUS_DEFINE_UNARY(sqrt)
NAUTILUS_DEFINE_UNARY(tan)
NAUTILUS_DEFINE_UNARY(tanh)
NAUTILUS_DEFINE_UNARY(trunc)
NAUTILUS_DEFINE_BINARY(atan2)
NAUTILUS_DEFINE_BINARY(copysign)
NAUTILUS_DEFINE_BINARY(fmod)
NAUTILUS_DEFINE_BINARY(pow)

#undef NAUTILUS_DEFINE_UNARY
#undef NAUTILUS_DEFINE_BINARY

// a * b + c with one rounding. Kernel text is compiled without contraction, so products are fused where this is written and nowhere else.
NAUTILUS_DEVICE float fma(float a, float b, float c) { return NAUTILUS_LIBM(fmaf)(a, b, c); }
NAUTILUS_DEVICE double fma(double a, double b, double c) { return NAUTILUS_LIBM(fma)(a, b, c); }

#undef NAUTILUS_LIBM

NAUTILUS_DEVICE bool is_nan(float x) { return x != x; }
NAUTILUS_DEVICE bool is_nan(double x) { return x != x; }
NAUTILUS_DEVICE bool is_infinite(float x) { return (bit_cast<uint32>(x) & 0x7FFFFFFFu) == 0x7F800000u; }
NAUTILUS_DEVICE bool is_infinite(double x) { return (bit_cast<uint64>(x) & ~(1ull << 63)) == 0x7FFull << 52; }

NAUTILUS_DEVICE float infinity() { return bit_cast<float>(0x7F800000u); }
NAUTILUS_DEVICE float quiet_nan() { return bit_cast<float>(0x7FFFFFFFu); }

#ifdef NAUTILUS_EMULATED

// The larger operand; the other one where one is NaN (IEEE maximumNumber).
NAUTILUS_DEVICE float fmax(float a, float b) { return a > b || b != b ? a : b; }
NAUTILUS_DEVICE float fmin(float a, float b) { return a < b || b != b ? a : b; }
NAUTILUS_DEVICE double fmax(double a, double b) { return a > b || b != b ? a : b; }
NAUTILUS_DEVICE double fmin(double a, double b) { return a < b || b != b ? a : b; }

// The larger operand; NaN where one is NaN (IEEE maximum; ONNX Max, Relu, MaxPool).
NAUTILUS_DEVICE float max_nan(float a, float b) { return a > b || a != a ? a : b; }
NAUTILUS_DEVICE float min_nan(float a, float b) { return a < b || a != a ? a : b; }

NAUTILUS_DEVICE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
NAUTILUS_DEVICE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

// Approximations of a few instructions (relative error about 2^-21); on the emulator exact.
NAUTILUS_DEVICE float fast_exp(float x) { return __builtin_expf(x); }
NAUTILUS_DEVICE float fast_exp2(float x) { return __builtin_exp2f(x); }
NAUTILUS_DEVICE float fast_log(float x) { return __builtin_logf(x); }
NAUTILUS_DEVICE float fast_divide(float a, float b) { return a / b; }
NAUTILUS_DEVICE float fast_reciprocal(float x) { return 1.0f / x; }
// Relative error about 2^-11.
NAUTILUS_DEVICE float fast_tanh(float x) { return __builtin_tanhf(x); }

// The upper 32 bits of the 64-bit product.
NAUTILUS_DEVICE uint32 multiply_high(uint32 a, uint32 b) { return static_cast<uint32>(static_cast<uint64>(a) * b >> 32); }
NAUTILUS_DEVICE uint64 multiply_high(uint64 a, uint64 b) { return static_cast<uint64>(static_cast<unsigned __int128>(a) * b >> 64); }
NAUTILUS_DEVICE int popcount(uint32 x) { return __builtin_popcount(x); }
NAUTILUS_DEVICE int count_leading_zeros(uint32 x) { return x == 0 ? 32 : __builtin_clz(x); }

#else

NAUTILUS_DEVICE float fmax(float a, float b) { return ::fmaxf(a, b); }
NAUTILUS_DEVICE float fmin(float a, float b) { return ::fminf(a, b); }
NAUTILUS_DEVICE double fmax(double a, double b) { return ::fmax(a, b); }
NAUTILUS_DEVICE double fmin(double a, double b) { return ::fmin(a, b); }

NAUTILUS_DEVICE float max_nan(float a, float b) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
NAUTILUS_DEVICE float min_nan(float a, float b) {
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

NAUTILUS_DEVICE float rsqrt(float x) { return ::rsqrtf(x); }
NAUTILUS_DEVICE double rsqrt(double x) { return ::rsqrt(x); }

NAUTILUS_DEVICE float fast_exp(float x) { return ::__expf(x); }
NAUTILUS_DEVICE float fast_exp2(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));  // without denormals: three instructions less
    return result;
}
NAUTILUS_DEVICE float fast_log(float x) { return ::__logf(x); }
NAUTILUS_DEVICE float fast_divide(float a, float b) { return ::__fdividef(a, b); }
NAUTILUS_DEVICE float fast_reciprocal(float x) {
    float result;
    asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
NAUTILUS_DEVICE float fast_tanh(float x) {
    float result;
    asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

NAUTILUS_DEVICE uint32 multiply_high(uint32 a, uint32 b) { return ::__umulhi(a, b); }
NAUTILUS_DEVICE uint64 multiply_high(uint64 a, uint64 b) { return ::__umul64hi(a, b); }
NAUTILUS_DEVICE int popcount(uint32 x) { return ::__popc(x); }
NAUTILUS_DEVICE int count_leading_zeros(uint32 x) { return ::__clz(static_cast<int>(x)); }

#endif

}  // namespace nautilus::device
