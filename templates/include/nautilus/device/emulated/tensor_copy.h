// What the twins of tensor_copy.cuh need of the emulator.
#pragma once

#include <nautilus/device/emulated/runtime.h>

namespace nautilus::emulated {

// Checks that MAP is one that cuTensorMapEncodeTiled has written, of RANK dimensions or, where that is 0, of any number.
void check_tensor_map(const void *map, int rank, Site site);

void tensor_load(void *shared, const void *map, void *barrier, const int *at, int rank, Site site);
void tensor_store(const void *map, const void *shared, const int *at, int rank, Site site);
void bulk_load(void *shared, const void *global, int bytes, void *barrier, Site site);
void bulk_store(void *global, const void *shared, int bytes, Site site);
void bulk_commit();
// Of the groups that are not among the latest GROUPS_IN_FLIGHT, shared memory has been read, or all is done.
void bulk_wait(int groups_in_flight, bool is_read_enough);

}  // namespace nautilus::emulated
