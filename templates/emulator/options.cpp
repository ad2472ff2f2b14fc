#include "options.h"

#include <algorithm>
#include <cstring>

namespace nautilus::emulated {

const char *read_options(const nautilus_emulator_options &given, Options &options) {
    // A caller built against an older header passes a shorter struct: what it does not have is zero, the default of every field.
    nautilus_emulator_options complete = {};
    if (given.struct_bytes < sizeof(given.struct_bytes)) return "struct_bytes must be the size of nautilus_emulator_options";
    std::memcpy(&complete, &given, std::min(given.struct_bytes, sizeof(complete)));
    if (complete.order > NAUTILUS_ORDER_RANDOM) return "order must be NAUTILUS_ORDER_FIFO, _REVERSE or _RANDOM";
    if (complete.lazy > 1) return "lazy must be 0 or 1";
    if (complete.poison > 1) return "poison must be 0 or 1";
    options.order = static_cast<Order>(complete.order);
    options.lazy = complete.lazy != 0;
    options.poison = complete.poison != 0;
    options.os_threads = complete.threads;
    options.seed = complete.seed;
    return nullptr;
}

}  // namespace nautilus::emulated
