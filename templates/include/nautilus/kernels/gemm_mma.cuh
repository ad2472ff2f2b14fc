// Matrix products on tensor cores by mma.sync: batch × [m, k] × [k, n], any orientation of both operands, any extents.
#pragma once

#include <nautilus/kernels/gemm.cuh>
#include <nautilus/kernels/mma_product.cuh>

namespace nautilus::kernels {

// The functors of `gemm`. Both operands are rounded to Problem::Multiply: half, bfloat16, or float as tf32, in Problem::Terms products.
template <class Problem, class Schedule, class FunctorA, class FunctorB, class Epilogue, class Statistics, class Moments, class A>
NAUTILUS_DEVICE void gemm_mma(const A &arguments) {
  using Index = typename Problem::Index;
  using M = typename Problem::M;
  using N = typename Problem::N;
  using K = typename Problem::K;
  using Sink = MatrixSink<Epilogue, Index, M, N, Problem::kIsPaired, Statistics, static_cast<int>(Problem::PartColumns::kValue), Moments,
                          static_cast<int>(Problem::MomentParts::kValue), static_cast<int>(Problem::MomentColumns::kValue)>;
  static_assert(kIsSameType<typename Problem::Accumulate, float>, "tensor cores add up in float");
  const Index batch = static_cast<Index>(device::block_index().z) * kMostBlocksY + device::block_index().y;
  if (batch >= static_cast<Index>(Problem::Batch::get(arguments))) return device::dependency_wait_if_open<typename Problem::Batch>();
  // So that operands have rows wherever they are read: a loader that asks keeps each element that it read in a register of its own.
  if (static_cast<int>(M::get(arguments)) == 0 || static_cast<int>(N::get(arguments)) == 0) return device::dependency_wait();
  const TileIndex tile =
      tile_index<Schedule>(device::block_index().x / Schedule::kClusterK, static_cast<int>(M::get(arguments)), static_cast<int>(N::get(arguments)));
  mma_product<Schedule, typename Problem::Multiply, static_cast<int>(Problem::Terms::kValue), Problem::kBIsConstant>(
      arguments, MatrixSource<FunctorA, Index, M, K, Problem::kAKLast>{batch}, MatrixSource<FunctorB, Index, N, K, Problem::kBKLast>{batch},
      Sink{batch}, tile);
}

}  // namespace nautilus::kernels
