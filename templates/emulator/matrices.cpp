// Matrices in the registers of a warp: ldmatrix, stmatrix and mma.sync.

#include <nautilus/device/emulated/matrices.h>

#include <cstring>

#include "block.h"
#include "matrix_product.h"

namespace nautilus::emulated {
namespace {

constexpr int kLanes = device::kWarpThreads;
constexpr int kRowsOfMatrix = 8;

struct Spread {
    unsigned *fragments;
    const MatrixRow *rows;
    int tiles, count;
    bool is_transposed;
};

struct Gather {
    MatrixRow *row;
    const unsigned *fragment;
    int count;
    bool is_transposed;
};

// Eight rows of eight elements of 16 bits: rows become columns.
void transpose_rows(MatrixRow (&rows)[kRowsOfMatrix]) {
    __m128i in[kRowsOfMatrix], pairs[kRowsOfMatrix], quads[kRowsOfMatrix];
    NAUTILUS_UNROLL
    for (int i = 0; i < kRowsOfMatrix; ++i) in[i] = _mm_load_si128(reinterpret_cast<const __m128i *>(rows[i].bytes));
    NAUTILUS_UNROLL
    for (int i = 0; i < 4; ++i) {
        pairs[2 * i] = _mm_unpacklo_epi16(in[2 * i], in[2 * i + 1]);
        pairs[2 * i + 1] = _mm_unpackhi_epi16(in[2 * i], in[2 * i + 1]);
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < 2; ++i) {
        NAUTILUS_UNROLL
        for (int half = 0; half < 2; ++half) {
            quads[4 * i + 2 * half] = _mm_unpacklo_epi32(pairs[4 * i + half], pairs[4 * i + 2 + half]);
            quads[4 * i + 2 * half + 1] = _mm_unpackhi_epi32(pairs[4 * i + half], pairs[4 * i + 2 + half]);
        }
    }
    NAUTILUS_UNROLL
    for (int i = 0; i < 4; ++i) {
        _mm_store_si128(reinterpret_cast<__m128i *>(rows[2 * i].bytes), _mm_unpacklo_epi64(quads[i], quads[4 + i]));
        _mm_store_si128(reinterpret_cast<__m128i *>(rows[2 * i + 1].bytes), _mm_unpackhi_epi64(quads[i], quads[4 + i]));
    }
}

void spread(void **lanes, unsigned) {
    const Spread any = *static_cast<Spread *>(lanes[0]);
    for (int tile = 0; tile < any.tiles; ++tile) {
        for (int matrix = 0; matrix < any.count; ++matrix) {
            MatrixRow rows[kRowsOfMatrix];
            for (int i = 0; i < kRowsOfMatrix; ++i) rows[i] = static_cast<Spread *>(lanes[matrix * kRowsOfMatrix + i])->rows[tile];
            if (any.is_transposed) transpose_rows(rows);
            for (int lane = 0; lane < kLanes; ++lane) {
                std::memcpy(static_cast<Spread *>(lanes[lane])->fragments + tile * any.count + matrix, rows[lane / 4].bytes + lane % 4 * 4,
                            4);
            }
        }
    }
}

void gather(void **lanes, unsigned) {
    const Gather any = *static_cast<Gather *>(lanes[0]);
    for (int matrix = 0; matrix < any.count; ++matrix) {
        MatrixRow rows[kRowsOfMatrix];
        for (int lane = 0; lane < kLanes; ++lane) {
            std::memcpy(rows[lane / 4].bytes + lane % 4 * 4, static_cast<Gather *>(lanes[lane])->fragment + matrix, 4);
        }
        if (any.is_transposed) transpose_rows(rows);
        for (int i = 0; i < kRowsOfMatrix; ++i) *static_cast<Gather *>(lanes[matrix * kRowsOfMatrix + i])->row = rows[i];
    }
}

struct Mma {
    float *sums;
    const unsigned *a, *b;
    int rows, columns;
    TensorType type;
};

// Sums of 16 rows lie together while they are added to.
constexpr int kMostColumns = 256;
constexpr int kMostDepth = 16;
struct Workspace {
    float a[16][kMostDepth];
    float b[kMostDepth][kMostColumns];
    float c[16][kMostColumns];
};

void multiply(void **lanes, unsigned) {
    const Mma any = *static_cast<Mma *>(lanes[0]);
    const auto lane_of = [&](int lane) -> const Mma & { return *static_cast<Mma *>(lanes[lane]); };
    Workspace &work = this_block().workspace<Workspace>();
    const int in_group = elements_of_chunk(any.type), depth = 2 * in_group;
    for (int column = 0; column < any.columns; ++column) {
        for (int half = 0; half < 2; ++half) {
            __m256 block[8];
            for (int group = 0; group < 8; ++group) {
                block[group] = read_group(any.type, group, [&](int lane) { return lane_of(lane).b[2 * column + half]; });
            }
            transpose(block);
            for (int k = 0; k < in_group; ++k) _mm256_storeu_ps(&work.b[half * in_group + k][8 * column], block[k]);
        }
    }
    for (int row = 0; row < any.rows; ++row) {
        for (int group = 0; group < 8; ++group) {
            for (int i = 0; i < 4; ++i) {
                const __m256 elements = read_group(any.type, group, [&](int lane) { return lane_of(lane).a[4 * row + i]; });
                write_chunk(any.type, &work.a[group + 8 * (i % 2)][i / 2 * in_group], elements);
            }
        }
        for (int lane = 0; lane < kLanes; ++lane) {
            const float *sums = lane_of(lane).sums + 4 * row * any.columns;
            float *upper = &work.c[lane / 4][lane % 4 * 2], *lower = &work.c[lane / 4 + 8][lane % 4 * 2];
            for (int column = 0; column < any.columns; ++column, sums += 4) {
                std::memcpy(upper + 8 * column, sums, 2 * sizeof(float));
                std::memcpy(lower + 8 * column, sums + 2, 2 * sizeof(float));
            }
        }
        add_product(work.c[0], kMostColumns, work.a[0], kMostDepth, work.b[0], kMostColumns, 16, 8 * any.columns, depth);
        for (int lane = 0; lane < kLanes; ++lane) {
            float *sums = lane_of(lane).sums + 4 * row * any.columns;
            const float *upper = &work.c[lane / 4][lane % 4 * 2], *lower = &work.c[lane / 4 + 8][lane % 4 * 2];
            for (int column = 0; column < any.columns; ++column, sums += 4) {
                std::memcpy(sums, upper + 8 * column, 2 * sizeof(float));
                std::memcpy(sums + 2, lower + 8 * column, 2 * sizeof(float));
            }
        }
    }
}

}  // namespace

void spread_matrices(unsigned *fragments, const MatrixRow *rows, int tiles, int count, bool is_transposed, Site site) {
    Spread payload{fragments, rows, tiles, count, is_transposed};
    rendezvous(device::kFullMask, "load_matrices", &payload, spread, site);
}

void gather_matrices(MatrixRow &row, const unsigned *fragment, int count, bool is_transposed, Site site) {
    Gather payload{&row, fragment, count, is_transposed};
    rendezvous(device::kFullMask, "store_matrices", &payload, gather, site);
}

void mma_block(float *sums, const unsigned *a, const unsigned *b, int rows, int columns, TensorType type, Site site) {
    if (8 * columns > kMostColumns) fail("mma_block of more than 256 columns", site);
    Mma payload{sums, a, b, rows, columns, type};
    rendezvous(device::kFullMask, "mma_block", &payload, multiply, site);
}

}  // namespace nautilus::emulated
