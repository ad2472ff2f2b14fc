// What the emulated tensor cores share: operands as floats, and their product.
#pragma once

#include <immintrin.h>
#include <nautilus/device/emulated/matrices.h>

#include <cstring>

namespace nautilus::emulated {

// Elements in 16 bytes.
constexpr int elements_of_chunk(TensorType type) { return type == TensorType::kTf32 ? 4 : 8; }

// Reads the elements of 16 bytes as floats; returns as many as there are.
inline int read_chunk(TensorType type, const void *bytes, float (&out)[8]) {
    switch (type) {
        case TensorType::kHalf:
            _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i *>(bytes))));
            break;
        case TensorType::kBfloat16: {
            const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i *>(bytes)));
            _mm256_storeu_ps(out, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
            break;
        }
        case TensorType::kTf32: {
            const __m128i kept = _mm_set1_epi32(static_cast<int>(0xFFFFE000u));
            _mm_storeu_ps(out, _mm_castsi128_ps(_mm_and_si128(kept, _mm_loadu_si128(static_cast<const __m128i *>(bytes)))));
            break;
        }
    }
    return elements_of_chunk(type);
}

// The elements of one 32-bit register.
inline void read_register(TensorType type, unsigned bits, float (&out)[2]) {
    alignas(16) const unsigned chunk[4] = {bits, 0, 0, 0};
    float elements[8];
    read_chunk(type, chunk, elements);
    out[0] = elements[0];
    out[1] = elements[1];
}

// Row-major matrices: c[row * ldc + column] and so on; columns are a multiple of 8, and c and b have as many in each row at least.
// c += a b over DEPTH, in order, each product added with one rounding.
void add_product(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int rows, int columns, int depth);

}  // namespace nautilus::emulated
