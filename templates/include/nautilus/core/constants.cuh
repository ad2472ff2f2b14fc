// Scalars from their bits, so that a constant is the same number in every compiler.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus {

NAUTILUS_DEVICE constexpr float constant_f32(unsigned int bits) { return __builtin_bit_cast(float, bits); }
NAUTILUS_DEVICE constexpr double constant_f64(unsigned long long bits) { return __builtin_bit_cast(double, bits); }
NAUTILUS_DEVICE constexpr signed char constant_i8(unsigned int bits) { return static_cast<signed char>(bits); }
NAUTILUS_DEVICE constexpr short constant_i16(unsigned int bits) { return static_cast<short>(bits); }
NAUTILUS_DEVICE constexpr int constant_i32(unsigned int bits) { return static_cast<int>(bits); }
NAUTILUS_DEVICE constexpr long long constant_i64(unsigned long long bits) { return static_cast<long long>(bits); }
NAUTILUS_DEVICE constexpr unsigned char constant_u8(unsigned int bits) { return static_cast<unsigned char>(bits); }
NAUTILUS_DEVICE constexpr unsigned short constant_u16(unsigned int bits) { return static_cast<unsigned short>(bits); }
NAUTILUS_DEVICE constexpr unsigned int constant_u32(unsigned int bits) { return bits; }
NAUTILUS_DEVICE constexpr unsigned long long constant_u64(unsigned long long bits) { return bits; }
NAUTILUS_DEVICE constexpr bool constant_bool(unsigned int bits) { return bits != 0; }

}  // namespace nautilus
