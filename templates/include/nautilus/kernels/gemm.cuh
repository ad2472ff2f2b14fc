// Matrix products without tensor cores: batch × [m, k] × [k, n], any orientation of both operands.
#pragma once

#include <nautilus/kernels/pair_epilogue.cuh>
#include <nautilus/kernels/product.cuh>

namespace nautilus::kernels {

// Results of one batch: EPILOGUE at (batch, m, n) of its result, of which each has one sum, or a pair of N.
//
// With kPartColumns, what EPILOGUE returns is the result, of which STATISTICS at (batch, m, part) is handed the mean and the sum of squared
// deviations of every so many columns.
//
// With kMomentParts, EPILOGUE is handed the mean and the variance of the row of A too, as its last parameters: of so many parts of the row, of
// kMomentColumns each, PART_MOMENTS at (batch, m, value) has the means and the sums of squared deviations in turn.
template <class EpilogueType, class Index, class M, class N, bool kIsPaired, class StatisticsType = void, int kPartColumnsN = 0,
          class PartMomentsType = void, int kMomentPartsN = 0, int kMomentColumnsN = 0>
struct MatrixSink {
  using Statistics = StatisticsType;
  static constexpr int kPartColumns = kPartColumnsN;
  static_assert(kPartColumns == 0 || !kIsPaired, "a part has as many sums as results");
  using PartMoments = PartMomentsType;
  static constexpr int kMomentParts = kMomentPartsN, kMomentColumns = kMomentColumnsN;
  using Epilogue = typename Conditional<kIsPaired, PairEpilogue<EpilogueType>, EpilogueType>::Type;
  static constexpr int kSums = kIsPaired ? 2 : 1;  // of a result
  struct Row {
    int m;
    bool is_inside;
  };
  Index batch;

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int m) const {
    return {m, m < static_cast<int>(M::get(arguments))};
  }
  // Whether tiles of that many columns have no other ones.
  NAUTILUS_DEVICE static constexpr bool has_whole_tiles(int columns) { return is_multiple<N>(columns); }
  template <class A>
  NAUTILUS_DEVICE bool has_column(const A &arguments, int n) const {
    return n < static_cast<int>(N::get(arguments));
  }
  // Negative where there is none.
  template <class A>
  NAUTILUS_DEVICE int last_row(const A &arguments) const {
    return static_cast<int>(M::get(arguments)) - 1;
  }
  // Where the last WIDTH neighbours begin.
  template <class A>
  NAUTILUS_DEVICE int last_column(const A &arguments, int width) const {
    return static_cast<int>(N::get(arguments)) - width;
  }
  NAUTILUS_DEVICE Coordinates<Index, 3> at(const Row &row, int n) const { return coordinates<Index>(batch, row.m, n / kSums); }
  // Of another row, where there is no such one.
  NAUTILUS_DEVICE Coordinates<Index, 3> at_moments(const Row &row, int value) const {
    return coordinates<Index>(batch, row.is_inside ? row.m : 0, value);
  }
};

// FUNCTOR_A at (batch, m, k), or (batch, k, m) where Problem::kAKLast is false; FUNCTOR_B at (batch, n, k), or (batch, k, n) where
// Problem::kBKLast is false; EPILOGUE at (batch, m, n), its parameter is the sum; with Problem::kIsPaired at (batch, m, n / 2), its parameters
// are the sums of columns n and n + 1.
template <class Problem, class Schedule, class FunctorA, class FunctorB, class Epilogue, class A>
NAUTILUS_DEVICE void gemm(const A &arguments) {
  using Index = typename Problem::Index;
  using M = typename Problem::M;
  using N = typename Problem::N;
  using K = typename Problem::K;
  const Index batch = static_cast<Index>(device::block_index().z) * kMostBlocksY + device::block_index().y;
  if (batch >= static_cast<Index>(Problem::Batch::get(arguments))) return device::dependency_wait_if_open<typename Problem::Batch>();
  const TileIndex tile =
      tile_index<Schedule>(device::block_index().x, static_cast<int>(M::get(arguments)), static_cast<int>(N::get(arguments)));
  product<Schedule, typename Problem::Accumulate>(
      arguments, MatrixSource<FunctorA, Index, M, K, Problem::kAKLast>{batch}, MatrixSource<FunctorB, Index, N, K, Problem::kBKLast>{batch},
      MatrixSink<Epilogue, Index, M, N, Problem::kIsPaired>{batch}, tile);
}

}  // namespace nautilus::kernels
