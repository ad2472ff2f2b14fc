// A tensor map as the emulated driver encodes it into the 128 bytes that kernels are given.
#pragma once

#include <cstdint>

namespace nautilus::emulated {

constexpr int kMostTensorRank = 5;

// Of elements in a tensor map; the numbers are CUtensorMapDataType's.
enum class TensorElement : std::uint8_t {
    kUint8,
    kUint16,
    kUint32,
    kInt32,
    kUint64,
    kInt64,
    kFloat16,
    kFloat32,
    kFloat64,
    kBfloat16,
    kFloat32Ftz,
    kTfloat32,
    kTfloat32Ftz,
};

constexpr unsigned bytes_of(TensorElement type) {
    switch (type) {
        case TensorElement::kUint8:
            return 1;
        case TensorElement::kUint16:
        case TensorElement::kFloat16:
        case TensorElement::kBfloat16:
            return 2;
        case TensorElement::kUint64:
        case TensorElement::kInt64:
        case TensorElement::kFloat64:
            return 8;
        default:
            return 4;
    }
}

// Everything that a copy needs; innermost dimension first.
struct EncodedTensorMap {
    static constexpr std::uint32_t kMagic = 0x6D74754E;

    std::uint32_t magic;
    TensorElement type;
    std::uint8_t rank;
    std::uint8_t swizzle;  // CUtensorMapSwizzle: 16-byte chunks within 32, 64 or 128 bytes for 1, 2 and 3
    std::uint8_t reserved;
    std::uint64_t address;
    std::uint64_t strides[kMostTensorRank - 1];  // bytes
    std::uint32_t last[kMostTensorRank];         // highest index
    std::uint16_t box[kMostTensorRank];          // elements
    std::uint8_t steps[kMostTensorRank];         // between elements of the box
};
static_assert(sizeof(EncodedTensorMap) <= 128, "a tensor map has 128 bytes");

// Where a byte of a box that is stored from a swizzled place on lies; the mode is a map's. Source: PTX ISA, "Swizzling modes".
constexpr unsigned swizzled(unsigned address, unsigned mode) {
    const unsigned mask = mode == 3 ? 7 : mode == 2 ? 3 : mode;
    return address ^ ((address >> 7 & mask) << 4);
}

}  // namespace nautilus::emulated
