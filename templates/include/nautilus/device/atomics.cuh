// Relaxed atomic operations on global or shared memory; each returns the value before.
#pragma once

#include <nautilus/device/platform.cuh>

namespace nautilus::device {

#ifdef NAUTILUS_EMULATED

template <typename T>
NAUTILUS_DEVICE T atomic_exchange(T *address, T value) {
    T previous;
    __atomic_exchange(address, &value, &previous, __ATOMIC_RELAXED);
    return previous;
}

// Returns the value before; VALUE is stored only where that equals EXPECTED.
template <typename T>
NAUTILUS_DEVICE T atomic_compare_exchange(T *address, T expected, T value) {
    __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

namespace detail {

template <typename T, typename Update>
NAUTILUS_DEVICE T atomic_update(T *address, Update update) {
    T previous;
    __atomic_load(address, &previous, __ATOMIC_RELAXED);
    T next = update(previous);
    while (!__atomic_compare_exchange(address, &previous, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) next = update(previous);
    return previous;
}

}  // namespace detail

template <typename T>
NAUTILUS_DEVICE T atomic_add(T *address, T value) {
    return detail::atomic_update(address, [=](T old) { return static_cast<T>(old + value); });
}
template <typename T>
NAUTILUS_DEVICE T atomic_max(T *address, T value) {
    return detail::atomic_update(address, [=](T old) { return old < value ? value : old; });
}
template <typename T>
NAUTILUS_DEVICE T atomic_min(T *address, T value) {
    return detail::atomic_update(address, [=](T old) { return value < old ? value : old; });
}

// Reads a flag that another block stored with store_release; what that block wrote before is then visible.
NAUTILUS_DEVICE uint32 load_acquire(const uint32 *address) { return __atomic_load_n(address, __ATOMIC_ACQUIRE); }
NAUTILUS_DEVICE void store_release(uint32 *address, uint32 value) { __atomic_store_n(address, value, __ATOMIC_RELEASE); }

#else

template <typename T>
NAUTILUS_DEVICE T atomic_exchange(T *address, T value) {
    return atomicExch(address, value);
}
template <typename T>
NAUTILUS_DEVICE T atomic_compare_exchange(T *address, T expected, T value) {
    return atomicCAS(address, expected, value);
}
template <typename T>
NAUTILUS_DEVICE T atomic_add(T *address, T value) {
    return atomicAdd(address, value);
}
template <typename T>
NAUTILUS_DEVICE T atomic_max(T *address, T value) {
    return atomicMax(address, value);
}
template <typename T>
NAUTILUS_DEVICE T atomic_min(T *address, T value) {
    return atomicMin(address, value);
}

NAUTILUS_DEVICE uint32 load_acquire(const uint32 *address) {
    uint32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(address)) : "memory");
    return value;
}
NAUTILUS_DEVICE void store_release(uint32 *address, uint32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "r"(value) : "memory");
}

#endif

}  // namespace nautilus::device
