// out = a + b over `count` floats, for a grid of any size.
#include <nautilus/core/arguments.cuh>
#include <nautilus/device/device.cuh>

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(64) tiny_add(const NAUTILUS_GRID_CONSTANT nautilus::Arguments<3, 1> arguments) {
  using namespace nautilus::device;
  dependency_wait();
  const float *a = static_cast<const float *>(arguments.pointers[0]), *b = static_cast<const float *>(arguments.pointers[1]);
  float *out = static_cast<float *>(arguments.pointers[2]);
  for (long long i = block_index().x * block_extent().x + thread_index().x; i < arguments.scalars[0]; i += grid_extent().x * block_extent().x)
    out[i] = a[i] + b[i];
}
NAUTILUS_EXPORT(tiny_add)
