#include "registry.h"

#include <cstring>

namespace nautilus::emulated {
namespace {

// A constant at load time, so that the constructors of kernel files may run in any order.
KernelRegistration *first_registration = nullptr;

}  // namespace

KernelRegistration::KernelRegistration(const KernelEntry &kernel) : entry(kernel), next(first_registration) { first_registration = this; }

const KernelEntry *find_kernel(const char *name) {
    for (const KernelRegistration *registration = first_registration; registration; registration = registration->next) {
        if (std::strcmp(registration->entry.name, name) == 0) return &registration->entry;
    }
    return nullptr;
}

}  // namespace nautilus::emulated
