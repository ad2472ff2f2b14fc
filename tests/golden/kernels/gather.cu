#include <nautilus/kernels/gather.cuh>

namespace gather_bddef8fddceda4b0_ {
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
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Vector<Result, kWidth> result{};
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = inputs.load0[lane];
      result[lane] = v0;
    }
    return result;
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
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Vector<Result, kWidth> result{};
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const int v0 = inputs.load0[lane];
      result[lane] = v0;
    }
    return result;
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
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> compute(const A &arguments, const At &at, const Inputs<kWidth> &inputs, const P &...parameters) {
    Vector<typename Store0::Compute, kWidth> store0;
    Vector<Result, kWidth> result{};
    NAUTILUS_UNROLL
    for (int lane = 0; lane < kWidth; ++lane) {
      const float v0 = parameter<0>(parameters...)[lane];
      const float v1 = inputs.load0[lane];
      const float v2 = math::add(v0, v1);
      store0[lane] = v2;
    }
    Store0::template put<kWidth>(arguments, at, store0);
    return result;
  }
  template <int kWidth, class A, class At, class... P>
  NAUTILUS_DEVICE static Vector<Result, kWidth> apply(const A &arguments, const At &at, const P &...parameters) {
    return compute<kWidth>(arguments, at, load<kWidth>(arguments, at), parameters...);
  }
};

}  // namespace gather_bddef8fddceda4b0_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(gather_bddef8fddceda4b0_::Schedule::kThreads)
gather_bddef8fddceda4b0(const NAUTILUS_GRID_CONSTANT gather_bddef8fddceda4b0_::Arguments arguments) {
  using namespace gather_bddef8fddceda4b0_;
  nautilus::kernels::gather<Problem, Schedule, Base, Index0, Epilogue>(arguments);
}
NAUTILUS_EXPORT(gather_bddef8fddceda4b0)
