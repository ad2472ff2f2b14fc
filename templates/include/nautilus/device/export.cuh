// NAUTILUS_EXPORT(symbol): makes a kernel known to the emulated driver. Empty on the device, where the cubin's symbol table does it.
#pragma once

#include <nautilus/device/platform.cuh>

#ifdef NAUTILUS_EMULATED

#include <nautilus/device/emulated/runtime.h>

namespace nautilus::emulated {

template <typename Arguments, void (*kKernel)(Arguments)>
void run_kernel(const void *arguments) {
    kKernel(*static_cast<const Arguments *>(arguments));
}

template <typename Arguments>
Arguments argument_type(void (*kernel)(Arguments));

}  // namespace nautilus::emulated

// The entry itself is exported as <symbol>_emulated, for tests that launch a kernel without a driver.
#define NAUTILUS_EXPORT(symbol)                                                                                    \
    extern "C" __attribute__((visibility("default"))) const ::nautilus::emulated::KernelEntry symbol##_emulated;   \
    const ::nautilus::emulated::KernelEntry symbol##_emulated = {                                                  \
        #symbol, &::nautilus::emulated::run_kernel<decltype(::nautilus::emulated::argument_type(symbol)), symbol>, \
        sizeof(decltype(::nautilus::emulated::argument_type(symbol)))};                                            \
    static ::nautilus::emulated::KernelRegistration symbol##_registration(symbol##_emulated);

#else

#define NAUTILUS_EXPORT(symbol)

#endif
