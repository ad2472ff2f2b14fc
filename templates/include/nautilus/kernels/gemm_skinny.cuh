// Matrix products with few rows: batch × [m, k] × [k, n], bound by how fast B comes from memory.
#pragma once

#include <nautilus/kernels/skinny_product.cuh>

namespace nautilus::kernels {

template <class Problem, class Schedule, bool kIsOnTensorCores>
struct SkinnySums {
  using Type = DotSums<Schedule, Problem::kBKLast>;
};
template <class Problem, class Schedule>
struct SkinnySums<Problem, Schedule, true> {
  using Type = TensorSums<Schedule, typename Problem::Multiply>;
};

// The functors of `gemm`. On tensor cores both operands are rounded to Problem::Multiply, else they are multiplied as float.
template <class Problem, class Schedule, class FunctorA, class FunctorB, class Epilogue, class A>
NAUTILUS_DEVICE void gemm_skinny(const A &arguments) {
  using Index = typename Problem::Index;
  using M = typename Problem::M;
  using N = typename Problem::N;
  using K = typename Problem::K;
  static_assert(kIsSameType<typename Problem::Accumulate, float>, "sums are float");
  const Index batch = static_cast<Index>(device::block_index().z) * kMostBlocksY + device::block_index().y;
  if (batch >= static_cast<Index>(Problem::Batch::get(arguments))) return device::dependency_wait_if_open<typename Problem::Batch>();
  const int tiles_m = ceil_divide(static_cast<int>(M::get(arguments)), Schedule::kTileM);
  if (tiles_m == 0) return device::dependency_wait_if_open<M>();  // there may be no row at all
  const int block = static_cast<int>(device::block_index().x) / Schedule::kClusterK;
  const int column = tiles_m == 1 ? block : divide(block, tiles_m);  // the division would come before the first weights are asked for
  skinny_product<Schedule, typename SkinnySums<Problem, Schedule, Schedule::kTensorCores>::Type, Problem::kBIsConstant>(
      arguments, MatrixSource<FunctorA, Index, M, K, Problem::kAKLast>{batch}, MatrixSource<FunctorB, Index, N, K, Problem::kBKLast>{batch},
      MatrixSink<Epilogue, Index, M, N, Problem::kIsPaired>{batch}, TileIndex{block - column * tiles_m, column},
      static_cast<int>(N::get(arguments)));
}

}  // namespace nautilus::kernels
