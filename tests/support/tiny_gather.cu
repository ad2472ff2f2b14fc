// out[i] = data[indices[i]], where the index is inside; else the status word says so.
#include <nautilus/core/arguments.cuh>
#include <nautilus/core/status.cuh>
#include <nautilus/device/device.cuh>

extern "C" __global__ void NAUTILUS_LAUNCH_BOUNDS(64) tiny_gather(const NAUTILUS_GRID_CONSTANT nautilus::Arguments<4, 2> arguments) {
  using namespace nautilus::device;
  dependency_wait();
  const float *data = static_cast<const float *>(arguments.pointers[0]);
  const long long *indices = static_cast<const long long *>(arguments.pointers[1]);
  float *out = static_cast<float *>(arguments.pointers[2]);
  const long long rows = arguments.scalars[0], count = arguments.scalars[1];
  for (long long i = block_index().x * block_extent().x + thread_index().x; i < count; i += grid_extent().x * block_extent().x) {
    const bool is_inside = indices[i] >= 0 && indices[i] < rows;
    if (is_inside)
      out[i] = data[indices[i]];
    else
      nautilus::report_index_out_of_range(arguments);
  }
}
NAUTILUS_EXPORT(tiny_gather)
