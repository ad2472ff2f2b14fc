#include <nautilus/kernels/conv_transpose.cuh>

namespace conv_transpose_365d3d827cf4b170_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<6, 0>;
struct Problem {
  using Index = int;
  using Accumulate = float;
  using XStorage = float;
  using WeightStorage = float;
  using Batch = Static<1>;
  using InHeight = Static<6>;
  using InWidth = Static<5>;
  using OutHeight = Static<12>;
  using OutWidth = Static<10>;
  using KernelHeight = Static<4>;
  using KernelWidth = Static<4>;
  using StrideHeight = Static<2>;
  using StrideWidth = Static<2>;
  using DilationHeight = Static<1>;
  using DilationWidth = Static<1>;
  using PadTop = Static<1>;
  using PadLeft = Static<1>;
  using InDepth = Static<1>;
  using OutDepth = Static<1>;
  using KernelDepth = Static<1>;
  using StrideDepth = Static<1>;
  using DilationDepth = Static<1>;
  using PadFront = Static<0>;
  using Groups = Static<1>;
  using InChannels = Static<8>;
  using OutChannels = Static<20>;
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
  static constexpr int kVectorA = 4;
  static constexpr int kVectorB = 4;
  static constexpr int kVectorC = 4;
  static constexpr int kGroupM = 1;
  static constexpr int kBlocks = 1;
};

struct X {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<6>, Static<40>>>, Digits<Axis<Static<5>, Static<8>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
  using Load1 = Load<3, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<6>, Static<0>>>, Digits<Axis<Static<5>, Static<0>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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
      const float v2 = math::add(v0, v1);
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

struct Weight {
  using Load0 = Load<1, float, Map<Stage<Static<0>, Digits<Axis<Static<20>, Static<128>>>, Digits<Axis<Static<4>, Static<32>>>, Digits<Axis<Static<32>, Static<1>>>>>>;
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
  using Load0 = Load<4, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<12>, Static<0>>>, Digits<Axis<Static<10>, Static<0>>>, Digits<Axis<Static<20>, Static<1>>>>>>;
  using Load1 = Load<5, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<12>, Static<200>>>, Digits<Axis<Static<10>, Static<20>>>, Digits<Axis<Static<20>, Static<1>>>>>>;
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
  using Store0 = Store<2, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<12>, Static<200>>>, Digits<Axis<Static<10>, Static<20>>>, Digits<Axis<Static<20>, Static<1>>>>>>;
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
      const float v1 = inputs.load0[lane];
      const float v3 = inputs.load1[lane];
      const float v2 = math::add(v0, v1);
      const float v4 = math::add(v2, v3);
      const float v5 = math::relu(v4);
      outputs.store0[lane] = v5;
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


}  // namespace conv_transpose_365d3d827cf4b170_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(nautilus::kernels::kProductThreads<conv_transpose_365d3d827cf4b170_::Schedule>, conv_transpose_365d3d827cf4b170_::Schedule::kBlocks)
conv_transpose_365d3d827cf4b170(const NAUTILUS_GRID_CONSTANT conv_transpose_365d3d827cf4b170_::Arguments arguments) {
  using namespace conv_transpose_365d3d827cf4b170_;
  nautilus::kernels::conv_transpose<Problem, Schedule, X, Weight, Epilogue>(arguments);
}
NAUTILUS_EXPORT(conv_transpose_365d3d827cf4b170)
