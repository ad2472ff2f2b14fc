// What the twins of matrix.cuh and mma.cuh need of the emulator.
#pragma once

#include <nautilus/device/emulated/runtime.h>

#include <nautilus/device/types.cuh>

namespace nautilus::emulated {

// Element types of operands of tensor cores. A float is read as tf32: its 13 lowest bits do not count.
enum class TensorType : unsigned char { kHalf, kBfloat16, kTf32 };

template <typename T>
inline constexpr TensorType kTensorType = TensorType();
template <>
inline constexpr TensorType kTensorType<device::half> = TensorType::kHalf;
template <>
inline constexpr TensorType kTensorType<device::bfloat16> = TensorType::kBfloat16;
template <>
inline constexpr TensorType kTensorType<float> = TensorType::kTf32;

// A row of a matrix of 8 rows.
struct MatrixRow {
    alignas(16) unsigned char bytes[16];
};

// Spreads the rows that each lane has read over the registers of all: of each tile COUNT matrices, whose rows the first 8 COUNT lanes hold.
void spread_matrices(unsigned *fragments, const MatrixRow *rows, int tiles, int count, bool is_transposed, Site site);

// The reverse for one tile: the row that this lane is to write.
void gather_matrices(MatrixRow &row, const unsigned *fragment, int count, bool is_transposed, Site site);

// Adds the product of ROWS times 16 rows and COLUMNS times 8 columns over 32 bytes of depth. Sums are added in the order of the depth, each
// product with one rounding, where a GPU adds several at once.
void mma_block(float *sums, const unsigned *a, const unsigned *b, int rows, int columns, TensorType type, Site site);

}  // namespace nautilus::emulated
