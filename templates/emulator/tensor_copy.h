// Bulk copies that have started.
#pragma once

#include "thread.h"

namespace nautilus::emulated {

// Writes what a thread's stores have taken from shared memory to global memory: at its end, when no wait has asked for that before.
void write_taken_stores(Thread &thread);

}  // namespace nautilus::emulated
