// What becomes of two products of the same rows: their columns lie in turn, so that two neighbouring sums, which a thread holds side by side,
// make one result.
#pragma once

#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>

namespace nautilus::kernels {

// An epilogue of sums, all widths of which count these. EPILOGUE makes half as many results of them: its parameter 0 is the first sum of a
// pair, its parameter 1 the second one; further ones follow. It is asked at coordinates of results.
template <class Epilogue>
struct PairEpilogue : Epilogue {
  template <int kWidth>
  using Inputs = typename Epilogue::template Inputs<kWidth / 2>;

  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    static_assert(kWidth % 2 == 0, "whole pairs");
    return Epilogue::template load<kWidth / 2>(arguments, at);
  }
  template <int kWidth, class A, class At, class T, class... P>
  NAUTILUS_DEVICE static auto evaluate(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const Vector<T, kWidth> &sums,
                                       const P &...further) {
    Vector<T, kWidth / 2> first, second;
    NAUTILUS_UNROLL
    for (int i = 0; i < kWidth / 2; ++i) {
      first[i] = sums[2 * i];
      second[i] = sums[2 * i + 1];
    }
    return Epilogue::template evaluate<kWidth / 2>(arguments, at, inputs, first, second, further...);
  }
  template <int kWidth, class A, class At, class T, class... P>
  NAUTILUS_DEVICE static auto compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const Vector<T, kWidth> &sums,
                                      const P &...further) {
    const auto outputs = evaluate<kWidth>(arguments, at, inputs, sums, further...);
    Epilogue::put(arguments, at, outputs);
    return outputs.result;
  }
};

}  // namespace nautilus::kernels
