#include <nautilus/kernels/elimination.cuh>

namespace elimination_3bf3632cefe50801_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<2, 0>;
struct Problem {
  using Index = int;
  using Value = float;
  using Matrices = Static<3>;
  using Order = Static<5>;
  static constexpr bool kIsInverse = false;
};

struct Schedule {
  static constexpr int kThreads = 3;
  static constexpr int kTeamThreads = 1;
};

struct X {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<3>, Static<25>>>, Digits<Axis<Static<5>, Static<1>>>, Digits<Axis<Static<5>, Static<5>>>>>>;
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
      const float v1 = constant_f32(0xbf000000u);  // -0x1.0000000000000p-1
      const float v2 = math::mul(v0, v1);
      outputs.result[lane] = v2;
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
  using Store0 = Store<1, float, Map<Stage<Static<0>, Digits<Axis<Static<3>, Static<1>>>>>>;
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
      const float v1 = constant_f32(0xbf000000u);  // -0x1.0000000000000p-1
      const float v2 = math::mul(v0, v1);
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


}  // namespace elimination_3bf3632cefe50801_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(elimination_3bf3632cefe50801_::Schedule::kThreads)
elimination_3bf3632cefe50801(const NAUTILUS_GRID_CONSTANT elimination_3bf3632cefe50801_::Arguments arguments) {
  using namespace elimination_3bf3632cefe50801_;
  nautilus::kernels::elimination<Problem, Schedule, X, Epilogue>(arguments);
}
NAUTILUS_EXPORT(elimination_3bf3632cefe50801)
