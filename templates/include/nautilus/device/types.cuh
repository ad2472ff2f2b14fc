// Storage types narrower than float, vectors of elements, and conversions. Arithmetic on half and bfloat16 is done in float.
#pragma once

#include <nautilus/device/narrow_types.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus::device {

// IEEE binary16.
struct alignas(2) half {
    uint16 bits;
};

// The upper half of a binary32.
struct alignas(2) bfloat16 {
    uint16 bits;
};

// kCount elements that are loaded and stored as one access; aligned to its size.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
    static_assert(kCount > 0 && (kCount & (kCount - 1)) == 0, "a vector has a power of two of elements");
    using Element = T;
    static constexpr int kElements = kCount;

    T values[kCount];

    NAUTILUS_DEVICE T &operator[](int i) { return values[i]; }
    NAUTILUS_DEVICE const T &operator[](int i) const { return values[i]; }
};

NAUTILUS_DEVICE float to_float(float value) { return value; }
NAUTILUS_DEVICE float to_float(bfloat16 value) { return bit_cast<float>(static_cast<uint32>(value.bits) << 16); }

#ifdef NAUTILUS_EMULATED

NAUTILUS_DEVICE float to_float(half value) { return static_cast<float>(bit_cast<_Float16>(value.bits)); }

// Every NaN becomes the one that the GPU's conversion yields.
NAUTILUS_DEVICE half to_half(float value) {
    if (value != value) return {0x7FFF};
    return {bit_cast<uint16>(static_cast<_Float16>(value))};
}

// Rounds to nearest even: the carry of the rounding constant may run into the exponent, which is then right, up to infinity.
NAUTILUS_DEVICE bfloat16 to_bfloat16(float value) {
    if (value != value) return {0x7FFF};
    const uint32 bits = bit_cast<uint32>(value);
    return {static_cast<uint16>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}

// Two values in one 32-bit word, LOW in the lower half.
NAUTILUS_DEVICE uint32 pack_half(float low, float high) { return to_half(low).bits | static_cast<uint32>(to_half(high).bits) << 16; }
NAUTILUS_DEVICE uint32 pack_bfloat16(float low, float high) {
    return to_bfloat16(low).bits | static_cast<uint32>(to_bfloat16(high).bits) << 16;
}

#else

NAUTILUS_DEVICE float to_float(half value) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
}

NAUTILUS_DEVICE half to_half(float value) {
    half result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
}

NAUTILUS_DEVICE bfloat16 to_bfloat16(float value) {
    bfloat16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
}

NAUTILUS_DEVICE uint32 pack_half(float low, float high) {
    uint32 result;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

NAUTILUS_DEVICE uint32 pack_bfloat16(float low, float high) {
    uint32 result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

#endif

namespace detail {

template <typename A, typename B>
inline constexpr bool kIsSame = false;
template <typename A>
inline constexpr bool kIsSame<A, A> = true;

template <typename T>
inline constexpr bool kIsStorageFloat = kIsSame<T, half> || kIsSame<T, bfloat16>;

template <typename T>
inline constexpr bool kIsFloat = kIsSame<T, float> || kIsSame<T, double>;

// Towards zero, saturating, and for NaN what the GPU's instruction yields: zero in 32 bits, the lowest value in 64.
template <typename Integer, typename Float>
NAUTILUS_DEVICE Integer truncate(Float value) {
#ifdef NAUTILUS_EMULATED
    constexpr bool kIsSigned = static_cast<Integer>(-1) < static_cast<Integer>(0);
    constexpr int kBits = sizeof(Integer) * 8 - (kIsSigned ? 1 : 0);
    constexpr Integer kHighest = static_cast<Integer>(~0ull >> (64 - kBits));
    constexpr Integer kLowest = static_cast<Integer>(kIsSigned ? ~kHighest : 0);
    constexpr Float kEnd = static_cast<Float>(1ull << (kBits - 1)) * 2;
    if (value != value) return sizeof(Integer) == 8 ? static_cast<Integer>(1ull << 63) : 0;
    if (value >= kEnd) return kHighest;
    if (value <= (kIsSigned ? -kEnd : static_cast<Float>(0))) return kLowest;
#endif
    return static_cast<Integer>(value);
}

}  // namespace detail

// Converts between any two element types. To floats of 8 and 4 bits: to nearest, without saturation where the format has infinity or NaN.
// From floats to integers: towards zero; out of range, signed and 64-bit types saturate and
// narrower ones keep the low bits of the 32-bit (uint32: 64-bit) result.
template <typename To, typename From>
NAUTILUS_DEVICE To convert(From value) {
    using namespace detail;
    if constexpr (kIsSame<To, From>) {
        return value;
    } else if constexpr (kIsStorageFloat<From>) {
        return convert<To>(to_float(value));
    } else if constexpr (kIsNarrowFloat<From> || kIsSame<From, float8_e8m0> || kIsNarrowInteger<From>) {
        return convert<To>(value.value());
    } else if constexpr (kIsNarrowFloat<To>) {
        return To::from(static_cast<float>(value), false);
    } else if constexpr (kIsSame<To, float8_e8m0>) {
        return To::from(static_cast<float>(value), false, PowerRounding::kNearest);
    } else if constexpr (kIsNarrowInteger<To>) {
        if constexpr (kIsFloat<From>) return To::from(truncate<int32>(value));
        else return To::from(static_cast<int32>(value));
    } else if constexpr (kIsSame<To, half>) {
        return to_half(static_cast<float>(value));
    } else if constexpr (kIsSame<To, bfloat16>) {
        return to_bfloat16(static_cast<float>(value));
    } else if constexpr (kIsSame<To, bool>) {
        return value != static_cast<From>(0);
    } else if constexpr (kIsFloat<To> || !kIsFloat<From>) {
        return static_cast<To>(value);
    } else if constexpr (sizeof(To) == 8) {
        return truncate<To>(value);
    } else if constexpr (kIsSame<To, uint32>) {
        return static_cast<To>(truncate<int64>(value));
    } else {
        return static_cast<To>(truncate<int32>(value));
    }
}

}  // namespace nautilus::device
