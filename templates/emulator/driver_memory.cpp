// The emulated driver: memory. A device pointer is the address itself, and copies are done when they are asked for.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "driver_state.h"
#include "lifetime.h"
#include "shared_memory.h"

namespace nautilus::emulated::driver {
namespace {

constexpr std::size_t kAlignmentBytes = 256;  // what cuMemAlloc guarantees

struct Allocation {
    std::size_t bytes;
    unsigned memory_type;
};

struct Memory {
    std::mutex mutex;
    std::map<std::uintptr_t, Allocation> allocations;

    ~Memory() { clear(); }

    void clear() {
        for (const auto &[address, allocation] : allocations) std::free(reinterpret_cast<void *>(address));
        allocations.clear();
    }
};

Memory &memory() { return lasting<Memory>(); }

void *pointer_of(cu_pointer pointer) { return reinterpret_cast<void *>(static_cast<std::uintptr_t>(pointer)); }

cu_result allocate(void **pointer, std::size_t bytes, unsigned memory_type) {
    if (const cu_result result = check_context()) return result;
    if (bytes == 0) return error(CU_ERROR_INVALID_VALUE, "an allocation of no bytes");
    if (bytes > SIZE_MAX - kAlignmentBytes) return error(CU_ERROR_OUT_OF_MEMORY, "an allocation of more than there can be");
    *pointer = std::aligned_alloc(kAlignmentBytes, (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes);
    if (!*pointer) return error(CU_ERROR_OUT_OF_MEMORY, "no memory for an allocation of " + std::to_string(bytes) + " bytes");
    if (options().poison) std::memset(*pointer, kPoison, bytes);
    const std::lock_guard<std::mutex> lock(memory().mutex);
    memory().allocations[reinterpret_cast<std::uintptr_t>(*pointer)] = {bytes, memory_type};
    return CU_OK;
}

// Goes ahead after a failure, unlike a GPU's: this memory is the process's.
cu_result release(void *pointer, unsigned memory_type) {
    {
        const std::lock_guard<std::mutex> lock(memory().mutex);
        const auto found = memory().allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
        if (found == memory().allocations.end() || found->second.memory_type != memory_type) {
            return error(CU_ERROR_INVALID_VALUE, "memory that was not allocated so, or has been freed, is freed");
        }
        memory().allocations.erase(found);
    }
    std::free(pointer);
    return CU_OK;
}

cu_result mem_alloc(cu_pointer *pointer, std::size_t bytes) {
    void *address = nullptr;
    const cu_result result = allocate(&address, bytes, CU_MEMORY_DEVICE);
    *pointer = reinterpret_cast<std::uintptr_t>(address);
    return result;
}

cu_result mem_free(cu_pointer pointer) { return release(pointer_of(pointer), CU_MEMORY_DEVICE); }

cu_result mem_host_alloc(void **pointer, std::size_t bytes, unsigned) { return allocate(pointer, bytes, CU_MEMORY_HOST); }

cu_result mem_host_get_device_pointer(cu_pointer *pointer, void *host, unsigned flags) {
    if (const cu_result result = check_context()) return result;
    if (flags != 0) return error(CU_ERROR_INVALID_VALUE, "cuMemHostGetDevicePointer: flags must be 0");
    *pointer = reinterpret_cast<std::uintptr_t>(host);
    return CU_OK;
}

cu_result mem_free_host(void *pointer) { return release(pointer, CU_MEMORY_HOST); }

cu_result mem_get_info(std::size_t *free_bytes, std::size_t *total_bytes) {
    if (const cu_result result = check_context()) return result;
    const std::size_t page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    *free_bytes = static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * page_bytes;
    *total_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes;
    return CU_OK;
}

cu_result copy(void *to, const void *from, std::size_t bytes, cu_stream stream) {
    if (const cu_result result = check_stream(stream)) return result;
    std::memmove(to, from, bytes);
    return CU_OK;
}

cu_result memcpy_host_to_device(cu_pointer to, const void *from, std::size_t bytes, cu_stream stream) {
    return copy(pointer_of(to), from, bytes, stream);
}
cu_result memcpy_device_to_host(void *to, cu_pointer from, std::size_t bytes, cu_stream stream) {
    return copy(to, pointer_of(from), bytes, stream);
}
cu_result memcpy_device_to_device(cu_pointer to, cu_pointer from, std::size_t bytes, cu_stream stream) {
    return copy(pointer_of(to), pointer_of(from), bytes, stream);
}

cu_result memset_bytes(cu_pointer to, unsigned char value, std::size_t bytes, cu_stream stream) {
    if (const cu_result result = check_stream(stream)) return result;
    std::memset(pointer_of(to), value, bytes);
    return CU_OK;
}

cu_result pointer_get_attribute(void *value, int attribute, cu_pointer pointer) {
    if (const cu_result result = check_context()) return result;
    const std::lock_guard<std::mutex> lock(memory().mutex);
    auto after = memory().allocations.upper_bound(static_cast<std::uintptr_t>(pointer));
    if (after == memory().allocations.begin()) return error(CU_ERROR_INVALID_VALUE, "a pointer that no allocation holds");
    const auto &[start, allocation] = *std::prev(after);
    if (pointer - start >= allocation.bytes) return error(CU_ERROR_INVALID_VALUE, "a pointer that no allocation holds");
    switch (attribute) {
        case CU_POINTER_MEMORY_TYPE:
            *static_cast<unsigned *>(value) = allocation.memory_type;
            return CU_OK;
        case CU_POINTER_DEVICE_ORDINAL:
            *static_cast<int *>(value) = 0;
            return CU_OK;
        default:
            return error(CU_ERROR_INVALID_VALUE, "cuPointerGetAttribute: this attribute is not emulated");
    }
}

}  // namespace

void release_memory() {
    const std::lock_guard<std::mutex> lock(memory().mutex);
    memory().clear();
}

void fill_memory(nautilus_driver &table) {
    table.cuMemGetInfo = mem_get_info;
    table.cuMemAlloc = mem_alloc;
    table.cuMemFree = mem_free;
    table.cuMemHostAlloc = mem_host_alloc;
    table.cuMemHostGetDevicePointer = mem_host_get_device_pointer;
    table.cuMemFreeHost = mem_free_host;
    table.cuMemcpyHtoDAsync = memcpy_host_to_device;
    table.cuMemcpyDtoHAsync = memcpy_device_to_host;
    table.cuMemcpyDtoDAsync = memcpy_device_to_device;
    table.cuMemsetD8Async = memset_bytes;
    table.cuPointerGetAttribute = pointer_get_attribute;
}

}  // namespace nautilus::emulated::driver
