#include <nautilus/kernels/pointwise.cuh>

namespace pointwise_30b6afac167322f0_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<4, 0>;

struct Problem {
  using Index = int;
  using Elements = Static<160>;
  using ElementBytes = Static<4>;
  using Accesses = Static<2>;
};

struct Schedule {
  static constexpr int kThreads = 32;
  static constexpr int kVector = 4;
  static constexpr int kUnroll = 2;
};

struct Body {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<24>>, GuardedAxis<Static<10>, Static<8>, Static<0>, Static<3>>, Axis<Static<8>, Static<1>>>>>>;
  using Load1 = Load<1, float, Map<Stage<Static<-24>, Digits<Axis<Static<2>, Static<32>>, GuardedAxis<Static<10>, Static<8>, Static<3>, Static<7>>, Axis<Static<8>, Static<1>>>>>>;
  using Load2 = Load<2, float, Map<Stage<Static<-56>, Digits<Axis<Static<2>, Static<24>>, GuardedAxis<Static<10>, Static<8>, Static<7>, Static<10>>, Axis<Static<8>, Static<1>>>>>>;
  static constexpr int kLoads = 3;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
    Vector<typename Load1::Compute, kWidth> load1;
    Vector<typename Load2::Compute, kWidth> load2;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    inputs.load1 = Load1::template at<kWidth>(arguments, at);
    inputs.load2 = Load2::template at<kWidth>(arguments, at);
    return inputs;
  }
  using Inside0 = Inside<Map<Stage<Static<-24>, Digits<Axis<Static<2>, Static<32>>, GuardedAxis<Static<10>, Static<8>, Static<3>, Static<7>>, Axis<Static<8>, Static<1>>>>>>;
  using Inside1 = Inside<Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<24>>, GuardedAxis<Static<10>, Static<8>, Static<0>, Static<3>>, Axis<Static<8>, Static<1>>>>>>;
  using Store0 = Store<3, float, Map<Stage<Static<0>, Digits<Axis<Static<160>, Static<1>>>>>>;
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
    const auto inside0 = Inside0::template at<kWidth>(arguments, at);
    const auto inside1 = Inside1::template at<kWidth>(arguments, at);
    Outputs<kWidth> outputs;
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = inputs.load0[lane];
      const float v1 = inputs.load1[lane];
      const float v2 = inputs.load2[lane];
      const bool v3 = inside0[lane];
      const bool v5 = inside1[lane];
      const float v4 = math::where(v3, v1, v2);
      const float v6 = math::where(v5, v0, v4);
      outputs.store0[lane] = v6;
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

}  // namespace pointwise_30b6afac167322f0_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(pointwise_30b6afac167322f0_::Schedule::kThreads)
pointwise_30b6afac167322f0(const NAUTILUS_GRID_CONSTANT pointwise_30b6afac167322f0_::Arguments arguments) {
  using namespace pointwise_30b6afac167322f0_;
  nautilus::kernels::pointwise<Problem, Schedule, Body>(arguments);
}
NAUTILUS_EXPORT(pointwise_30b6afac167322f0)
