// Linear recurrence family: the memory of linear attention.
//
// A sequence and head have a state S of keys × values. A step multiplies its rows by Decay, adds Key ⊗ (Value, or Beta times the
// difference of Value and what Key reads), and each reading head takes Query · S. Columns do not know of each other: a block takes some
// of them, and kKeyThreads neighbouring lanes share kVector columns, each with every kKeyThreads-th row of them in registers. So a step
// needs no barrier; sums over the keys go through shuffles. What the next step reads is on its way while a step is computed.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

template <class QueryType, class KeyType, class ValueType, class DecayType, class BetaType, class FirstType, class OutputType,
          class FinalType>
struct LinearRecurrenceParts {
  using Query = QueryType;
  using Key = KeyType;
  using Value = ValueType;
  using Decay = DecayType;
  using Beta = BetaType;
  using First = FirstType;
  using Output = OutputType;
  using Final = FinalType;
};

template <class Problem, class Schedule, class Parts, class A>
struct LinearRecurrenceKernel {
  using Index = typename Problem::Index;
  using Sum = typename Problem::Accumulate;
  enum : int {
    kVector = Schedule::kVector,
    kKeyThreads = Schedule::kKeyThreads,
    kKeys = static_cast<int>(Problem::Keys::kValue),
    kReaders = static_cast<int>(Problem::Readers::kValue),
    kRows = (kKeys + kKeyThreads - 1) / kKeyThreads,
    kIsRagged = kKeys % kKeyThreads != 0,
    kColumnsBlock = Schedule::kThreads / kKeyThreads * kVector
  };
  using Columns = Vector<Sum, kVector>;

  // What a step reads, but for the queries: they are not needed until the state is right.
  struct Step {
    Sum key[kRows > 0 ? kRows : 1];
    Sum decay[kRows > 0 && Problem::kIsGated ? kRows : 1];
    Columns value;
    Sum beta;
  };

  const A &arguments;
  Index sequence, head;
  Index column;    // the first of this thread
  Index key_lane;  // among the lanes that share the columns
  bool is_active;
  Columns state[kRows > 0 ? kRows : 1];

  NAUTILUS_DEVICE explicit LinearRecurrenceKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const Index heads = static_cast<Index>(Problem::Heads::get(arguments));
    const Index values = static_cast<Index>(Problem::Values::get(arguments));
    const Index tiles = ceil_divide(values, Static<kColumnsBlock>());
    const Index block = static_cast<Index>(device::block_index().x);
    const Index owner = block / tiles;
    sequence = owner / heads;
    head = owner - sequence * heads;
    const int thread = device::thread_index().x;
    column = (block - owner * tiles) * kColumnsBlock + thread / kKeyThreads * kVector;
    key_lane = thread % kKeyThreads;
    // Lanes without columns go along: the others need them at shuffles.
    is_active = column < values;
    if (!is_active) column = 0;
  }

  NAUTILUS_DEVICE void run() {
    device::dependency_wait();
    if constexpr (!Problem::Batch::kIsStatic) {
      if (sequence >= static_cast<Index>(Problem::Batch::get(arguments))) return;  // of no sequences there is a block all the same
    }
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      state[row] = splat<kVector>(Sum(0));
      if (exists(row)) state[row] = Parts::First::template apply<kVector>(arguments, coordinates<Index>(sequence, head, key_of(row), column));
    }
    const Index steps = static_cast<Index>(Problem::Steps::get(arguments));
    Step next;
    if (steps > 0) next = read(0);
    for (Index step = 0; step < steps; ++step) {
      const Step current = next;
      if (step + 1 < steps) next = read(step + 1);
      advance(step, current);
    }
    if constexpr (Parts::Final::kStores > 0) {
      NAUTILUS_UNROLL
      for (int row = 0; row < kRows; ++row) {
        if (is_active && exists(row)) {
          Parts::Final::template apply<kVector>(arguments, coordinates<Index>(sequence, head, key_of(row), column), state[row]);
        }
      }
    }
    device::dependency_trigger();
  }

 private:
  NAUTILUS_DEVICE Index key_of(int row) const { return row * kKeyThreads + key_lane; }
  NAUTILUS_DEVICE bool exists(int row) const { return !kIsRagged || key_of(row) < kKeys; }

  NAUTILUS_DEVICE Step read(Index step) const {
    Step found;
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      found.key[row] = Sum(0);
      if constexpr (Problem::kIsGated) found.decay[row] = Sum(1);
      if (exists(row)) {
        const auto at = coordinates<Index>(sequence, step, head, key_of(row));
        found.key[row] = Parts::Key::template apply<1>(arguments, at)[0];
        if constexpr (Problem::kIsGated) found.decay[row] = Parts::Decay::template apply<1>(arguments, at)[0];
      }
    }
    found.value = Parts::Value::template apply<kVector>(arguments, coordinates<Index>(sequence, step, head, column));
    found.beta = Sum(1);
    if constexpr (Problem::kIsDelta) found.beta = Parts::Beta::template apply<1>(arguments, coordinates<Index>(sequence, step, head))[0];
    return found;
  }

  NAUTILUS_DEVICE void advance(Index step, const Step &given) {
    if constexpr (Problem::kIsGated) {
      NAUTILUS_UNROLL
      for (int row = 0; row < kRows; ++row) {
        NAUTILUS_UNROLL
        for (int lane = 0; lane < kVector; ++lane) state[row][lane] *= given.decay[row];
      }
    }
    Columns added = given.value;
    if constexpr (Problem::kIsDelta) {
      const Columns known = product(given.key);
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) added[lane] = given.beta * (added[lane] - known[lane]);
    }
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) state[row][lane] += given.key[row] * added[lane];
    }
    if constexpr (Parts::Output::kStores > 0) {
      for (int reader = 0; reader < kReaders; ++reader) {
        const Index reading = head * kReaders + reader;
        Sum query[kRows > 0 ? kRows : 1];
        NAUTILUS_UNROLL
        for (int row = 0; row < kRows; ++row) {
          query[row] = Sum(0);
          if (exists(row)) {
            query[row] = Parts::Query::template apply<1>(arguments, coordinates<Index>(sequence, step, reading, key_of(row)))[0];
          }
        }
        const Columns result = product(query);
        if (is_active && key_lane == 0) {
          Parts::Output::template apply<kVector>(arguments, coordinates<Index>(sequence, step, reading, column), result);
        }
      }
    }
  }

  // The sum of the state's rows, each times its weight.
  template <int kCount>
  NAUTILUS_DEVICE Columns product(const Sum (&weights)[kCount]) const {
    Columns total = splat<kVector>(Sum(0));
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) total[lane] += weights[row] * state[row][lane];
    }
    NAUTILUS_UNROLL
    for (int distance = kKeyThreads / 2; distance > 0; distance /= 2) {
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) total[lane] += device::shuffle_xor(total[lane], distance);
    }
    return total;
  }
};

template <class Problem, class Schedule, class Parts, class A>
NAUTILUS_DEVICE void linear_recurrence(const A &arguments) {
  LinearRecurrenceKernel<Problem, Schedule, Parts, A>(arguments).run();
}

}  // namespace nautilus::kernels
