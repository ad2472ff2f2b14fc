// Pointwise family: a body evaluated at every element of a linear iteration space.
#pragma once

#include <nautilus/core/arguments.cuh>
#include <nautilus/core/constants.cuh>
#include <nautilus/core/dims.cuh>
#include <nautilus/core/math.cuh>
#include <nautilus/core/splat.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/memory/access.cuh>

namespace nautilus::kernels {

// A thread takes kUnroll vectors, neighbouring threads neighbouring vectors; what is left of a vector at the end goes one by one.
template <class Problem, class Schedule, class Body, class A>
NAUTILUS_DEVICE void pointwise(const A &arguments) {
  using Index = typename Problem::Index;
  constexpr int kVector = Schedule::kVector;
  constexpr int kUnroll = Schedule::kUnroll;
  constexpr int kStep = Schedule::kThreads * kVector;

  const Index first = static_cast<Index>(device::block_index().x) * (kStep * kUnroll);
  // Compared with what is left, so that no sum passes the end of the index type.
  const Index left = static_cast<Index>(Problem::Elements::get(arguments)) - first;
  const int own = device::thread_index().x * kVector;
  device::dependency_wait();

  // All loads before all arithmetic: that many transactions are in flight at once.
  typename Body::template Inputs<kVector> inputs[kUnroll];
  NAUTILUS_UNROLL
  for (int item = 0; item < kUnroll; ++item) {
    const int place = own + item * kStep;
    if (place + kVector <= left) inputs[item] = Body::template load<kVector>(arguments, coordinates<Index>(first + place));
  }
  NAUTILUS_UNROLL
  for (int item = 0; item < kUnroll; ++item) {
    const int place = own + item * kStep;
    if (place + kVector <= left) {
      Body::template compute<kVector>(arguments, coordinates<Index>(first + place), inputs[item]);
    } else if constexpr (kVector > 1) {
      for (int lane = 0; place + lane < left; ++lane) {
        Body::template apply<1>(arguments, coordinates<Index>(first + place + lane));
      }
    }
  }
  device::dependency_trigger();
}

}  // namespace nautilus::kernels
