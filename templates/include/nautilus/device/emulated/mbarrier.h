// What the twins of mbarrier.cuh need of the emulator.
#pragma once

#include <nautilus/device/emulated/runtime.h>

namespace nautilus::emulated {

void mbarrier_init(void *barrier, int arrivals, Site site);
void mbarrier_invalidate(void *barrier, Site site);
void mbarrier_expect(void *barrier, int bytes, Site site);
// Expects BYTES, then counts one arrival.
void mbarrier_arrive(void *barrier, int bytes, Site site);
// Waits for a phase to end; true where that is the one of PARITY.
bool mbarrier_try_wait(void *barrier, int parity, Site site);
// Writes at most 16 bytes, of which BARRIER is told.
void store_async(void *shared, const void *values, unsigned bytes, void *barrier, Site site);
void copy_async_arrive(void *barrier, Site site);

}  // namespace nautilus::emulated
