// The kernels of this image.
#pragma once

#include <nautilus/device/emulated/runtime.h>

namespace nautilus::emulated {

// Returns the kernel of this name, or null.
const KernelEntry *find_kernel(const char *name);

}  // namespace nautilus::emulated
