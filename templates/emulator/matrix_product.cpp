#include "matrix_product.h"

namespace nautilus::emulated {
namespace {

// kRows rows by 8 kVectors columns stay in registers over the whole depth; only unrolled loops leave an array there.
template <int kRows, int kVectors>
void add_tile(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int depth) {
    __m256 sums[kRows][kVectors];
    NAUTILUS_UNROLL
    for (int i = 0; i < kRows; ++i) {
        NAUTILUS_UNROLL
        for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm256_loadu_ps(c + i * ldc + 8 * j);
    }
    for (int k = 0; k < depth; ++k) {
        __m256 right[kVectors];
        NAUTILUS_UNROLL
        for (int j = 0; j < kVectors; ++j) right[j] = _mm256_loadu_ps(b + k * ldb + 8 * j);
        NAUTILUS_UNROLL
        for (int i = 0; i < kRows; ++i) {
            const __m256 left = _mm256_broadcast_ss(a + i * lda + k);
            NAUTILUS_UNROLL
            for (int j = 0; j < kVectors; ++j) sums[i][j] = _mm256_fmadd_ps(left, right[j], sums[i][j]);
        }
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < kRows; ++i) {
        NAUTILUS_UNROLL
        for (int j = 0; j < kVectors; ++j) _mm256_storeu_ps(c + i * ldc + 8 * j, sums[i][j]);
    }
}

template <int kRows>
void add_rows(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int columns, int depth) {
    int column = 0;
    for (; column + 16 <= columns; column += 16) add_tile<kRows, 2>(c + column, ldc, a, lda, b + column, ldb, depth);
    if (column < columns) add_tile<kRows, 1>(c + column, ldc, a, lda, b + column, ldb, depth);
}

}  // namespace

void add_product(float *c, int ldc, const float *a, int lda, const float *b, int ldb, int rows, int columns, int depth) {
    int row = 0;
    for (; row + 4 <= rows; row += 4) add_rows<4>(c + row * ldc, ldc, a + row * lda, lda, b, ldb, columns, depth);
    for (; row < rows; ++row) add_rows<1>(c + row * ldc, ldc, a + row * lda, lda, b, ldb, columns, depth);
}

}  // namespace nautilus::emulated
