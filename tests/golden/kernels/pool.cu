#include <nautilus/kernels/pool.cuh>

namespace pool_0bd05e6f3f4d4ede_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<2, 0>;
struct Problem {
  using Index = int;
  using Combine = nautilus::Max;
  using Divisor = nautilus::NoDivisor;
  using XStorage = float;
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
  using Channels = Static<1>;
  using PadBottom = Static<0>;
  using PadRight = Static<0>;
  using PadBack = Static<0>;
  static constexpr bool kHasIndices = false;
  static constexpr bool kIsColumnMajor = false;
};

struct Schedule {
  static constexpr int kThreads = 32;
  static constexpr int kLanes = 8;
  static constexpr int kVector = 1;
  static constexpr int kPixels = 1;
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
  using Store0 = Store<1, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<1>, Static<0>>>>>>;
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


}  // namespace pool_0bd05e6f3f4d4ede_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(pool_0bd05e6f3f4d4ede_::Schedule::kThreads)
pool_0bd05e6f3f4d4ede(const NAUTILUS_GRID_CONSTANT pool_0bd05e6f3f4d4ede_::Arguments arguments) {
  using namespace pool_0bd05e6f3f4d4ede_;
  nautilus::kernels::pool<Problem, Schedule, X, Epilogue>(arguments);
}
NAUTILUS_EXPORT(pool_0bd05e6f3f4d4ede)
