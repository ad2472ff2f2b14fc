// Operands of products by mma.sync: how tiles are brought and read as fragments, and a step of depth.
#pragma once

#include <nautilus/device/device.cuh>
#include <nautilus/kernels/mma_tile.cuh>
#include <nautilus/kernels/mma_word_tile.cuh>

namespace nautilus::kernels {

// One step of depth of an operand, kTiles times 16 rows of A or columns of B from FIRST on, as mma_block takes it. In a register of A, bit
// 0 of its number says whether it is of the second eight rows and bit 1 whether of the second half of the depth; for B it is the other way
// round.
template <class T, class Layout, bool kIsLeft, int kTiles>
NAUTILUS_DEVICE void load_fragments(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) {
  constexpr int kHalfDepth = device::kMmaDepth<T> / 2;
  const int lane = device::lane_index();
  if constexpr (Layout::kIsReadSingly) {
    NAUTILUS_UNROLL
    for (int i = 0; i < kTiles; ++i) {
      NAUTILUS_UNROLL
      for (int r = 0; r < 4; ++r) {
        const int outer = first + 16 * i + lane / 4 + (kIsLeft ? r % 2 : r / 2) * 8;
        const int at = depth + lane % 4 + (kIsLeft ? r / 2 : r % 2) * kHalfDepth;
        fragments[i][r] = device::load_shared<uint32>(reinterpret_cast<const uint32 *>(tile + Layout::place_of(at, outer)));
      }
    }
  } else {
    // The lane names a row of matrix lane / 8, which goes to the register of that number.
    const int outer = first + (kIsLeft ? lane / 8 % 2 : lane / 16) * 8;
    const int at = depth + (kIsLeft ? lane / 16 : lane / 8 % 2) * kHalfDepth;
    if constexpr (Layout::kHasDepthLast) {
      device::load_matrix_tiles(fragments, [&](int i) { return tile + Layout::place_of(outer + lane % 8 + 16 * i, at); });
    } else {
      device::load_matrix_tiles<true>(fragments, [&](int i) { return tile + Layout::place_of(at + lane % 8, outer + 16 * i); });
    }
  }
}

// How an operand's tiles are brought, and how a warp reads its kTiles fragments of them.
template <class T, class Source, bool kIsLeft, int kOuter, int kDepth, int kVector, int kThreads, int kTiles, bool = is_brought_by_words<T, Source, kVector>()>
struct MmaOperand {
  using Loader = MmaTileLoader<T, Source, kOuter, kDepth, kVector, kThreads>;
  using Layout = typename Loader::Layout;

  template <class A>
  NAUTILUS_DEVICE MmaOperand(const A &, const Source &, int) {}
  NAUTILUS_DEVICE void load(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) const {
    load_fragments<T, Layout, kIsLeft>(fragments, tile, first, depth);
  }
};
template <class T, class Source, bool kIsLeft, int kOuter, int kDepth, int kVector, int kThreads, int kTiles>
struct MmaOperand<T, Source, kIsLeft, kOuter, kDepth, kVector, kThreads, kTiles, true> {
  using Loader = MmaWordLoader<T, Source, kOuter, kDepth, kThreads>;
  using Layout = typename Loader::Layout;
  WordFragments<T, Source, kIsLeft, kTiles> read;

  template <class A>
  NAUTILUS_DEVICE MmaOperand(const A &arguments, const Source &source, int first) : read(arguments, source, first) {}
  NAUTILUS_DEVICE void load(uint32 (&fragments)[kTiles][4], const unsigned char *tile, int first, int depth) const {
    read.template load<Layout>(fragments, tile, first, depth);
  }
};

// Rounds floats in registers to tf32, and what that leaves.
template <int kTiles>
NAUTILUS_DEVICE void split(uint32 (&fragments)[kTiles][4], uint32 (&rest)[kTiles][4]) {
  NAUTILUS_UNROLL
  for (int i = 0; i < kTiles; ++i) {
    NAUTILUS_UNROLL
    for (int r = 0; r < 4; ++r) {
      const float value = device::bit_cast<float>(fragments[i][r]);
      fragments[i][r] = device::to_tf32(value);
      rest[i][r] = device::to_tf32(value - device::bit_cast<float>(fragments[i][r]));
    }
  }
}

// Adds the product of one step to the sums. A float is multiplied as tf32: rounded, or with kTerms 3 as the sum of two such numbers, so
// that only the product of the smaller ones is left out.
template <class T, int kTerms, int kRows, int kPairs>
NAUTILUS_DEVICE void add_step(float (&sums)[kRows][2 * kPairs][4], uint32 (&a)[kRows][4], uint32 (&b)[kPairs][4]) {
  if constexpr (kIsSameType<T, float>) {
    uint32 a_rest[kRows][4], b_rest[kPairs][4];
    split(a, a_rest);
    split(b, b_rest);
    if constexpr (kTerms == 3) {
      device::mma_block<T>(sums, a_rest, b);
      device::mma_block<T>(sums, a, b_rest);
    }
  }
  device::mma_block<T>(sums, a, b);
}

}  // namespace nautilus::kernels
