#include <nautilus/kernels/recurrent.cuh>

namespace recurrent_6d8d03d29d8a3fa6_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<9, 0>;
struct Problem {
  using Index = int;
  using Accumulate = float;
  using Storage = float;
  using Steps = Static<3>;
  using Batch = Static<3>;
  using Directions = Static<1>;
  using Hidden = Static<16>;
  using Gates = Static<4>;
  using EarlyGates = Static<4>;
  static constexpr bool kIsReverse = false;
  static constexpr bool kHasCarry = true;
  static constexpr bool kIsSpilled = false;
  static constexpr bool kIsQuantised = false;
};

struct Schedule {
  static constexpr int kUnitThreads = 8;
  static constexpr int kSlices = 8;
  static constexpr int kVector = 4;
  static constexpr int kRows = 4;
  static constexpr bool kIsResident = true;
};

struct Weight {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<16>, Static<64>>>, Digits<Axis<Static<4>, Static<16>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
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

struct Length {
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
      const int v0 = constant_i32(0x00000003u);  // 3
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

struct FirstHidden {
  using Load0 = Load<6, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<16>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
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

struct FirstCarry {
  using Load0 = Load<7, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<16>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
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

struct Carry {
  using Load0 = Load<1, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<0>>>, Digits<Axis<Static<3>, Static<0>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  using Load1 = Load<2, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<192>>>, Digits<Axis<Static<3>, Static<64>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  using Load2 = Load<1, float, Map<Stage<Static<32>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<0>>>, Digits<Axis<Static<3>, Static<0>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  using Load3 = Load<2, float, Map<Stage<Static<32>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<192>>>, Digits<Axis<Static<3>, Static<64>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  using Load4 = Load<2, float, Map<Stage<Static<48>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<192>>>, Digits<Axis<Static<3>, Static<64>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  static constexpr int kLoads = 5;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
    Vector<typename Load1::Compute, kWidth> load1;
    Vector<typename Load2::Compute, kWidth> load2;
    Vector<typename Load3::Compute, kWidth> load3;
    Vector<typename Load4::Compute, kWidth> load4;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    inputs.load1 = Load1::template at<kWidth>(arguments, at);
    inputs.load2 = Load2::template at<kWidth>(arguments, at);
    inputs.load3 = Load3::template at<kWidth>(arguments, at);
    inputs.load4 = Load4::template at<kWidth>(arguments, at);
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
      const float v0 = parameter<1>(parameters...)[lane];
      const float v1 = parameter<2>(parameters...)[lane];
      const float v8 = parameter<4>(parameters...)[lane];
      const float v15 = parameter<5>(parameters...)[lane];
      const float v2 = inputs.load0[lane];
      const float v5 = inputs.load1[lane];
      const float v9 = inputs.load2[lane];
      const float v12 = inputs.load3[lane];
      const float v16 = inputs.load4[lane];
      const float v3 = math::mul(v2, v0);
      const float v4 = math::add(v1, v3);
      const float v6 = math::add(v5, v4);
      const float v7 = math::sigmoid(v6);
      const float v10 = math::mul(v9, v0);
      const float v11 = math::add(v8, v10);
      const float v13 = math::add(v12, v11);
      const float v14 = math::sigmoid(v13);
      const float v17 = math::add(v16, v15);
      const float v18 = math::tanh(v17);
      const float v19 = math::mul(v7, v18);
      const float v20 = math::mul(v14, v0);
      const float v21 = math::add(v20, v19);
      outputs.result[lane] = v21;
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

struct Middle {
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
      const float v0 = constant_f32(0x00000000u);  // 0x0.0p+0
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

struct Hidden {
  using Load0 = Load<1, float, Map<Stage<Static<16>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<0>>>, Digits<Axis<Static<3>, Static<0>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  using Load1 = Load<2, float, Map<Stage<Static<16>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<192>>>, Digits<Axis<Static<3>, Static<64>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
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
      const float v0 = parameter<1>(parameters...)[lane];
      const float v1 = parameter<3>(parameters...)[lane];
      const float v2 = inputs.load0[lane];
      const float v5 = inputs.load1[lane];
      const float v3 = math::mul(v2, v0);
      const float v4 = math::add(v1, v3);
      const float v6 = math::add(v5, v4);
      const float v7 = math::sigmoid(v6);
      const float v8 = math::tanh(v0);
      const float v9 = math::mul(v7, v8);
      outputs.result[lane] = v9;
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

struct Output {
  static constexpr int kLoads = 0;
  template <int kWidth>
  struct Inputs {
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    return inputs;
  }
  using Store0 = Store<3, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<48>>>, Digits<Axis<Static<3>, Static<16>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
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

struct Final {
  static constexpr int kLoads = 0;
  template <int kWidth>
  struct Inputs {
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    return inputs;
  }
  using Store0 = Store<4, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<16>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
  using Store1 = Store<5, float, Map<Stage<Static<0>, Digits<Axis<Static<1>, Static<0>>>, Digits<Axis<Static<3>, Static<16>>>, Digits<Axis<Static<16>, Static<1>>>>>>;
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
      const float v1 = parameter<1>(parameters...)[lane];
      outputs.store0[lane] = v0;
      outputs.store1[lane] = v1;
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

struct Scratch {
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


using Cell = nautilus::kernels::RecurrentCell<Weight, Length, FirstHidden, FirstCarry, Carry, Middle, Hidden, Output, Final, Scratch>;
}  // namespace recurrent_6d8d03d29d8a3fa6_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(nautilus::kernels::kRecurrentThreads<recurrent_6d8d03d29d8a3fa6_::Schedule>)
recurrent_6d8d03d29d8a3fa6(const NAUTILUS_GRID_CONSTANT recurrent_6d8d03d29d8a3fa6_::Arguments arguments) {
  using namespace recurrent_6d8d03d29d8a3fa6_;
  nautilus::kernels::recurrent<Problem, Schedule, Cell>(arguments);
}
NAUTILUS_EXPORT(recurrent_6d8d03d29d8a3fa6)
