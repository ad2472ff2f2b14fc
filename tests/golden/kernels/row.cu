#include <nautilus/kernels/row.cuh>

namespace row_3f7341db6f0b654c_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<8, 0>;

struct Problem {
  using Index = int;
  using Rows = Static<9>;
  using Columns = Static<64>;
  using ElementBytes = Static<4>;
  static constexpr bool kRowMajor = true;
};

struct Schedule {
  static constexpr int kThreads = 128;
  static constexpr int kRowLanes = 1;
  static constexpr int kColumnThreads = 4;
  static constexpr int kVector = 8;
  static constexpr int kItems = 2;
};

struct Program {
  using Load0 = Load<0, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Load1 = Load<1, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
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

struct Reduction0 {
using Combine = nautilus::Sum;

struct Term {
  using Load0 = Load<0, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Load1 = Load<1, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
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

  // Takes what the program holds for it and reads the rest.
  template <int kWidth, class A, class At, class Held>
  NAUTILUS_DEVICE static Inputs<kWidth> resume(const A &arguments, const At &at, const Held &held) {
    Inputs<kWidth> inputs;
    inputs.load0 = held.load0;
    inputs.load1 = held.load1;
    return inputs;
  }
};

struct Finish {
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
      const float v0 = parameter<0>(parameters...)[lane];
      const float v1 = constant_f32(0x42800000u);  // 0x1.0000000000000p+6
      const float v2 = math::div(v0, v1);
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
};

struct Reduction1 {
using Combine = nautilus::Sum;

struct Term {
  using Load0 = Load<0, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Load1 = Load<1, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
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
      const float v3 = parameter<0>(parameters...)[lane];
      const float v0 = inputs.load0[lane];
      const float v1 = inputs.load1[lane];
      const float v2 = math::add(v0, v1);
      const float v4 = math::sub(v2, v3);
      const float v5 = math::mul(v4, v4);
      outputs.result[lane] = v5;
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

  // Takes what the program holds for it and reads the rest.
  template <int kWidth, class A, class At, class Held>
  NAUTILUS_DEVICE static Inputs<kWidth> resume(const A &arguments, const At &at, const Held &held) {
    Inputs<kWidth> inputs;
    inputs.load0 = held.load0;
    inputs.load1 = held.load1;
    return inputs;
  }
};

struct Finish {
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
      const float v0 = parameter<1>(parameters...)[lane];
      const float v1 = constant_f32(0x42800000u);  // 0x1.0000000000000p+6
      const float v3 = constant_f32(0x3727c5acu);  // 0x1.4f8b588e368f1p-17
      const float v2 = math::div(v0, v1);
      const float v4 = math::add(v2, v3);
      const float v5 = math::sqrt(v4);
      outputs.result[lane] = v5;
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
};

using Reductions = Pack<Reduction0, Reduction1>;

struct ColumnEpilogue {
  using Load0 = Load<0, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Load1 = Load<1, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Load2 = Load<2, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<0>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Load3 = Load<3, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<0>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  static constexpr int kLoads = 4;
  template <int kWidth>
  struct Inputs {
    Vector<typename Load0::Compute, kWidth> load0;
    Vector<typename Load1::Compute, kWidth> load1;
    Vector<typename Load2::Compute, kWidth> load2;
    Vector<typename Load3::Compute, kWidth> load3;
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    inputs.load0 = Load0::template at<kWidth>(arguments, at);
    inputs.load1 = Load1::template at<kWidth>(arguments, at);
    inputs.load2 = Load2::template at<kWidth>(arguments, at);
    inputs.load3 = Load3::template at<kWidth>(arguments, at);
    return inputs;
  }
  using Store0 = Store<4, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
  using Store1 = Store<5, nautilus::half, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<64>>>, Digits<Axis<Static<64>, Static<1>>>>>>;
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
      const float v3 = parameter<0>(parameters...)[lane];
      const float v5 = parameter<1>(parameters...)[lane];
      const float v0 = inputs.load0[lane];
      const float v1 = inputs.load1[lane];
      const float v7 = inputs.load2[lane];
      const float v9 = inputs.load3[lane];
      const float v11 = inputs.load0[lane];
      const float v12 = inputs.load1[lane];
      const float v2 = math::add(v0, v1);
      const float v4 = math::sub(v2, v3);
      const float v6 = math::div(v4, v5);
      const float v8 = math::mul(v6, v7);
      const float v10 = math::add(v8, v9);
      const float v13 = math::add(v11, v12);
      outputs.store0[lane] = v10;
      outputs.store1[lane] = v13;
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

  // Takes what the program holds for it and reads the rest.
  template <int kWidth, class A, class At, class Held>
  NAUTILUS_DEVICE static Inputs<kWidth> resume(const A &arguments, const At &at, const Held &held) {
    Inputs<kWidth> inputs;
    inputs.load0 = held.load0;
    inputs.load1 = held.load1;
    inputs.load2 = Load2::template at<kWidth>(arguments, at);
    inputs.load3 = Load3::template at<kWidth>(arguments, at);
    return inputs;
  }
};

struct RowEpilogue {
  static constexpr int kLoads = 0;
  template <int kWidth>
  struct Inputs {
  };
  template <int kWidth, class A, class At>
  NAUTILUS_DEVICE static Inputs<kWidth> load(const A &arguments, const At &at) {
    Inputs<kWidth> inputs;
    return inputs;
  }
  using Store0 = Store<6, float, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<1>>>>>>;
  using Store1 = Store<7, float, Map<Stage<Static<0>, Digits<Axis<Static<9>, Static<1>>>>>>;
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
};

}  // namespace row_3f7341db6f0b654c_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(row_3f7341db6f0b654c_::Schedule::kThreads)
row_3f7341db6f0b654c(const NAUTILUS_GRID_CONSTANT row_3f7341db6f0b654c_::Arguments arguments) {
  using namespace row_3f7341db6f0b654c_;
  nautilus::kernels::row<Problem, Schedule, Program>(arguments);
}
NAUTILUS_EXPORT(row_3f7341db6f0b654c)
