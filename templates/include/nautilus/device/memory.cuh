// Vector loads and stores with cache hints. An address must be aligned to the size of the vector.
#pragma once

#include <nautilus/device/platform.cuh>
#include <nautilus/device/types.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/runtime.h>
#endif

namespace nautilus::device {

enum class LoadHint {
    kDefault,     // coherent; the only one for memory that this kernel also writes
    kReadOnly,    // read-only for the whole kernel
    kStreaming,   // read-only, once: evicted first
    kNoAllocate,  // read-only, once, large: not kept in L1. Keeps its place before a wait for earlier kernels; ptxas moves the others behind it
};

enum class StoreHint {
    kDefault,
    kStreaming,  // not read again soon: evicted first
};

namespace detail {

constexpr int kMostAccessBytes = 16;

#ifndef NAUTILUS_EMULATED

template <int kBytes>
struct alignas(kBytes) AccessWords {
    uint32 word[kBytes / 4];
};

// One instruction of each size, for one cache operator.
#define NAUTILUS_DEFINE_LOAD(hint, cache_operator)                                                                                \
    NAUTILUS_DEVICE void load_bits(uint8 &value, const void *address, LoadTag<hint>) {                                            \
        uint16 wide;                                                                                                              \
        asm volatile("ld.global" cache_operator ".u8 %0, [%1];" : "=h"(wide) : "l"(__cvta_generic_to_global(address)));           \
        value = static_cast<uint8>(wide);                                                                                         \
    }                                                                                                                             \
    NAUTILUS_DEVICE void load_bits(uint16 &value, const void *address, LoadTag<hint>) {                                           \
        asm volatile("ld.global" cache_operator ".u16 %0, [%1];" : "=h"(value) : "l"(__cvta_generic_to_global(address)));         \
    }                                                                                                                             \
    NAUTILUS_DEVICE void load_bits(AccessWords<4> &value, const void *address, LoadTag<hint>) {                                   \
        asm volatile("ld.global" cache_operator ".u32 %0, [%1];" : "=r"(value.word[0]) : "l"(__cvta_generic_to_global(address))); \
    }                                                                                                                             \
    NAUTILUS_DEVICE void load_bits(AccessWords<8> &value, const void *address, LoadTag<hint>) {                                   \
        asm volatile("ld.global" cache_operator ".v2.u32 {%0, %1}, [%2];"                                                         \
                     : "=r"(value.word[0]), "=r"(value.word[1])                                                                   \
                     : "l"(__cvta_generic_to_global(address)));                                                                   \
    }                                                                                                                             \
    NAUTILUS_DEVICE void load_bits(AccessWords<16> &value, const void *address, LoadTag<hint>) {                                  \
        asm volatile("ld.global" cache_operator ".v4.u32 {%0, %1, %2, %3}, [%4];"                                                 \
                     : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]), "=r"(value.word[3])                         \
                     : "l"(__cvta_generic_to_global(address)));                                                                   \
    }

template <LoadHint kHint>
struct LoadTag {};

NAUTILUS_DEFINE_LOAD(LoadHint::kReadOnly, ".nc")
NAUTILUS_DEFINE_LOAD(LoadHint::kStreaming, ".nc.L1::evict_first")
NAUTILUS_DEFINE_LOAD(LoadHint::kNoAllocate, ".L1::no_allocate")

#undef NAUTILUS_DEFINE_LOAD

// The same under a predicate: what VALUE holds stays where IS_THERE does not hold. A branch would keep the reads behind it waiting.
#define NAUTILUS_DEFINE_LOAD_IF(hint, cache_operator)                                                                             \
    NAUTILUS_DEVICE void load_bits_if(AccessWords<4> &value, const void *address, bool is_there, LoadTag<hint>) {                 \
        asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global" cache_operator ".u32 %0, [%1];}"                         \
                     : "+r"(value.word[0])                                                                                        \
                     : "l"(__cvta_generic_to_global(address)), "r"(static_cast<int>(is_there)));                                  \
    }                                                                                                                             \
    NAUTILUS_DEVICE void load_bits_if(AccessWords<8> &value, const void *address, bool is_there, LoadTag<hint>) {                 \
        asm volatile("{.reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global" cache_operator ".v2.u32 {%0, %1}, [%2];}"                \
                     : "+r"(value.word[0]), "+r"(value.word[1])                                                                   \
                     : "l"(__cvta_generic_to_global(address)), "r"(static_cast<int>(is_there)));                                  \
    }                                                                                                                             \
    NAUTILUS_DEVICE void load_bits_if(AccessWords<16> &value, const void *address, bool is_there, LoadTag<hint>) {                \
        asm volatile("{.reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global" cache_operator ".v4.u32 {%0, %1, %2, %3}, [%4];}"        \
                     : "+r"(value.word[0]), "+r"(value.word[1]), "+r"(value.word[2]), "+r"(value.word[3])                         \
                     : "l"(__cvta_generic_to_global(address)), "r"(static_cast<int>(is_there)));                                  \
    }

NAUTILUS_DEFINE_LOAD_IF(LoadHint::kDefault, "")
NAUTILUS_DEFINE_LOAD_IF(LoadHint::kNoAllocate, ".L1::no_allocate")

#undef NAUTILUS_DEFINE_LOAD_IF

NAUTILUS_DEVICE void store_streaming(uint8 value, void *address) {
    asm volatile("st.global.cs.u8 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "h"(static_cast<uint16>(value)) : "memory");
}
NAUTILUS_DEVICE void store_streaming(uint16 value, void *address) {
    asm volatile("st.global.cs.u16 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "h"(value) : "memory");
}
NAUTILUS_DEVICE void store_streaming(AccessWords<4> value, void *address) {
    asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "r"(value.word[0]) : "memory");
}
NAUTILUS_DEVICE void store_streaming(AccessWords<8> value, void *address) {
    asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(address)), "r"(value.word[0]), "r"(value.word[1])
                 : "memory");
}
NAUTILUS_DEVICE void store_streaming(AccessWords<16> value, void *address) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(address)), "r"(value.word[0]),
                 "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
                 : "memory");
}

template <int kBytes>
struct AccessBits {
    using Type = AccessWords<kBytes>;
};
template <>
struct AccessBits<1> {
    using Type = uint8;
};
template <>
struct AccessBits<2> {
    using Type = uint16;
};

#endif

}  // namespace detail

// Reads a Vec (an element, or a Vector of up to 16 bytes) from global memory.
template <typename Vec, LoadHint kHint = LoadHint::kDefault, typename T>
NAUTILUS_DEVICE Vec load_global(const T *address, Site site = current_site()) {
    static_assert(sizeof(Vec) <= detail::kMostAccessBytes && sizeof(Vec) % sizeof(T) == 0, "one access of whole elements");
#ifdef NAUTILUS_EMULATED
    emulated::check_alignment("load_global", address, sizeof(Vec), site);
    Vec value;
    __builtin_memcpy(&value, address, sizeof(Vec));
    return value;
#else
    if constexpr (kHint == LoadHint::kDefault) {
        return *reinterpret_cast<const Vec *>(address);
    } else {
        typename detail::AccessBits<sizeof(Vec)>::Type bits;
        detail::load_bits(bits, address, detail::LoadTag<kHint>());
        return bit_cast<Vec>(bits);
    }
#endif
}

// Reads a Vec of whole words where IS_THERE holds; all its bits are zero where it does not. No branch: all such reads are on their way at once.
template <typename Vec, LoadHint kHint = LoadHint::kDefault, typename T>
NAUTILUS_DEVICE Vec load_global_if(const T *address, bool is_there, Site site = current_site()) {
    static_assert(sizeof(Vec) <= detail::kMostAccessBytes && sizeof(Vec) % 4 == 0, "one access of whole words");
#ifdef NAUTILUS_EMULATED
    return is_there ? load_global<Vec, kHint>(address, site) : Vec{};
#else
    typename detail::AccessBits<sizeof(Vec)>::Type bits = {};
    detail::load_bits_if(bits, address, is_there, detail::LoadTag<kHint>());
    return bit_cast<Vec>(bits);
#endif
}

// Reads an integer that nothing writes while the kernel runs. The compiler knows so, and reads it once however often it is asked for.
NAUTILUS_DEVICE long long load_number(const long long *address) {
#ifdef NAUTILUS_EMULATED
    return *address;
#else
    return __ldg(address);
#endif
}

// Writes a Vec (an element, or a Vector of up to 16 bytes) to global memory.
template <typename Vec, StoreHint kHint = StoreHint::kDefault, typename T>
NAUTILUS_DEVICE void store_global(T *address, const Vec &value, Site site = current_site()) {
    static_assert(sizeof(Vec) <= detail::kMostAccessBytes && sizeof(Vec) % sizeof(T) == 0, "one access of whole elements");
#ifdef NAUTILUS_EMULATED
    emulated::check_alignment("store_global", address, sizeof(Vec), site);
    __builtin_memcpy(address, &value, sizeof(Vec));
#else
    if constexpr (kHint == StoreHint::kDefault) {
        *reinterpret_cast<Vec *>(address) = value;
    } else {
        detail::store_streaming(bit_cast<typename detail::AccessBits<sizeof(Vec)>::Type>(value), address);
    }
#endif
}

// Reads a Vec from shared memory.
template <typename Vec, typename T>
NAUTILUS_DEVICE Vec load_shared(const T *address, Site site = current_site()) {
    static_assert(sizeof(Vec) <= detail::kMostAccessBytes && sizeof(Vec) % sizeof(T) == 0, "one access of whole elements");
#ifdef NAUTILUS_EMULATED
    emulated::check_alignment("load_shared", address, sizeof(Vec), site);
    Vec value;
    __builtin_memcpy(&value, address, sizeof(Vec));
    return value;
#else
    return *reinterpret_cast<const Vec *>(address);
#endif
}

// Writes a Vec to shared memory.
template <typename Vec, typename T>
NAUTILUS_DEVICE void store_shared(T *address, const Vec &value, Site site = current_site()) {
    static_assert(sizeof(Vec) <= detail::kMostAccessBytes && sizeof(Vec) % sizeof(T) == 0, "one access of whole elements");
#ifdef NAUTILUS_EMULATED
    emulated::check_alignment("store_shared", address, sizeof(Vec), site);
    __builtin_memcpy(address, &value, sizeof(Vec));
#else
    *reinterpret_cast<Vec *>(address) = value;
#endif
}

}  // namespace nautilus::device
