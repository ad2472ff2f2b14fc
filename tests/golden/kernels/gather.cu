#include <nautilus/kernels/gather.cuh>

namespace gather_834930d920c90c66_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<5, 0>;

struct Problem {
  using Index = int;
  using Data = nautilus::half;
  using Rows = Static<31>;
  using Columns = Static<8>;
  using DataSlot = Static<0>;
  static constexpr int kExtentsCount = 1;
  static constexpr long long kExtents[] = {13};
  static constexpr int kStridesCount = 1;
  static constexpr long long kStrides[] = {8};
};

struct Schedule {
  static constexpr int kThreads = 64;
  static constexpr int kColumnThreads = 8;
  static constexpr int kVector = 4;
};

struct Base {
  using Load0 = Load<0, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<31>, Static<0>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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

struct Index0 {
  using Load0 = Load<1, int, Map<Stage<Static<0>, Digits<Axis<Static<31>, Static<1>>>>>>;
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
  using Result = int;
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
      const int v0 = inputs.load0[lane];
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
  using Load0 = Load<2, float, Map<Stage<Static<0>, Digits<Axis<Static<31>, Static<0>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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
  using Store0 = Store<3, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<31>, Static<8>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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
      const float v2 = math::add(v0, v1);
      outputs.store0[lane] = v2;
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

}  // namespace gather_834930d920c90c66_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(gather_834930d920c90c66_::Schedule::kThreads)
gather_834930d920c90c66(const NAUTILUS_GRID_CONSTANT gather_834930d920c90c66_::Arguments arguments) {
  using namespace gather_834930d920c90c66_;
  nautilus::kernels::gather<Problem, Schedule, Base, Index0, Epilogue>(arguments);
}
NAUTILUS_EXPORT(gather_834930d920c90c66)
