// Recurrent family: the part of LSTM, GRU and RNN that must walk through time.
//
// A block takes one direction of a few batch rows and all their hidden units, so that steps need a barrier of the block only. At each
// step the hidden states of all units are multiplied by the recurrent weights: a thread sums for kVector neighbouring units, all gates
// and all rows of the tile, over its slice of the previous state; slices are added in order. What a cell makes of the sums is a few
// functors, so that the kernel is the same for all cells:
//   carry = Carry(h, carry, sums...)            the cell state of an LSTM; the update gate of a GRU in two passes
//   h     = Hidden(h, carry, sums...)           where every gate multiplies the hidden state itself
//   middle = Middle(h, carry, early sums...)    else (a GRU) the later gates multiply this, in a second pass,
//   h     = Hidden(h, carry, late sums...)      and give the new state
// In a quantised problem the products take the hidden state rounded to 8 bits, each row by its own range.
// Every thread keeps to its own units, so the carry needs no barrier. Results after the end of a sequence are zero.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/convert.cuh>
#include <nautilus/core/coordinates.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/core/status.cuh>
#include <nautilus/core/vector.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// The functors of a cell. Coordinates: Weight (direction, k, gate, unit); Length (row); FirstHidden, FirstCarry and Final
// (direction, row, unit); Carry, Middle, Hidden and Output (direction, time, row, unit).
template <class WeightType, class LengthType, class FirstHiddenType, class FirstCarryType, class CarryType, class MiddleType, class HiddenType,
          class OutputType, class FinalType, class ScratchType>
struct RecurrentCell {
  using Weight = WeightType;
  using Length = LengthType;
  using FirstHidden = FirstHiddenType;
  using FirstCarry = FirstCarryType;
  using Carry = CarryType;
  using Middle = MiddleType;
  using Hidden = HiddenType;
  using Output = OutputType;
  using Final = FinalType;
  using Scratch = ScratchType;
};

template <class Schedule>
inline constexpr int kRecurrentThreads = Schedule::kUnitThreads *Schedule::kSlices;

// F at AT, given what it loads, some values, and then each sum.
template <class F, int kVector, class A, class At, class Inputs, class Sums, class... Given>
NAUTILUS_DEVICE auto with_sums(const A &arguments, const At &at, const Inputs &inputs, const Sums &sums, const Given &...given) {
  constexpr int kDone = static_cast<int>(sizeof...(Given)) - 2;
  if constexpr (kDone == Sums::kCount) {
    return F::template compute<kVector>(arguments, at, inputs, given...);
  } else {
    return with_sums<F, kVector>(arguments, at, inputs, sums, given..., sums.gate[kDone]);
  }
}

template <class Problem, class Schedule, class Cell, class A>
struct RecurrentKernel {
  using Index = typename Problem::Index;
  using Sum = typename Problem::Accumulate;
  using Storage = typename Problem::Storage;
  enum : int {
    kVector = Schedule::kVector,
    kUnitThreads = Schedule::kUnitThreads,
    kSlices = Schedule::kSlices,
    kRows = Schedule::kRows,
    kThreads = kUnitThreads * kSlices,
    kSpan = kUnitThreads * kVector,  // units of one round
    kGates = static_cast<int>(Problem::Gates::kValue),
    kEarly = static_cast<int>(Problem::EarlyGates::kValue),
    kLate = kGates - kEarly,
    kMostGates = kEarly > kLate ? kEarly : kLate,
    kItems = (kRows + kSlices - 1) / kSlices,  // rows of a tile that a thread finishes for its units
    kAhead = 4,                                // steps of k whose weights are on their way together
    kIsTwoPass = kLate > 0,
    kIsQuantised = Problem::kIsQuantised,
    kParts = 2 + kIsTwoPass + Problem::kHasCarry + kIsQuantised,  // arrays of a number for each row and unit
    kRangeThreads = kThreads / kRows < 1 ? 1 : kThreads / kRows < 32 ? kThreads / kRows : 32  // that look for the range of a row
  };
  using Units = Vector<Sum, kVector>;

  // Sums of one row.
  template <int kGateCount>
  struct Sums {
    enum : int { kCount = kGateCount };
    Units gate[kGateCount];
  };

  const A &arguments;
  Index direction;
  Index first_row;
  Index rows;  // of the tile that exist
  Index hidden;
  Index stride;  // of a row of states, so that each starts at a multiple of 16 bytes
  int place;
  int slice;
  Storage *resident;
  Sum *states;  // of all rows, twice: before and after a step
  Sum *carries;
  Sum *middles;
  Sum *quantised;
  Sum *partial;
  Sum *ranges;
  int turn;
  Index lengths[kItems];
  Index longest;

  NAUTILUS_DEVICE explicit RecurrentKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const Index batch = static_cast<Index>(Problem::Batch::get(arguments));
    const Index tiles = batch > 0 ? ceil_divide(batch, Static<kRows>()) : static_cast<Index>(1);
    const Index block = static_cast<Index>(device::block_index().x);
    direction = block / tiles;
    first_row = (block - direction * tiles) * kRows;
    rows = batch - first_row < kRows ? batch - first_row : static_cast<Index>(kRows);
    hidden = static_cast<Index>(Problem::Hidden::get(arguments));
    stride = ceil_divide(hidden, Static<4>()) * 4;
    place = device::thread_index().x % kUnitThreads;
    slice = device::thread_index().x / kUnitThreads;
    turn = 0;

    unsigned char *shared = device::dynamic_shared<unsigned char>();
    resident = reinterpret_cast<Storage *>(shared);
    if constexpr (Schedule::kIsResident) shared += (hidden * kGates * hidden * static_cast<Index>(sizeof(Storage)) + 15) / 16 * 16;
    states = reinterpret_cast<Sum *>(shared);
    partial = states + (Problem::kIsSpilled ? 0 : kParts * kRows * stride);
    if constexpr (Problem::kIsSpilled) states = Cell::Scratch::Store0::pointer(arguments) + block * (kParts * kRows * stride);
    middles = states + kRows * stride * 2;
    carries = states + kRows * stride * (kIsTwoPass ? 3 : 2);
    quantised = carries + (Problem::kHasCarry ? kRows * stride : 0);
    ranges = partial + (kSlices > 1 ? 2 * kSlices * kRows * kMostGates * kSpan : 0);
  }

  NAUTILUS_DEVICE void run() {
    device::dependency_wait();
    read_lengths();
    if constexpr (Schedule::kIsResident) read_weights();
    start();
    device::block_barrier();
    const Index steps = static_cast<Index>(Problem::Steps::get(arguments));
    for (Index step = 0; step < longest; ++step) advance(step);
    if constexpr (Cell::Output::kStores > 0) {
      for (Index step = longest; step < steps; ++step) pad(step);
    }
    finish();
    device::dependency_trigger();
  }

 private:
  NAUTILUS_DEVICE bool is_reverse() const { return Problem::kIsReverse || direction > 0; }
  // The row of the tile that this thread finishes as its item I.
  NAUTILUS_DEVICE int row_of(int item) const { return slice + item * kSlices; }
  NAUTILUS_DEVICE bool exists(int item) const { return row_of(item) < rows; }
  NAUTILUS_DEVICE bool runs(int item, Index step) const { return exists(item) && step < lengths[item]; }
  NAUTILUS_DEVICE Index unit_of(Index round) const { return (round * kUnitThreads + place) * kVector; }
  NAUTILUS_DEVICE Index rounds() const { return ceil_divide(hidden, Static<kSpan>()); }

  NAUTILUS_DEVICE Coordinates<Index, 4> at(int item, Index step, Index unit) const {
    const Index time = is_reverse() && step < lengths[item] ? lengths[item] - 1 - step : step;
    return coordinates<Index>(direction, time, first_row + row_of(item), unit);
  }
  NAUTILUS_DEVICE Coordinates<Index, 3> at_end(int item, Index unit) const {
    return coordinates<Index>(direction, first_row + row_of(item), unit);
  }

  // The states before step STEP.
  NAUTILUS_DEVICE Sum *states_before(Index step) const { return states + (step % 2) * (kRows * stride); }
  NAUTILUS_DEVICE Units &units(Sum *array, int row, Index unit) const { return *reinterpret_cast<Units *>(array + row * stride + unit); }

  // A length outside the sequence is cut to it and reported.
  NAUTILUS_DEVICE void read_lengths() {
    const Index steps = static_cast<Index>(Problem::Steps::get(arguments));
    longest = 0;
    NAUTILUS_UNROLL
    for (int item = 0; item < kItems; ++item) lengths[item] = 0;
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      if (row < rows) {
        long long length = static_cast<long long>(Cell::Length::template apply<1>(arguments, coordinates<Index>(first_row + row))[0]);
        if constexpr (Cell::Length::kLoads > 0) {
          if ((length < 0 || length > steps) && device::thread_index().x == 0) report_index_out_of_range(arguments);
          length = length < 0 ? 0 : length > steps ? static_cast<long long>(steps) : length;
        }
        if (length > longest) longest = static_cast<Index>(length);
        NAUTILUS_UNROLL
        for (int item = 0; item < kItems; ++item) {
          if (row_of(item) == row) lengths[item] = static_cast<Index>(length);
        }
      }
    }
  }

  NAUTILUS_DEVICE void read_weights() {
    const Index groups = hidden / kVector;
    const Index count = hidden * kGates * groups;
    for (Index i = device::thread_index().x; i < count; i += kThreads) {
      const Index unit = i % groups * kVector;
      const Index gate = i / groups % kGates;
      const Index k = i / groups / kGates;
      const auto weights = Cell::Weight::template apply<kVector>(arguments, coordinates<Index>(direction, k, gate, unit));
      Vector<Storage, kVector> stored;
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) stored[lane] = to_storage<Storage>(weights[lane]);
      *reinterpret_cast<Vector<Storage, kVector> *>(resident + (k * kGates + gate) * hidden + unit) = stored;
    }
  }

  NAUTILUS_DEVICE Units weight(Index k, int gate, Index unit) const {
    if constexpr (Schedule::kIsResident) {
      const auto stored = *reinterpret_cast<const Vector<Storage, kVector> *>(resident + (k * kGates + gate) * hidden + unit);
      Units weights;
      NAUTILUS_UNROLL
      for (int lane = 0; lane < kVector; ++lane) weights[lane] = to_compute(stored[lane]);
      return weights;
    } else {
      return Cell::Weight::template apply<kVector>(arguments, coordinates<Index>(direction, k, gate, unit));
    }
  }

  // Sets the states before the first step; those of rows that do not exist are zero, since sums run over them.
  NAUTILUS_DEVICE void start() {
    for (Index round = 0; round < rounds(); ++round) {
      const Index unit = unit_of(round);
      if (unit >= hidden) continue;
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        if (row_of(item) >= kRows) continue;
        Units state{};
        Units carry{};
        if (exists(item)) {
          state = Cell::FirstHidden::template apply<kVector>(arguments, at_end(item, unit));
          if constexpr (Problem::kHasCarry) carry = Cell::FirstCarry::template apply<kVector>(arguments, at_end(item, unit));
        }
        units(states_before(0), row_of(item), unit) = state;
        units(states_before(1), row_of(item), unit) = Units{};
        if constexpr (kIsTwoPass) units(middles, row_of(item), unit) = Units{};
        if constexpr (Problem::kHasCarry) units(carries, row_of(item), unit) = carry;
      }
    }
  }

  NAUTILUS_DEVICE void advance(Index step) {
    Sum *before = states_before(step);
    Sum *after = states_before(step + 1);
    if constexpr (kIsQuantised) {
      static_assert(!kIsTwoPass, "the first pass would take the states quantised, the second not");
      quantise(before);
      pass<0, kEarly, typename Cell::Carry, typename Cell::Hidden>(step, quantised, before, after);
    } else if constexpr (kIsTwoPass) {
      pass<0, kEarly, typename Cell::Carry, typename Cell::Middle>(step, before, before, middles);
      device::block_barrier();
      pass<kEarly, kLate, Nothing, typename Cell::Hidden>(step, middles, before, after);
    } else if constexpr (Problem::kHasCarry) {
      pass<0, kEarly, typename Cell::Carry, typename Cell::Hidden>(step, before, before, after);
    } else {
      pass<0, kEarly, Nothing, typename Cell::Hidden>(step, before, before, after);
    }
    device::block_barrier();
  }

  // Rounds the states that are multiplied to 255 steps over the range of their row, widened to hold zero: what DynamicQuantizeLinear
  // gives, times its scale.
  NAUTILUS_DEVICE void quantise(const Sum *source) {
    constexpr Sum kHighest = 255;
    for (int task = device::thread_index().x; task < kRows * kRangeThreads; task += kThreads) {
      const Sum *row = source + task / kRangeThreads * stride;
      Sum low = 0;
      Sum high = 0;
      for (Index unit = task % kRangeThreads; unit < hidden; unit += kRangeThreads) {
        low = math::min(low, row[unit]);
        high = math::max(high, row[unit]);
      }
      ranges[2 * task] = low;
      ranges[2 * task + 1] = high;
    }
    device::block_barrier();
    for (int task = device::thread_index().x; task < kRows * kRangeThreads; task += kThreads) {
      const int first = task / kRangeThreads;
      Sum low = 0;
      Sum high = 0;
      for (int part = first * kRangeThreads; part < (first + 1) * kRangeThreads; ++part) {
        low = math::min(low, ranges[2 * part]);
        high = math::max(high, ranges[2 * part + 1]);
      }
      const Sum scale = high == low ? static_cast<Sum>(1) : (high - low) / kHighest;
      const Sum zero = math::min(math::max(device::rint(-low / scale), static_cast<Sum>(0)), kHighest);
      for (Index unit = task % kRangeThreads; unit < hidden; unit += kRangeThreads) {
        const Sum whole = device::rint(source[first * stride + unit] / scale) + zero;
        quantised[first * stride + unit] = (math::min(math::max(whole, static_cast<Sum>(0)), kHighest) - zero) * scale;
      }
    }
    device::block_barrier();
  }

  template <class F>
  struct InputsOf {
    using Type = typename F::template Inputs<kVector>;
  };

  // Multiplies SOURCE by the weights of COUNT gates from FIRST on, and writes what RESULT makes of the sums to TARGET.
  template <int kFirst, int kCount, class CarryStep, class ResultStep>
  NAUTILUS_DEVICE void pass(Index step, const Sum *source, Sum *before, Sum *target) {
    constexpr bool kSetsCarry = !kIsSame<CarryStep, Nothing>;
    constexpr bool kGivesState = kIsSame<ResultStep, typename Cell::Hidden>;
    using CarryInputs = typename Conditional<kSetsCarry, InputsOf<CarryStep>, InputsOf<ResultStep>>::Type::Type;
    using ResultInputs = typename ResultStep::template Inputs<kVector>;
    for (Index round = 0; round < rounds(); ++round) {
      const Index unit = unit_of(round);
      const bool is_active = unit < hidden;
      // What the cell reads is on its way while the products are summed.
      CarryInputs carry_inputs[kItems] = {};
      ResultInputs result_inputs[kItems] = {};
      Sums<kCount> sums[kRows] = {};
      if (is_active) {
        NAUTILUS_UNROLL
        for (int item = 0; item < kItems; ++item) {
          if (runs(item, step)) {
            if constexpr (kSetsCarry) carry_inputs[item] = CarryStep::template load<kVector>(arguments, at(item, step, unit));
            result_inputs[item] = ResultStep::template load<kVector>(arguments, at(item, step, unit));
          }
        }
        multiply<kFirst, kCount>(source, unit, sums);
      }
      exchange<kCount>(is_active, sums);
      if (!is_active) continue;
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        if (!exists(item)) continue;
        const int row = row_of(item);
        const Units state = units(before, row, unit);
        const auto where = at(item, step, unit);
        if (step >= lengths[item]) {
          if constexpr (kGivesState) {
            units(target, row, unit) = state;
            if constexpr (Cell::Output::kStores > 0) Cell::Output::template apply<kVector>(arguments, where, Units{});
          }
          continue;
        }
        Units carry{};
        if constexpr (Problem::kHasCarry) carry = units(carries, row, unit);
        if constexpr (kSetsCarry) {
          carry = with_sums<CarryStep, kVector>(arguments, where, carry_inputs[item], sums[item], state, carry);
          units(carries, row, unit) = carry;
        }
        const Units result = with_sums<ResultStep, kVector>(arguments, where, result_inputs[item], sums[item], state, carry);
        units(target, row, unit) = result;
        if constexpr (kGivesState && Cell::Output::kStores > 0) Cell::Output::template apply<kVector>(arguments, where, result);
      }
    }
  }

  // Adds the products of this thread's slice of k.
  template <int kFirst, int kCount>
  NAUTILUS_DEVICE void multiply(const Sum *source, Index unit, Sums<kCount> (&sums)[kRows]) const {
    const Index share = ceil_divide(ceil_divide(hidden, Static<kSlices>()), Static<kAhead>()) * kAhead;
    Index k = slice * share;
    const Index end = k + share < hidden ? k + share : hidden;
    for (; k + kAhead <= end; k += kAhead) add_products<kFirst, kCount, kAhead>(source, k, unit, sums);
    for (; k < end; ++k) add_products<kFirst, kCount, 1>(source, k, unit, sums);
  }

  template <int kFirst, int kCount, int kSteps>
  NAUTILUS_DEVICE void add_products(const Sum *source, Index k, Index unit, Sums<kCount> (&sums)[kRows]) const {
    Units weights[kSteps][kCount];
    NAUTILUS_UNROLL
    for (int i = 0; i < kSteps; ++i) {
      NAUTILUS_UNROLL
      for (int gate = 0; gate < kCount; ++gate) weights[i][gate] = weight(k + i, kFirst + gate, unit);
    }
    NAUTILUS_UNROLL
    for (int row = 0; row < kRows; ++row) {
      const auto state = *reinterpret_cast<const Vector<Sum, kSteps> *>(source + row * stride + k);
      NAUTILUS_UNROLL
      for (int i = 0; i < kSteps; ++i) {
        NAUTILUS_UNROLL
        for (int gate = 0; gate < kCount; ++gate) {
          NAUTILUS_UNROLL
          for (int lane = 0; lane < kVector; ++lane) {
            Sum &sum = sums[row].gate[gate][lane];
            sum = device::multiply_add(weights[i][gate][lane], state[i], sum);
          }
        }
      }
    }
  }

  // Adds up the slices: afterwards sums[item] are the whole sums of the row that this thread finishes as that item.
  template <int kCount>
  NAUTILUS_DEVICE void exchange(bool is_active, Sums<kCount> (&sums)[kRows]) {
    if constexpr (kSlices > 1) {
      // Two buffers, taken in turn: one is written again only after the next exchange's barrier, which all its readers have then reached.
      Sum *buffer = partial + turn * (kSlices * kRows * kMostGates * kSpan);
      turn ^= 1;
      if (is_active) {
        NAUTILUS_UNROLL
        for (int row = 0; row < kRows; ++row) {
          NAUTILUS_UNROLL
          for (int gate = 0; gate < kCount; ++gate) sums_of(buffer, slice, row, gate) = sums[row].gate[gate];
        }
      }
      device::block_barrier();
      if (is_active) {
        NAUTILUS_UNROLL
        for (int item = 0; item < kItems; ++item) {
          if (!exists(item)) continue;
          NAUTILUS_UNROLL
          for (int gate = 0; gate < kCount; ++gate) {
            Units total = sums_of(buffer, 0, row_of(item), gate);
            NAUTILUS_UNROLL
            for (int other = 1; other < kSlices; ++other) {
              const Units more = sums_of(buffer, other, row_of(item), gate);
              NAUTILUS_UNROLL
              for (int lane = 0; lane < kVector; ++lane) total[lane] += more[lane];
            }
            sums[item].gate[gate] = total;
          }
        }
      }
    }
  }

  NAUTILUS_DEVICE Units &sums_of(Sum *buffer, int of_slice, int row, int gate) const {
    return *reinterpret_cast<Units *>(buffer + ((of_slice * kRows + row) * kMostGates + gate) * kSpan + place * kVector);
  }

  // Writes the zeros of a step at which no sequence of the tile runs.
  NAUTILUS_DEVICE void pad(Index step) {
    for (Index round = 0; round < rounds(); ++round) {
      const Index unit = unit_of(round);
      if (unit >= hidden) continue;
      NAUTILUS_UNROLL
      for (int item = 0; item < kItems; ++item) {
        if (exists(item)) Cell::Output::template apply<kVector>(arguments, at(item, step, unit), Units{});
      }
    }
  }

  // Hands the last states to the epilogue, and the last output (which equals the state, or is zero after a sequence's end).
  NAUTILUS_DEVICE void finish() {
    if constexpr (Cell::Final::kStores > 0) {
      const Index steps = static_cast<Index>(Problem::Steps::get(arguments));
      for (Index round = 0; round < rounds(); ++round) {
        const Index unit = unit_of(round);
        if (unit >= hidden) continue;
        NAUTILUS_UNROLL
        for (int item = 0; item < kItems; ++item) {
          if (!exists(item)) continue;
          Units state{};
          Units carry{};
          if (lengths[item] > 0) {  // an empty sequence ends in zeros, not in its first state
            state = units(states_before(longest), row_of(item), unit);
            if constexpr (Problem::kHasCarry) carry = units(carries, row_of(item), unit);
          }
          const Units output = lengths[item] == steps ? state : Units{};
          Cell::Final::template apply<kVector>(arguments, at_end(item, unit), state, carry, output);
        }
      }
    }
  }
};

template <class Problem, class Schedule, class Cell, class A>
NAUTILUS_DEVICE void recurrent(const A &arguments) {
  RecurrentKernel<Problem, Schedule, Cell, A>(arguments).run();
}

}  // namespace nautilus::kernels
