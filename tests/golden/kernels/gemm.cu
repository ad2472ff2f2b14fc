#include <nautilus/kernels/gemm.cuh>

namespace gemm_0e7e62653e037f3e_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<3, 0>;
struct Problem {
  using Index = int;
  using Accumulate = float;
  using AStorage = float;
  using BStorage = float;
  using Batch = Static<1>;
  using M = Static<1>;
  using N = Static<1>;
  using K = Static<1>;
  using AWork = Static<0>;
  static constexpr bool kAKLast = true;
  static constexpr bool kBKLast = true;
  static constexpr bool kIsStraight = false;
  static constexpr bool kIsPaired = false;
};

struct Schedule {
  static constexpr int kTileM = 16;
  static constexpr int kTileN = 32;
  static constexpr int kTileK = 8;
  static constexpr int kThreadM = 4;
  static constexpr int kThreadN = 4;
  static constexpr int kSlicesK = 1;
  static constexpr int kStages = 2;
  static constexpr int kFragment = 4;
  static constexpr int kVectorA = 1;
  static constexpr int kVectorB = 1;
  static constexpr int kVectorC = 1;
  static constexpr int kGroupM = 1;
  static constexpr int kBlocks = 1;
};

struct A {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
  static constexpr int kLoads = 1;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    return inputs;
  }
  static constexpr int kStores = 0;
  static constexpr bool kIsPlainLoad = true;
  using Result = float;
  // What is stored, and what is returned.
  template <int kWidth>
  struct Outputs {
    Vector<Result, kWidth> result{};
  };
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Outputs<kWidth> evaluate(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Outputs<kWidth> outputs;
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = inputs.load0[lane];
      outputs.result[lane] = v0;
    }
    return outputs;
  }
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static void put(const A &arguments, const At &at, const Outputs<kWidth> &outputs) {
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    const auto outputs = evaluate<kWidth>(arguments, at, inputs, parameters...);
    put(arguments, at, outputs);
    return outputs.result;
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> apply(const A &arguments, const At &at, const P &...parameters) {
    return compute<kWidth>(arguments, at, load<kWidth>(arguments, at), parameters...);
  }
};

struct B {
  using Load0 = Load<1, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
  static constexpr int kLoads = 1;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    return inputs;
  }
  static constexpr int kStores = 0;
  static constexpr bool kIsPlainLoad = true;
  using Result = float;
  // What is stored, and what is returned.
  template <int kWidth>
  struct Outputs {
    Vector<Result, kWidth> result{};
  };
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Outputs<kWidth> evaluate(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Outputs<kWidth> outputs;
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = inputs.load0[lane];
      outputs.result[lane] = v0;
    }
    return outputs;
  }
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static void put(const A &arguments, const At &at, const Outputs<kWidth> &outputs) {
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    const auto outputs = evaluate<kWidth>(arguments, at, inputs, parameters...);
    put(arguments, at, outputs);
    return outputs.result;
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> apply(const A &arguments, const At &at, const P &...parameters) {
    return compute<kWidth>(arguments, at, load<kWidth>(arguments, at), parameters...);
  }
};

struct Epilogue {
  static constexpr int kLoads = 0;
  template <int kWidth>
  struct Inputs {
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    return inputs;
  }
  using Store0 = Store<2, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
  static constexpr int kStores = 1;
  static constexpr bool kIsPlainLoad = false;
  using Result = nautilus::Nothing;
  // What is stored, and what is returned.
  template <int kWidth>
  struct Outputs {
    Vector<typename Store0::Compute, kWidth> store0;
    Vector<Result, kWidth> result{};
  };
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Outputs<kWidth> evaluate(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Outputs<kWidth> outputs;
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = parameter<0>(parameters...)[lane];
      outputs.store0[lane] = v0;
    }
    return outputs;
  }
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static void put(const A &arguments, const At &at, const Outputs<kWidth> &outputs) {
    Store0::template put<kWidth>(arguments, at, outputs.store0);
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    const auto outputs = evaluate<kWidth>(arguments, at, inputs, parameters...);
    put(arguments, at, outputs);
    return outputs.result;
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> apply(const A &arguments, const At &at, const P &...parameters) {
    return compute<kWidth>(arguments, at, load<kWidth>(arguments, at), parameters...);
  }
};


}  // namespace gemm_0e7e62653e037f3e_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(nautilus::kernels::kProductThreads<gemm_0e7e62653e037f3e_::Schedule>, gemm_0e7e62653e037f3e_::Schedule::kBlocks)
gemm_0e7e62653e037f3e(const NAUTILUS_GRID_CONSTANT gemm_0e7e62653e037f3e_::Arguments arguments) {
  using namespace gemm_0e7e62653e037f3e_;
  nautilus::kernels::gemm<Problem, Schedule, A, B, Epilogue>(arguments);
}
NAUTILUS_EXPORT(gemm_0e7e62653e037f3e)
