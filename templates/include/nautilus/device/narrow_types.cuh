// Storage types of less than 16 bits: floating point of 8 and 4 bits, integers of 4 and 2. Each stands in a byte of its own, in the low
// bits; nothing computes in them. The same arithmetic on both machines, by integers, so that every code is equal bit for bit.
//
// Source: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2); OCP Microscaling Formats 1.0 (E2M1, E8M0); ONNX 28, Cast-28, tables of
// conversions (E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ: what overflows, saturated or not).
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus::device {

// What the highest codes of a format mean.
enum class Specials {
    kNone,         // every code is a number; what is too large saturates, and NaN becomes a zero
    kOneNan,       // the highest code of either sign is NaN; there is no infinity
    kNanIsMinusZero,  // the code of a negative zero is NaN, and zero has no sign
    kInfinity,     // the highest exponent holds infinity and NaNs, as in IEEE 754
};

// A number of one sign bit, kExponentBits and kMantissaBits; its exponent is biased by kBias.
template <int kExponentBits, int kMantissaBits, int kBias, Specials kSpecials>
struct NarrowFloat {
    uint8 bits;

    static constexpr int kSignBit = kExponentBits + kMantissaBits;
    static constexpr uint32 kSign = 1u << kSignBit;
    static constexpr uint32 kInfinity = ((1u << kExponentBits) - 1) << kMantissaBits;  // where there is one
    static constexpr uint32 kHighest = kSpecials == Specials::kInfinity ? kInfinity - 1 : kSign - (kSpecials == Specials::kOneNan ? 2 : 1);

    NAUTILUS_DEVICE float value() const {
        const uint32 code = bits & (kSign - 1);
        const uint32 sign = static_cast<uint32>(bits >> kSignBit & 1) << 31;
        constexpr uint32 kNan = 0x7FC00000;
        if constexpr (kSpecials == Specials::kNanIsMinusZero) {
            if (bits == kSign) return bit_cast<float>(kNan);
        } else if constexpr (kSpecials == Specials::kOneNan) {
            if (code > kHighest) return bit_cast<float>(kNan | sign);
        } else if constexpr (kSpecials == Specials::kInfinity) {
            if (code == kInfinity) return bit_cast<float>(0x7F800000u | sign);
            if (code > kInfinity) return bit_cast<float>(kNan | sign);
        }
        const uint32 exponent = code >> kMantissaBits;
        const uint32 mantissa = code & ((1u << kMantissaBits) - 1);
        if (exponent == 0) {
            constexpr float kStep = __builtin_bit_cast(float, static_cast<uint32>(128 - kBias - kMantissaBits) << 23);  // of the lowest numbers
            return bit_cast<float>(bit_cast<uint32>(static_cast<float>(mantissa) * kStep) | sign);
        }
        return bit_cast<float>((exponent + 127 - kBias) << 23 | mantissa << (23 - kMantissaBits) | sign);
    }

    // To nearest, ties to even. Beyond the highest number: that number where IS_SATURATING, else infinity or NaN, whichever there is.
    NAUTILUS_DEVICE static NarrowFloat from(float number, bool is_saturating) {
        const uint32 source = bit_cast<uint32>(number);
        const uint32 size = source & 0x7FFFFFFFu;
        const uint32 sign = source >> 31 << kSignBit;
        constexpr uint32 kNan = kSpecials == Specials::kInfinity ? kInfinity | 1u << (kMantissaBits - 1) : kSign - 1;
        if (size > 0x7F800000u) {
            if constexpr (kSpecials == Specials::kNone) return {static_cast<uint8>(sign ^ kSign)};  // as in ml_dtypes
            if constexpr (kSpecials == Specials::kNanIsMinusZero) return {static_cast<uint8>(kSign)};
            return {static_cast<uint8>(kNan | sign)};
        }
        const int exponent = static_cast<int>(size >> 23) - 127;
        const int field = exponent + kBias > 0 ? exponent + kBias : 1;  // of a number below the normal range: that of the lowest normal one
        const int shift = 23 - kMantissaBits + (field - kBias - exponent);
        uint32 code = 0;
        if (shift <= 24) {  // else below half of the smallest number
            const uint32 significand = (size & 0x7FFFFFu) | 0x800000u;
            const uint32 rounded = (significand + ((1u << (shift - 1)) - 1) + (significand >> shift & 1)) >> shift;
            code = (static_cast<uint32>(field - 1) << kMantissaBits) + rounded;
        }
        if (code > kHighest) {
            if (kSpecials == Specials::kNone || is_saturating) code = kHighest;
            else if constexpr (kSpecials == Specials::kNanIsMinusZero) return {static_cast<uint8>(kSign)};
            else code = kSpecials == Specials::kInfinity ? kInfinity : kNan;
        }
        if (kSpecials == Specials::kNanIsMinusZero && code == 0) return {0};
        return {static_cast<uint8>(code | sign)};
    }
};

using float8_e4m3fn = NarrowFloat<4, 3, 7, Specials::kOneNan>;
using float8_e4m3fnuz = NarrowFloat<4, 3, 8, Specials::kNanIsMinusZero>;
using float8_e5m2 = NarrowFloat<5, 2, 15, Specials::kInfinity>;
using float8_e5m2fnuz = NarrowFloat<5, 2, 16, Specials::kNanIsMinusZero>;
using float4_e2m1 = NarrowFloat<2, 1, 1, Specials::kNone>;

// To which neighbour a number between two powers of two goes.
enum class PowerRounding { kUp, kDown, kNearest };  // nearest: ties up

// A power of two from 2^-127 to 2^127, or NaN; no sign, no zero.
struct float8_e8m0 {
    uint8 bits;

    static constexpr uint32 kNan = 0xFF;

    NAUTILUS_DEVICE float value() const {
        if (bits == kNan) return bit_cast<float>(0x7FC00000u);
        return bit_cast<float>(bits == 0 ? 0x00400000u : static_cast<uint32>(bits) << 23);
    }

    // The sign is dropped. Outside the range, and for infinity: the nearest end where IS_SATURATING, else NaN.
    NAUTILUS_DEVICE static float8_e8m0 from(float number, bool is_saturating, PowerRounding rounding) {
        const uint32 size = bit_cast<uint32>(number) & 0x7FFFFFFFu;
        if (size > 0x7F800000u) return {static_cast<uint8>(kNan)};
        if (size < 0x00400000u) return {static_cast<uint8>(is_saturating ? 0 : kNan)};
        if (size < 0x00800000u) {  // 2^-127 stands below float's normal range: its next bit is that of a half
            const uint32 rest = size & 0x003FFFFFu;
            return {static_cast<uint8>(rest != 0 && (rounding == PowerRounding::kUp || (rounding == PowerRounding::kNearest && rest >= 0x00200000u)))};
        }
        const uint32 rest = size & 0x007FFFFFu;
        const bool goes_up = rest != 0 && (rounding == PowerRounding::kUp || (rounding == PowerRounding::kNearest && rest >= 0x00400000u));
        const uint32 code = (size >> 23) + (goes_up ? 1 : 0);
        return {static_cast<uint8>(code < kNan ? code : is_saturating ? kNan - 1 : kNan)};
    }
};

// An integer of kBits in two's complement where signed; bits above are zero.
template <int kBits, typename ValueType>
struct NarrowInteger {
    uint8 bits;

    using Value = ValueType;  // int8 or uint8

    NAUTILUS_DEVICE Value value() const {
        const uint32 code = bits & ((1u << kBits) - 1);
        constexpr bool kIsSigned = static_cast<Value>(-1) < static_cast<Value>(0);
        constexpr uint32 kTop = kIsSigned ? 1u << (kBits - 1) : 0u;
        return static_cast<Value>(static_cast<int32>(code ^ kTop) - static_cast<int32>(kTop));
    }

    // Higher bits are dropped.
    NAUTILUS_DEVICE static NarrowInteger from(int32 number) { return {static_cast<uint8>(static_cast<uint32>(number) & ((1u << kBits) - 1))}; }
};

// Not int4 and so on: those are vectors of CUDA.
using signed4 = NarrowInteger<4, int8>;
using unsigned4 = NarrowInteger<4, uint8>;
using signed2 = NarrowInteger<2, int8>;
using unsigned2 = NarrowInteger<2, uint8>;

namespace detail {

template <typename T>
inline constexpr bool kIsNarrowFloat = false;
template <int kExponentBits, int kMantissaBits, int kBias, Specials kSpecials>
inline constexpr bool kIsNarrowFloat<NarrowFloat<kExponentBits, kMantissaBits, kBias, kSpecials>> = true;

template <typename T>
inline constexpr bool kIsNarrowInteger = false;
template <int kBits, typename Value>
inline constexpr bool kIsNarrowInteger<NarrowInteger<kBits, Value>> = true;

}  // namespace detail

}  // namespace nautilus::device
