// The emulated driver: initialisation, device, contexts, modules and errors. Every function keeps the meaning that CUDA's has.

#include <driver.h>
#include <nautilus/emulator.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "driver_state.h"
#include "launch.h"
#include "lifetime.h"
#include "registry.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace nautilus::emulated::driver {
namespace {

constexpr int kVersion = 13000;  // 13.0, as cuDriverGetVersion counts
constexpr std::size_t kMostErrorBytes = 4096;

std::atomic<bool> initialised{false};
std::atomic<int> sticky{CU_OK};

struct State {
    std::mutex mutex;
    Options options;
    char sticky_text[kMostErrorBytes] = "";
    int retained = 0;
    std::vector<std::unique_ptr<cu_function_struct>> functions;
};

State &state() { return lasting<State>(); }

// Neither needs a destructor: one would keep the image loaded for as long as a thread that called it lives.
thread_local char thread_text[kMostErrorBytes];
thread_local int pushed_contexts = 0;

// There is one device with one context and one module: these need an address, and no contents.
char context_token, module_token;

cu_context the_context() { return reinterpret_cast<cu_context>(&context_token); }
cu_module the_module() { return reinterpret_cast<cu_module>(&module_token); }

void copy_text(char (&to)[kMostErrorBytes], const std::string &text) { std::snprintf(to, sizeof to, "%s", text.c_str()); }

cu_result check_initialised() { return initialised ? CU_OK : error(CU_ERROR_NOT_INITIALIZED, "cuInit has not been called"); }

cu_result check_device(cu_device device) {
    if (const cu_result result = check_initialised()) return result;
    return device == 0 ? CU_OK : error(CU_ERROR_INVALID_DEVICE, "the emulator has one device, 0");
}

// ---- the functions of the table

cu_result init(unsigned flags) {
    if (flags != 0) return error(CU_ERROR_INVALID_VALUE, "cuInit: flags must be 0");
    initialised = true;
    return CU_OK;
}

cu_result driver_get_version(int *version) {
    *version = kVersion;
    return CU_OK;
}

cu_result device_get_count(int *count) {
    *count = 1;
    return check_initialised();
}

cu_result device_get(cu_device *device, int ordinal) {
    *device = 0;
    return check_device(ordinal);
}

cu_result device_get_attribute(int *value, int attribute, cu_device device) {
    switch (attribute) {
        case CU_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 1;
            break;
        case CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        case CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = 0;
            break;
        case CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = kSharedBytesOptIn;
            break;
        default:
            return error(CU_ERROR_INVALID_VALUE, "cuDeviceGetAttribute: attribute " + std::to_string(attribute) + " is not emulated");
    }
    return check_device(device);
}

cu_result device_get_name(char *name, int length, cu_device device) {
    if (length <= 0) return error(CU_ERROR_INVALID_VALUE, "cuDeviceGetName: no room for the name");
    std::snprintf(name, static_cast<std::size_t>(length), "Nautilus emulator");
    return check_device(device);
}

cu_result primary_context_retain(cu_context *context, cu_device device) {
    if (const cu_result result = check_device(device)) return result;
    const std::lock_guard<std::mutex> lock(state().mutex);
    ++state().retained;
    *context = the_context();
    return CU_OK;
}

cu_result primary_context_release(cu_device device) {
    if (const cu_result result = check_device(device)) return result;
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (state().retained == 0) return error(CU_ERROR_INVALID_CONTEXT, "cuDevicePrimaryCtxRelease: the context is not retained");
    if (--state().retained == 0) {  // as on a GPU, the context and all that is in it goes
        release_memory();
        sticky = CU_OK;
    }
    return CU_OK;
}

cu_result context_push(cu_context context) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (context != the_context() || state().retained == 0) return error(CU_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent: no such context");
    ++pushed_contexts;
    return CU_OK;
}

cu_result context_pop(cu_context *context) {
    if (pushed_contexts == 0) return error(CU_ERROR_INVALID_CONTEXT, "cuCtxPopCurrent: no context is current");
    --pushed_contexts;
    if (context) *context = the_context();
    return CU_OK;
}

// The image has been loaded to get here, so there is nothing left to load.
cu_result module_load_data(cu_module *module, const void *image) {
    if (const cu_result result = check_context()) return result;
    if (!image) return error(CU_ERROR_INVALID_VALUE, "cuModuleLoadData: the image is null");
    *module = the_module();
    return CU_OK;
}

cu_result module_unload(cu_module module) {
    if (const cu_result result = check_context()) return result;
    return module == the_module() ? CU_OK : error(CU_ERROR_INVALID_HANDLE, "cuModuleUnload: no such module");
}

cu_result module_get_function(cu_function *function, cu_module module, const char *name) {
    if (const cu_result result = check_context()) return result;
    if (module != the_module()) return error(CU_ERROR_INVALID_HANDLE, "cuModuleGetFunction: no such module");
    const KernelEntry *kernel = find_kernel(name);
    if (!kernel) return error(CU_ERROR_NOT_FOUND, "cuModuleGetFunction: the image has no kernel '" + std::string(name) + "'");
    const std::lock_guard<std::mutex> lock(state().mutex);
    for (const auto &known : state().functions) {
        if (known->kernel == kernel) {
            *function = known.get();
            return CU_OK;
        }
    }
    state().functions.push_back(std::make_unique<cu_function_struct>(cu_function_struct{kernel, kSharedBytesWithoutOptIn}));
    *function = state().functions.back().get();
    return CU_OK;
}

cu_result function_set_attribute(cu_function function, int attribute, int value) {
    if (const cu_result result = check_context()) return result;
    if (!function) return error(CU_ERROR_INVALID_HANDLE, "cuFuncSetAttribute: no function");
    if (attribute != CU_FUNCTION_MAX_DYNAMIC_SHARED_BYTES)
        return error(CU_ERROR_INVALID_VALUE, "cuFuncSetAttribute: this attribute is not emulated");
    if (value < 0 || static_cast<unsigned>(value) > kSharedBytesOptIn) {
        return error(CU_ERROR_INVALID_VALUE, "cuFuncSetAttribute: " + std::to_string(value) + " bytes of shared memory, of at most " +
                                                 std::to_string(kSharedBytesOptIn));
    }
    function->most_shared_bytes = static_cast<unsigned>(value);
    return CU_OK;
}

struct ErrorName {
    cu_result value;
    const char *name;
    const char *meaning;
};

constexpr ErrorName kErrorNames[] = {
    {CU_OK, "CUDA_SUCCESS", "no error"},
    {CU_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CU_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CU_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CU_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CU_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CU_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CU_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CU_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CU_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CU_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CU_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CU_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

cu_result get_error_text(cu_result value, const char **text, const char *ErrorName::*member) {
    for (const ErrorName &error_name : kErrorNames) {
        if (error_name.value == value) {
            *text = error_name.*member;
            return CU_OK;
        }
    }
    *text = nullptr;
    return CU_ERROR_INVALID_VALUE;
}

cu_result get_error_name(cu_result value, const char **text) { return get_error_text(value, text, &ErrorName::name); }
cu_result get_error_string(cu_result value, const char **text) { return get_error_text(value, text, &ErrorName::meaning); }

cu_result result_of(FailureKind kind) {
    switch (kind) {
        case FailureKind::kNone:
            return CU_OK;
        case FailureKind::kDeadlock:
            return CU_ERROR_LAUNCH_TIMEOUT;
        case FailureKind::kMisaligned:
            return CU_ERROR_MISALIGNED_ADDRESS;
        case FailureKind::kIllegalAddress:
            return CU_ERROR_ILLEGAL_ADDRESS;
        case FailureKind::kOutOfMemory:
            return CU_ERROR_OUT_OF_MEMORY;
        case FailureKind::kMisuse:
            break;
    }
    return CU_ERROR_LAUNCH_FAILED;
}

}  // namespace

Options options() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().options;
}

cu_result error(cu_result result, const std::string &text) {
    copy_text(thread_text, text);
    return result;
}

cu_result fail_launch(const Failure &failure) {
    const cu_result result = result_of(failure.kind);
    if (failure.kind == FailureKind::kOutOfMemory) return error(result, failure.text);
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (sticky == CU_OK) {
        copy_text(state().sticky_text, failure.text);
        sticky = result;
    }
    return sticky;
}

cu_result check_context() {
    if (const cu_result result = check_initialised()) return result;
    if (pushed_contexts == 0) return error(CU_ERROR_INVALID_CONTEXT, "no context is current on this thread");
    return sticky;
}

}  // namespace nautilus::emulated::driver

EXPORT int nautilus_emulated_driver(nautilus_driver *table) {
    using namespace nautilus::emulated::driver;
    if (table->bytes != sizeof *table) return 1;
    table->cuInit = init;
    table->cuDriverGetVersion = driver_get_version;
    table->cuDeviceGet = device_get;
    table->cuDeviceGetCount = device_get_count;
    table->cuDeviceGetAttribute = device_get_attribute;
    table->cuDeviceGetName = device_get_name;
    table->cuDevicePrimaryCtxRetain = primary_context_retain;
    table->cuDevicePrimaryCtxRelease = primary_context_release;
    table->cuCtxPushCurrent = context_push;
    table->cuCtxPopCurrent = context_pop;
    table->cuModuleLoadData = module_load_data;
    table->cuModuleUnload = module_unload;
    table->cuModuleGetFunction = module_get_function;
    table->cuFuncSetAttribute = function_set_attribute;
    table->cuGetErrorName = get_error_name;
    table->cuGetErrorString = get_error_string;
    fill_memory(*table);
    fill_execution(*table);
    fill_graph(*table);
    fill_tensor_map(*table);
    return 0;
}

EXPORT int nautilus_emulator_configure(const nautilus_emulator_options *options) {
    using namespace nautilus::emulated::driver;
    nautilus::emulated::Options read;
    if (const char *wrong = nautilus::emulated::read_options(*options, read)) {
        error(CU_ERROR_INVALID_VALUE, wrong);
        return 1;
    }
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().options = read;
    return 0;
}

EXPORT const char *nautilus_emulator_last_error(void) {
    using namespace nautilus::emulated::driver;
    return sticky == CU_OK ? thread_text : state().sticky_text;
}

EXPORT int nautilus_emulator_launch(const nautilus::emulated::KernelEntry *kernel, const unsigned grid[3], const unsigned block[3],
                                    unsigned shared_bytes, const void *arguments) {
    using namespace nautilus::emulated;
    const Launch launch = {kernel, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared_bytes, arguments, driver::options()};
    const Failure failure = run(launch);
    return failure ? driver::error(driver::result_of(failure.kind), failure.text) : CU_OK;
}
