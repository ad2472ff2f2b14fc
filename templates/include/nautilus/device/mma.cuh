// Products of small matrices by the tensor cores of one warp (mma.sync), accumulated in float.
//
// One step multiplies 16 rows of A by 8 columns of B over kMmaDepth<T> steps of the sum. In registers, of lane l, with g = l / 4 and t = l
// % 4:
//   A, two elements of 16 bits a word: a[0] row g, depths 2t and 2t + 1; a[1] row g + 8; a[2] and a[3] the same, 8 depths further.
//      float: a[0] row g, depth t; a[1] row g + 8; a[2] and a[3] the same, 4 depths further.
//   B: b[0] column g, depths as in A; b[1] 8 (float: 4) depths further.
//   sums: sums[0] and [1] row g, columns 2t and 2t + 1; sums[2] and [3] row g + 8.
// So load_matrices gives A's registers from rows [m][k] (matrices: rows 0-7, rows 8-15, then the same 16 bytes further), and those of two
// steps along n from columns [n][k] (matrices: columns 0-7, the same 16 bytes further, then columns 8-15); elements of 16 bits also from
// [k][m] and [k][n], transposed.
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/types.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/matrices.h>
#endif

namespace nautilus::device {

// Steps of the sum that one instruction takes: 32 bytes of each operand.
template <typename T>
inline constexpr int kMmaDepth = 32 / static_cast<int>(sizeof(T));

// VALUE rounded to the 10 bits of mantissa that tensor cores read of a float, ties away from zero; they ignore the rest. A NaN stays as it
// is: one whose mantissa is in the ignored bits alone, which no arithmetic makes, is infinite to them.
NAUTILUS_DEVICE uint32 to_tf32(float value) {
#ifdef NAUTILUS_EMULATED
    if (value != value) return bit_cast<uint32>(value);
    return (bit_cast<uint32>(value) + 0x1000u) & ~0x1FFFu;
#else
    uint32 result;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(value));
    return result;
#endif
}

#ifndef NAUTILUS_EMULATED

namespace detail {

template <typename T>
struct MmaTag {};

#define NAUTILUS_DEFINE_MMA(type, shape)                                                                 \
    NAUTILUS_DEVICE void mma(float(&sums)[4], const uint32(&a)[4], uint32 b0, uint32 b1, MmaTag<type>) { \
        asm("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                 \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                             \
    }
NAUTILUS_DEFINE_MMA(half, "m16n8k16.row.col.f32.f16.f16.f32")
NAUTILUS_DEFINE_MMA(bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
NAUTILUS_DEFINE_MMA(float, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef NAUTILUS_DEFINE_MMA

}  // namespace detail

#endif

// Adds the product of kRows times 16 rows of A and kPairs times 16 columns of B to the sums, for T half, bfloat16 or float (as tf32). The
// registers of two steps along n lie together: b[j] holds those of columns 16 j to 16 j + 15.
template <typename T, int kRows, int kPairs>
NAUTILUS_DEVICE void mma_block(float (&sums)[kRows][2 * kPairs][4], const uint32 (&a)[kRows][4], const uint32 (&b)[kPairs][4],
                               Site site = current_site()) {
#ifdef NAUTILUS_EMULATED
    emulated::mma_block(&sums[0][0][0], &a[0][0], &b[0][0], kRows, 2 * kPairs, emulated::kTensorType<T>, site);
#else
    NAUTILUS_UNROLL
    for (int i = 0; i < kRows; ++i) {
        NAUTILUS_UNROLL
        for (int j = 0; j < 2 * kPairs; ++j)
            detail::mma(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], detail::MmaTag<T>());
    }
#endif
}

}  // namespace nautilus::device
