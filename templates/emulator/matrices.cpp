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

// Where the two elements of 16 bits that LANE holds of a matrix lie: rows and columns.
struct Place {
    int row[2], column[2];
};
Place place_of(int lane, bool is_transposed) {
    const int group = lane / 4, first = lane % 4 * 2;
    if (is_transposed) return {{first, first + 1}, {group, group}};
    return {{group, group}, {first, first + 1}};
}

void spread(void **lanes, unsigned) {
    const Spread &any = *static_cast<Spread *>(lanes[0]);
    for (int tile = 0; tile < any.tiles; ++tile) {
        for (int matrix = 0; matrix < any.count; ++matrix) {
            for (int lane = 0; lane < kLanes; ++lane) {
                const Place place = place_of(lane, any.is_transposed);
                char *to = reinterpret_cast<char *>(static_cast<Spread *>(lanes[lane])->fragments + tile * any.count + matrix);
                for (int i = 0; i < 2; ++i) {
                    const MatrixRow &row = static_cast<Spread *>(lanes[matrix * kRowsOfMatrix + place.row[i]])->rows[tile];
                    std::memcpy(to + 2 * i, row.bytes + 2 * place.column[i], 2);
                }
            }
        }
    }
}

struct Gather {
    MatrixRow *row;
    const unsigned *fragment;
    int count;
    bool is_transposed;
};

void gather(void **lanes, unsigned) {
    const Gather &any = *static_cast<Gather *>(lanes[0]);
    for (int matrix = 0; matrix < any.count; ++matrix) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const Place place = place_of(lane, any.is_transposed);
            const char *from = reinterpret_cast<const char *>(static_cast<Gather *>(lanes[lane])->fragment + matrix);
            for (int i = 0; i < 2; ++i) {
                MatrixRow &row = *static_cast<Gather *>(lanes[matrix * kRowsOfMatrix + place.row[i]])->row;
                std::memcpy(row.bytes + 2 * place.column[i], from + 2 * i, 2);
            }
        }
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
struct Workspace {
    float a[16][16];
    float b[16][kMostColumns];
    float c[16][kMostColumns];
};

// Depths of the elements in one register: first and how many.
int depths_of_register(TensorType type) { return type == TensorType::kTf32 ? 1 : 2; }

void multiply(void **lanes, unsigned) {
    const Mma any = *static_cast<Mma *>(lanes[0]);
    Workspace &work = this_block().workspace<Workspace>();
    const int in_register = depths_of_register(any.type);
    const int half_depth = 4 * in_register;
    const auto operand = [&](unsigned bits, float(&elements)[2]) { read_register(any.type, bits, elements); };
    float elements[2];
    for (int lane = 0; lane < kLanes; ++lane) {
        const unsigned *b = static_cast<Mma *>(lanes[lane])->b;
        for (int column = 0; column < any.columns; ++column) {
            for (int i = 0; i < 2; ++i) {
                operand(b[2 * column + i], elements);
                for (int e = 0; e < in_register; ++e)
                    work.b[half_depth * i + lane % 4 * in_register + e][8 * column + lane / 4] = elements[e];
            }
        }
    }
    for (int row = 0; row < any.rows; ++row) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const Mma &own = *static_cast<Mma *>(lanes[lane]);
            for (int i = 0; i < 4; ++i) {
                operand(own.a[4 * row + i], elements);
                for (int e = 0; e < in_register; ++e) {
                    work.a[lane / 4 + 8 * (i % 2)][half_depth * (i / 2) + lane % 4 * in_register + e] = elements[e];
                }
            }
            for (int column = 0; column < any.columns; ++column) {
                const float *sums = own.sums + 4 * (row * any.columns + column);
                std::memcpy(&work.c[lane / 4][8 * column + lane % 4 * 2], sums, 2 * sizeof(float));
                std::memcpy(&work.c[lane / 4 + 8][8 * column + lane % 4 * 2], sums + 2, 2 * sizeof(float));
            }
        }
        add_product(work.c[0], kMostColumns, work.a[0], 16, work.b[0], kMostColumns, 16, 8 * any.columns, 2 * half_depth);
        for (int lane = 0; lane < kLanes; ++lane) {
            for (int column = 0; column < any.columns; ++column) {
                float *sums = static_cast<Mma *>(lanes[lane])->sums + 4 * (row * any.columns + column);
                std::memcpy(sums, &work.c[lane / 4][8 * column + lane % 4 * 2], 2 * sizeof(float));
                std::memcpy(sums + 2, &work.c[lane / 4 + 8][8 * column + lane % 4 * 2], 2 * sizeof(float));
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
