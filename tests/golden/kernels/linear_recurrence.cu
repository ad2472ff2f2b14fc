#include <nautilus/kernels/linear_recurrence.cuh>

namespace linear_recurrence_11c88423b56ef51b_ {
using namespace nautilus;
using Arguments = nautilus::Arguments<8, 0>;
struct Problem {
  using Index = int;
  using Accumulate = float;
  using Batch = Static<2>;
  using Steps = Static<5>;
  using Heads = Static<3>;
  using Readers = Static<1>;
  using Keys = Static<7>;
  using Values = Static<8>;
  static constexpr bool kIsGated = true;
  static constexpr bool kIsDelta = true;
};

struct Schedule {
  static constexpr int kThreads = 32;
  static constexpr int kKeyThreads = 4;
  static constexpr int kVector = 2;
};

struct Query {
  using Load0 = Load<0, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<105>>>, Digits<Axis<Static<5>, Static<21>>>, Digits<Axis<Static<3>, Static<7>>>, Digits<Axis<Static<7>, Static<1>>>>>>;
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
      const float v1 = constant_f32(0x3f000000u);  // 0x1.0000000000000p-1
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

struct Key {
  using Load0 = Load<1, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<105>>>, Digits<Axis<Static<5>, Static<21>>>, Digits<Axis<Static<3>, Static<7>>>, Digits<Axis<Static<7>, Static<1>>>>>>;
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

struct Value {
  using Load0 = Load<2, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<120>>>, Digits<Axis<Static<5>, Static<24>>>, Digits<Axis<Static<3>, Static<8>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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

struct Decay {
  using Load0 = Load<3, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<105>>>, Digits<Axis<Static<5>, Static<21>>>, Digits<Axis<Static<3>, Static<7>>>, Digits<Axis<Static<7>, Static<1>>>>>>;
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
      const float v1 = math::exp(v0);
      outputs.result[lane] = v1;
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

struct Beta {
  using Load0 = Load<4, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<15>>>, Digits<Axis<Static<5>, Static<3>>>, Digits<Axis<Static<3>, Static<1>>>>>>;
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

struct First {
  using Load0 = Load<5, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<168>>>, Digits<Axis<Static<3>, Static<56>>>, Digits<Axis<Static<7>, Static<8>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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
  using Store0 = Store<6, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<120>>>, Digits<Axis<Static<5>, Static<24>>>, Digits<Axis<Static<3>, Static<8>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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
  using Store0 = Store<7, float, Map<Stage<Static<0>, Digits<Axis<Static<2>, Static<168>>>, Digits<Axis<Static<3>, Static<56>>>, Digits<Axis<Static<7>, Static<8>>>, Digits<Axis<Static<8>, Static<1>>>>>>;
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


using Parts = nautilus::kernels::LinearRecurrenceParts<Query, Key, Value, Decay, Beta, First, Output, Final>;
}  // namespace linear_recurrence_11c88423b56ef51b_

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(linear_recurrence_11c88423b56ef51b_::Schedule::kThreads)
linear_recurrence_11c88423b56ef51b(const NAUTILUS_GRID_CONSTANT linear_recurrence_11c88423b56ef51b_::Arguments arguments) {
  using namespace linear_recurrence_11c88423b56ef51b_;
  nautilus::kernels::linear_recurrence<Problem, Schedule, Parts>(arguments);
}
NAUTILUS_EXPORT(linear_recurrence_11c88423b56ef51b)
