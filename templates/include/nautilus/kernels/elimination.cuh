// Elimination family: determinants and inverses of small square matrices, by elimination with partial pivoting.
//
// A team of threads takes a matrix, which lies in shared memory: one thread, part of a warp, or the block. In each step the row with
// the greatest element of the column is swapped to the diagonal; the first of equal ones, so that the result does not depend on how
// threads run. A determinant is the product of the pivots; an inverse grows in the place of the columns that are done (Gauss-Jordan),
// and has its columns swapped back at the end. A singular matrix has the determinant 0, and an inverse of infinities and NaNs.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

template <class Problem, class Schedule, class X, class Epilogue, class A>
struct EliminationKernel {
  using Index = typename Problem::Index;
  using Value = typename X::Result;
  enum : int {
    kTeam = Schedule::kTeamThreads,
    kTeams = Schedule::kThreads / kTeam,
    kLanes = kTeam < device::kWarpThreads ? kTeam : static_cast<int>(device::kWarpThreads)
  };
  static_assert(static_cast<int>(kTeam) <= device::kWarpThreads || kTeams == 1, "a team is part of a warp, or the block");

  const A &arguments;
  Index number;  // of the matrix
  int order;
  int place;  // among the threads of the team
  bool is_active;
  Value *matrix;
  Value *factors;  // the column that is eliminated, by row
  int *pivots;     // which row was swapped with each; the last is that of the step at hand

  NAUTILUS_DEVICE explicit EliminationKernel(const A &kernel_arguments) : arguments(kernel_arguments) {
    const int team = device::thread_index().x / kTeam;
    const Index first = static_cast<Index>(device::block_index().x) * kTeams;
    // Teams without a matrix go along with the first, and store nothing.
    is_active = team < static_cast<Index>(Problem::Matrices::get(arguments)) - first;
    number = is_active ? first + team : first;
    place = device::thread_index().x % kTeam;
    order = static_cast<int>(Problem::Order::get(arguments));
    const int bytes = (order * (order + 1) * static_cast<int>(sizeof(Value)) + (order + 1) * 4 + 15) / 16 * 16;
    matrix = device::dynamic_shared<Value>(team * bytes);
    factors = matrix + order * order;
    pivots = reinterpret_cast<int *>(factors + order);
  }

  NAUTILUS_DEVICE void run() const {
    device::dependency_wait();
    if (has_matrices()) eliminate();
    device::dependency_trigger();
  }

 private:
  // Whether the block has a matrix to read: of no matrices there is a block, too.
  NAUTILUS_DEVICE bool has_matrices() const {
    if constexpr (Problem::Matrices::kIsStatic) {
      return true;
    } else {
      return static_cast<Index>(device::block_index().x) * kTeams < static_cast<Index>(Problem::Matrices::get(arguments));
    }
  }

  NAUTILUS_DEVICE void eliminate() const {
    for (int element = place; element < order * order; element += kTeam) {
      matrix[element] = X::template apply<1>(arguments, coordinates<Index>(number, element / order, element % order))[0];
    }
    Value determinant = static_cast<Value>(1);
    for (int step = 0; step < order; ++step) {
      meet();
      const int row = pivot_row(step);
      if (row != step) {
        determinant = -determinant;
        for (int column = place; column < order; column += kTeam) swap(matrix[step * order + column], matrix[row * order + column]);
      }
      meet();
      const Value pivot = matrix[step * order + step];
      determinant *= pivot;
      if constexpr (Problem::kIsInverse) {
        if (place == 0) pivots[step] = row;
        meet();
        reduce_all(step, pivot);
      } else {
        reduce_below(step, pivot);
      }
    }
    if constexpr (Problem::kIsInverse) {
      meet();
      restore_columns();
      meet();
      for (int element = place; is_active && element < order * order; element += kTeam) {
        const Splat<Value> value{matrix[element]};
        Epilogue::template apply<1>(arguments, coordinates<Index>(number, element / order, element % order), value);
      }
    } else if (is_active && place == 0) {
      Epilogue::template apply<1>(arguments, coordinates<Index>(number), Splat<Value>{determinant});
    }
  }

  NAUTILUS_DEVICE static void meet() {
    if constexpr (kTeam == 1) {
      return;
    } else if constexpr (static_cast<int>(kTeam) <= device::kWarpThreads) {
      device::warp_barrier();
    } else {
      device::block_barrier();
    }
  }

  NAUTILUS_DEVICE static void swap(Value &a, Value &b) {
    const Value kept = a;
    a = b;
    b = kept;
  }

  // The row from STEP on whose element in column STEP is greatest; found by the lanes of the first warp.
  NAUTILUS_DEVICE int pivot_row(int step) const {
    Value best = static_cast<Value>(-1);
    int row = step;
    if (place < kLanes) {
      for (int other = step + place; other < order; other += kLanes) {
        const Value size = math::abs(matrix[other * order + step]);
        if (size > best) best = size, row = other;
      }
      if constexpr (kLanes > 1) {
        NAUTILUS_UNROLL
        for (int distance = kLanes / 2; distance > 0; distance /= 2) {
          const Value size = device::shuffle_xor(best, distance);
          const int other = device::shuffle_xor(row, distance);
          if (size > best || (size == best && other < row)) best = size, row = other;
        }
      }
    }
    if constexpr (static_cast<int>(kTeam) > device::kWarpThreads) {
      if (place == 0) pivots[order] = row;
      meet();
      row = pivots[order];
    }
    return row;
  }

  // Subtracts the row of the step from those below it.
  NAUTILUS_DEVICE void reduce_below(int step, Value pivot) const {
    const int left = order - step - 1;
    for (int row = place; row < left; row += kTeam) {
      const Value factor = matrix[(step + 1 + row) * order + step];
      factors[row] = pivot == static_cast<Value>(0) ? factor : factor / pivot;
    }
    meet();
    for (int element = place; element < left * left; element += kTeam) {
      const int row = element / left, column = step + 1 + element % left;
      matrix[(step + 1 + row) * order + column] -= factors[row] * matrix[step * order + column];
    }
  }

  // Divides the row of the step by its pivot and subtracts it from all others; its column becomes one of the inverse.
  NAUTILUS_DEVICE void reduce_all(int step, Value pivot) const {
    for (int other = place; other < order; other += kTeam) {
      const int in_row = step * order + other, in_column = other * order + step;
      if (other == step) {
        matrix[in_row] = static_cast<Value>(1) / pivot;
      } else {
        matrix[in_row] = matrix[in_row] / pivot;
        factors[other] = matrix[in_column];
        matrix[in_column] = static_cast<Value>(0);
      }
    }
    meet();
    for (int element = place; element < order * order; element += kTeam) {
      const int row = element / order, column = element % order;
      if (row != step) matrix[element] -= factors[row] * matrix[step * order + column];
    }
  }

  // Undoes for columns what was done to rows, from the last step to the first; each thread has rows of its own.
  NAUTILUS_DEVICE void restore_columns() const {
    for (int row = place; row < order; row += kTeam) {
      for (int step = order - 1; step >= 0; --step) {
        if (pivots[step] != step) swap(matrix[row * order + step], matrix[row * order + pivots[step]]);
      }
    }
  }
};

template <class Problem, class Schedule, class X, class Epilogue, class A>
NAUTILUS_DEVICE void elimination(const A &arguments) {
  EliminationKernel<Problem, Schedule, X, Epilogue, A>(arguments).run();
}

}  // namespace nautilus::kernels
