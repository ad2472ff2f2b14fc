// The status word of a context: what a kernel found wrong with its data.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus {

constexpr unsigned int kStatusIndexOutOfRange = 1;

// Stores the code in the word that the last pointer argument names. Threads may race: they all store the same. The word may lie in
// the host's memory, where a plain store does and an atomic read-modify-write may not.
template <class A>
NAUTILUS_DEVICE void report_index_out_of_range(const A &arguments) {
  *static_cast<volatile unsigned int *>(arguments.pointers[A::kPointers - 1]) = kStatusIndexOutOfRange;
}

}  // namespace nautilus
