#include <nautilus/kernels/gemm_mma.cuh>

namespace gemm_mma_19e19c5b489fa379_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<7, 0>;
struct Problem {
  using Index = int;
  using Multiply = nautilus::half;
  using Accumulate = float;
  using AStorage = nautilus::half;
  using BStorage = nautilus::half;
  using Batch = Static<2>;
  using M = Static<37>;
  using N = Static<24>;
  using K = Static<40>;
  using Terms = Static<1>;
  using AWork = Static<0>;
  using PartColumns = Static<0>;
  using MomentParts = Static<0>;
  using MomentColumns = Static<0>;
  static constexpr bool kAKLast = true;
  static constexpr bool kBKLast = false;
  static constexpr bool kBIsConstant = false;
  static constexpr bool kIsPaired = false;
};

struct Schedule {
  static constexpr int kTileM = 32;
  static constexpr int kTileN = 32;
  static constexpr int kTileK = 32;
  static constexpr int kWarpM = 16;
  static constexpr int kWarpN = 16;
  static constexpr int kSlicesK = 1;
  static constexpr int kStages = 2;
  static constexpr int kVectorA = 8;
  static constexpr int kVectorB = 8;
  static constexpr int kVectorC = 4;
  static constexpr int kGroupM = 1;
  static constexpr int kBlocks = 1;
  static constexpr int kClusterK = 1;
};

struct A {
  using Load0 = Load<0, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<1480>>>, Digits<Axis<Static<37>, Static<40>>>, Digits<Axis<Static<40>, Static<1>>>>>>;
  using Load1 = Load<2, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<0>>>, Digits<Axis<Static<37>, Static<1>>>, Digits<Axis<Static<40>, Static<0>>>>>>;
  static constexpr int kLoads = 2;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
    Vector<typename Load1::Compute, kWidth> load1;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    inputs.load1 = Load1::template at<kWidth>(arguments, at);
    return inputs;
  }
  static constexpr int kStores = 0;
  static constexpr bool kIsPlainLoad = false;
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
      const float v1 = inputs.load1[lane];
      const float v2 = math::mul(v0, v1);
      const float v3 = math::relu(v2);
      outputs.result[lane] = v3;
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
  using Load0 = Load<1, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<960>>>, Digits<Axis<Static<40>, Static<24>>>, Digits<Axis<Static<24>, Static<1>>>>>>;
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
  using Load0 = Load<3, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<0>>>, Digits<Axis<Static<37>, Static<0>>>, Digits<Axis<Static<24>, Static<1>>>>>>;
  using Load1 = Load<4, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<888>>>, Digits<Axis<Static<37>, Static<24>>>, Digits<Axis<Static<24>, Static<1>>>>>>;
  static constexpr int kLoads = 2;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
    Vector<typename Load1::Compute, kWidth> load1;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    inputs.load1 = Load1::template at<kWidth>(arguments, at);
    return inputs;
  }
  using Store0 = Store<5, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<888>>>, Digits<Axis<Static<37>, Static<1>>>, Digits<Axis<Static<24>, Static<37>>>>>>;
  using Store1 = Store<6, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<888>>>, Digits<Axis<Static<37>, Static<24>>>, Digits<Axis<Static<24>, Static<1>>>>>>;
  static constexpr int kStores = 2;
  static constexpr bool kIsPlainLoad = false;
  using Result = nautilus::Nothing;
  // What is stored, and what is returned.
  template <int kWidth>
  struct Outputs {
    Vector<typename Store0::Compute, kWidth> store0;
    Vector<typename Store1::Compute, kWidth> store1;
    Vector<Result, kWidth> result{};
  };
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Outputs<kWidth> evaluate(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Outputs<kWidth> outputs;
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = parameter<0>(parameters...)[lane];
      const float v1 = inputs.load0[lane];
      const float v3 = inputs.load1[lane];
      const float v6 = constant_f32(0x3f000000u);  // 0x1.0000000000000p-1
      const float v2 = math::add(v0, v1);
      const float v4 = math::add(v2, v3);
      const float v5 = math::relu(v4);
      const float v7 = math::mul(v4, v6);
      outputs.store0[lane] = v5;
      outputs.store1[lane] = v7;
    }
    return outputs;
  }
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static void put(const A &arguments, const At &at, const Outputs<kWidth> &outputs) {
    Store0::template put<kWidth>(arguments, at, outputs.store0);
    Store1::template put<kWidth>(arguments, at, outputs.store1);
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

struct Statistics {
  static constexpr int kLoads = 0;
  template <int kWidth>
  struct Inputs {
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    return inputs;
  }
  static constexpr int kStores = 0;
  static constexpr bool kIsPlainLoad = false;
  using Result = nautilus::Nothing;
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

struct Moments {
  static constexpr int kLoads = 0;
  template <int kWidth>
  struct Inputs {
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    return inputs;
  }
  static constexpr int kStores = 0;
  static constexpr bool kIsPlainLoad = false;
  using Result = nautilus::Nothing;
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


constexpr int kThreads = kernels::kMmaThreads<Schedule>;
}  // namespace gemm_mma_19e19c5b489fa379_

extern "C" __global__ void NAUTILUS_CLUSTER(gemm_mma_19e19c5b489fa379_::Schedule::kClusterK)
NAUTILUS_LAUNCH_BOUNDS(gemm_mma_19e19c5b489fa379_::kThreads, gemm_mma_19e19c5b489fa379_::Schedule::kBlocks)
gemm_mma_19e19c5b489fa379(const NAUTILUS_GRID_CONSTANT gemm_mma_19e19c5b489fa379_::Arguments arguments) {
  using namespace gemm_mma_19e19c5b489fa379_;
  nautilus::kernels::gemm_mma<Problem, Schedule, A, B, Epilogue, Statistics, Moments>(arguments);
}
NAUTILUS_EXPORT(gemm_mma_19e19c5b489fa379)
