#include <nautilus/kernels/conv.cuh>

namespace conv_5c00493aebc32a6b_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<3, 0>;
struct Problem {
  using Index = int;
  using Accumulate = float;
  using XStorage = float;
  using WeightStorage = float;
  using Batch = Static<1>;
  using InHeight = Static<1>;
  using InWidth = Static<1>;
  using OutHeight = Static<1>;
  using OutWidth = Static<1>;
  using KernelHeight = Static<1>;
  using KernelWidth = Static<1>;
  using StrideHeight = Static<1>;
  using StrideWidth = Static<1>;
  using DilationHeight = Static<1>;
  using DilationWidth = Static<1>;
  using PadTop = Static<0>;
  using PadLeft = Static<0>;
  using InDepth = Static<1>;
  using OutDepth = Static<1>;
  using KernelDepth = Static<1>;
  using StrideDepth = Static<1>;
  using DilationDepth = Static<1>;
  using PadFront = Static<0>;
  using Groups = Static<1>;
  using InChannels = Static<1>;
  using OutChannels = Static<1>;
};

struct Schedule {
  static constexpr int kTileM = 16;
  static constexpr int kTileN = 16;
  static constexpr int kTileK = 16;
  static constexpr int kThreadM = 2;
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

struct X {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
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

struct Weight {
  using Load0 = Load<1, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
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
  using Store0 = Store<2, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
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


}  // namespace conv_5c00493aebc32a6b_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(nautilus::kernels::kProductThreads<conv_5c00493aebc32a6b_::Schedule>, conv_5c00493aebc32a6b_::Schedule::kBlocks)
conv_5c00493aebc32a6b(const NAUTILUS_GRID_CONSTANT conv_5c00493aebc32a6b_::Arguments arguments) {
  using namespace conv_5c00493aebc32a6b_;
  nautilus::kernels::conv<Problem, Schedule, X, Weight, Epilogue>(arguments);
}
NAUTILUS_EXPORT(conv_5c00493aebc32a6b)
