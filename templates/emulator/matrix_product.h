// What the emulated tensor cores share: operands as floats, and their product.
#pragma once

#include <immintrin.h>
#include <nautilus/device/emulated/matrices.h>

#include <cstring>

namespace nautilus::emulated {

// Elements in 16 bytes.
constexpr int elements_of_chunk(TensorType type) { return type == TensorType::kTf32 ? 4 : 8; }

// The elements of 16 bytes as floats; of four the upper half is zero.
inline __m256 read_chunk(TensorType type, const void *bytes) {
    const __m128i chunk = _mm_loadu_si128(static_cast<const __m128i *>(bytes));
    switch (type) {
        case TensorType::kHalf:
            return _mm256_cvtph_ps(chunk);
        case TensorType::kBfloat16:
            return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(chunk), 16));
        case TensorType::kTf32:
            break;
    }
    const __m128i kept = _mm_and_si128(chunk, _mm_set1_epi32(static_cast<int>(0xFFFFE000u)));
    return _mm256_zextps128_ps256(_mm_castsi128_ps(kept));
}

// The registers of a group of four lanes, which are 16 bytes of a row of A or of a column of B.
template <typename Register>
__m256 read_group(TensorType type, int group, Register register_of) {
    alignas(16) unsigned words[4];
    NAUTILUS_UNROLL
    for (int i = 0; i < 4; ++i) words[i] = register_of(4 * group + i);
    return read_chunk(type, words);
}

// Writes the elements of a chunk.
inline void write_chunk(TensorType type, float *to, __m256 elements) {
    if (elements_of_chunk(type) == 8) {
        _mm256_storeu_ps(to, elements);
    } else {
        _mm_storeu_ps(to, _mm256_castps256_ps128(elements));
    }
}

// Eight rows of eight floats: rows become columns.
inline void transpose(__m256 (&rows)[8]) {
    __m256 pairs[8], quads[8];
    NAUTILUS_UNROLL
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
        quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
        quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
        quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < 4; ++i) {
        rows[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
        rows[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
    }
}

// Row-major matrices: c[row * ldc + column] and so on; columns are a multiple of 8, and c and b have as many in each row at least.
// c += a b over DEPTH, in order, each product added with one rounding.
void add_product(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int rows, int columns, int depth);

}  // namespace nautilus::emulated
