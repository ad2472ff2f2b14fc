// Matrix products on tensor cores by wgmma: batch × [m, k] × [k, n], any orientation of 16-bit operands. sm_90a alone.
#pragma once

#include <nautilus/kernels/gemm.cuh>
#include <nautilus/kernels/wgmma_product.cuh>

namespace nautilus::kernels {

// Takes results of a transposed product: the rows are the columns of SINK's.
template <class Sink, class M>
struct SwappedSink {
  using Epilogue = typename Sink::Epilogue;
  static constexpr int kSums = 1, kPartColumns = 0, kMomentParts = 0;
  struct Row {
    int n;
    bool is_inside;
  };
  Sink sink;

  template <class A>
  NAUTILUS_DEVICE Row row(const A &arguments, int n) const {
    return {n, sink.has_column(arguments, n)};
  }
  NAUTILUS_DEVICE static constexpr bool has_whole_tiles(int columns) { return is_multiple<M>(columns); }
  template <class A>
  NAUTILUS_DEVICE bool has_column(const A &arguments, int m) const {
    return sink.row(arguments, m).is_inside;
  }
  NAUTILUS_DEVICE auto at(const Row &row, int m) const { return sink.at({m, true}, row.n); }
};

// Whether one consumer's products, in ping-pong, surely take longer than an epilogue that leaves tensor cores their cycles: 16 steps of depth or
// more. And a block has several tiles, since such an epilogue takes longer where nothing hides it, at the end.
template <class Problem, class Schedule>
constexpr bool hides_long_epilogues() {
  if constexpr (Schedule::kPingPong && Problem::Batch::kIsStatic && Problem::M::kIsStatic && Problem::N::kIsStatic && Problem::K::kIsStatic) {
    constexpr long long m = Problem::M::kValue, n = Problem::N::kValue, k = Problem::K::kValue, kBatch = Problem::Batch::kValue;
    constexpr long long kTiles = ceil_divide(m, Schedule::kTileM) * ceil_divide(n, Schedule::kTileN) * kBatch;
    constexpr long long kRowBytes = k * static_cast<long long>(sizeof(typename Problem::Multiply));
    return kRowBytes >= 16 * kBoxRowBytes && kTiles >= 4 * Schedule::kBlocks;
  } else {
    return false;
  }
}

// The functors of `gemm`; B, and A but with Problem::kComputesA, only load elements of Problem::Multiply, which the first tensor maps of the
// arguments bring.
template <class Problem, class Schedule, class FunctorA, class FunctorB, class Epilogue, class Statistics, class Moments, class A>
NAUTILUS_DEVICE void gemm_wgmma(const A &arguments) {
  using Index = typename Problem::Index;
  using M = typename Problem::M;
  using N = typename Problem::N;
  using T = typename Problem::Multiply;
  using Sink = MatrixSink<Epilogue, Index, M, N, Problem::kIsPaired, Statistics, static_cast<int>(Problem::PartColumns::kValue), Moments,
                          static_cast<int>(Problem::MomentParts::kValue), static_cast<int>(Problem::MomentColumns::kValue)>;
  static_assert(kIsSameType<typename Problem::Accumulate, float>, "tensor cores add up in float");
  constexpr int kTerms = static_cast<int>(Problem::Terms::kValue);
  const int batch = static_cast<int>(Problem::Batch::get(arguments)), depth = static_cast<int>(Problem::K::get(arguments));
  const int m = static_cast<int>(M::get(arguments)), n = static_cast<int>(N::get(arguments));
  using Walk = TileWalk<Schedule, !Problem::K::kIsStatic>;
  using SourceA = MatrixSource<FunctorA, Index, M, typename Problem::K, Problem::kAKLast>;
  const auto source_of = [](int of_batch) { return SourceA{of_batch}; };
  if constexpr (Schedule::kSwaps) {
    static_assert(!Problem::kComputesA && !Problem::kIsPaired && Sink::kPartColumns == 0 && Sink::kMomentParts == 0, "the other way round than the main loop has them");
    using OperandA = BoxedOperand<T, FunctorB, Problem::kBKLast, Schedule::kTileM, Schedule::kClusterN>;
    using OperandB = BoxedOperand<T, FunctorA, Problem::kAKLast, Schedule::kTileN, Schedule::kClusterM>;
    wgmma_product<Schedule, T, kTerms, hides_long_epilogues<Problem, Schedule>(), Problem::kBIsConstant ? Constant::kA : Constant::kNone, OperandA, OperandB>(
        arguments, Walk(batch, n, m), depth, source_of, [](int of_batch) { return SwappedSink<Sink, M>{{of_batch}}; });
  } else {
    using Reads = HeldReads<static_cast<int>(sizeof(typename Problem::AStorage)), static_cast<int>(Problem::AStreams::kValue),
                            static_cast<int>(Problem::ASingles::kValue), static_cast<int>(Problem::AGathered::kValue)>;
    constexpr int kRegisters = Warpgroups<Schedule, true>::kProducerRegisters;
    constexpr bool kRounds = kIsSameType<T, float> && kTerms == 1;
    using OperandA =
        typename Conditional<Problem::kComputesA,
                             LoadedOperand<T, SourceA, Schedule::kTileM, Schedule::kVectorA, Reads, kRegisters, kRounds>,
                             BoxedOperand<T, FunctorA, Problem::kAKLast, Schedule::kTileM, Schedule::kClusterN>>::Type;
    using OperandB = BoxedOperand<T, FunctorB, Problem::kBKLast, Schedule::kTileN, Schedule::kClusterM>;
    wgmma_product<Schedule, T, kTerms, hides_long_epilogues<Problem, Schedule>(), Problem::kBIsConstant ? Constant::kB : Constant::kNone, OperandA, OperandB>(
        arguments, Walk(batch, m, n), depth, source_of, [](int of_batch) { return Sink{of_batch}; });
  }
}

}  // namespace nautilus::kernels
