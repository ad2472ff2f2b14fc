// NAUTILUS_EXPORT(symbol): makes a kernel known to the emulated driver. Empty on the device, where the cubin's symbol table does it.
#pragma once

#include <nautilus/device/platform.cuh>

#ifdef NAUTILUS_EMULATED

namespace nautilus::emulated {

// What the emulated driver looks up as <symbol>_emulated.
struct KernelEntry {
    void (*run)(const void *arguments);
    unsigned argument_bytes;
};

template <typename Arguments, void (*kKernel)(Arguments)>
void run_kernel(const void *arguments) {
    kKernel(*static_cast<const Arguments *>(arguments));
}

template <typename Arguments>
Arguments argument_type(void (*kernel)(Arguments));

}  // namespace nautilus::emulated

#define NAUTILUS_EXPORT(symbol)                                                                                              \
    extern "C" __attribute__((visibility("default"))) const ::nautilus::emulated::KernelEntry symbol##_emulated;              \
    const ::nautilus::emulated::KernelEntry symbol##_emulated = {                                                             \
        &::nautilus::emulated::run_kernel<decltype(::nautilus::emulated::argument_type(symbol)), symbol>,                     \
        sizeof(decltype(::nautilus::emulated::argument_type(symbol)))};

#else

#define NAUTILUS_EXPORT(symbol)

#endif
