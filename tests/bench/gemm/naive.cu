// The first step of the ladder: a thread adds up one result of C = A Bᵀ, straight from global memory. All extents are 1024.
#include <nautilus/core/arguments.cuh>
#include <nautilus/device/device.cuh>
#include <nautilus/device/outer_products.cuh>

namespace naive {

constexpr int kExtent = 1024;
constexpr int kThreads = 256;

}  // namespace naive

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(naive::kThreads)
naive_product(const NAUTILUS_GRID_CONSTANT nautilus::Arguments<3, 0> arguments) {
  using namespace nautilus;
  const float *const a = static_cast<const float *>(arguments.pointers[0]);
  const float *const b = static_cast<const float *>(arguments.pointers[1]);
  const int result = device::block_index().x * naive::kThreads + device::thread_index().x;
  const int m = result / naive::kExtent, n = result % naive::kExtent;
  device::dependency_wait();
  float sum = 0;
  for (int k = 0; k < naive::kExtent; ++k) sum = device::multiply_add(a[m * naive::kExtent + k], b[n * naive::kExtent + k], sum);
  device::dependency_trigger();
  static_cast<float *>(arguments.pointers[2])[result] = sum;
}
