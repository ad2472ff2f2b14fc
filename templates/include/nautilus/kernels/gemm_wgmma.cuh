// Matrix products on tensor cores by wgmma: batch × [m, k] × [k, n], any orientation of 16-bit operands. sm_90a alone.
#pragma once

#include <nautilus/kernels/gemm.cuh>
#include <nautilus/kernels/wgmma_product.cuh>

namespace nautilus::kernels {

// The functors of `gemm`; B, and A but with Problem::kComputesA, only load elements of Problem::Multiply, which the first tensor maps of the
// arguments bring.
template <class Problem, class Schedule, class FunctorA, class FunctorB, class Epilogue, class Statistics, class A>
NAUTILUS_DEVICE void gemm_wgmma(const A &arguments) {
  using Index = typename Problem::Index;
  using M = typename Problem::M;
  using N = typename Problem::N;
  using T = typename Problem::Multiply;
  using Sink = MatrixSink<Epilogue, Index, M, N, Problem::kIsPaired, Statistics, static_cast<int>(Problem::PartColumns::kValue)>;
  static_assert(kIsSameType<typename Problem::Accumulate, float>, "tensor cores add up in float");
  using SourceA = MatrixSource<FunctorA, Index, M, typename Problem::K, Problem::kAKLast>;
  constexpr int kTerms = static_cast<int>(Problem::Terms::kValue), kStreams = static_cast<int>(Problem::AStreams::kValue);
  constexpr bool kRounds = kIsSameType<T, float> && kTerms == 1;
  using OperandA = typename Conditional<Problem::kComputesA, LoadedOperand<T, SourceA, Schedule::kTileM, Schedule::kVectorA, kStreams, kRounds>,
                                        BoxedOperand<T, FunctorA, Problem::kAKLast, Schedule::kTileM, Schedule::kClusterN>>::Type;
  using OperandB = BoxedOperand<T, FunctorB, Problem::kBKLast, Schedule::kTileN, Schedule::kClusterM>;
  const int m = static_cast<int>(M::get(arguments)), n = static_cast<int>(N::get(arguments));
  wgmma_product<Schedule, T, kTerms, Problem::kBIsConstant, OperandA, OperandB>(
      arguments, TileWalk<Schedule>(static_cast<int>(Problem::Batch::get(arguments)), m, n), static_cast<int>(Problem::K::get(arguments)),
      [](int batch) { return SourceA{batch}; }, [](int batch) { return Sink{batch}; });
}

}  // namespace nautilus::kernels
