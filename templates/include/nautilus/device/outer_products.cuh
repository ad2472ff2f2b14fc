// Sums of outer products in registers: the arithmetic of a matrix product without tensor cores.
#pragma once

#include <nautilus/device/math.cuh>
#include <nautilus/device/platform.cuh>

namespace nautilus::device {

// Which elements of a row of shared memory a thread takes: COUNT of them, in chunks of CHUNK neighbours that begin STEP apart.
template <int kCountN, int kChunkN, int kStepN>
struct Fragment {
    static_assert(kCountN % kChunkN == 0, "whole chunks");
    static constexpr int kCount = kCountN;
    static constexpr int kChunk = kChunkN;
    static constexpr int kStep = kStepN;

    // Where element I lies, from the first one.
    NAUTILUS_DEVICE static constexpr int offset(int i) { return i / kChunk * kStep + i % kChunk; }
};

// Columns lie in pairs the wrong way round where kIsSwapped: a sum and the column that it takes are then in different banks of registers,
// since both are read and written in whole chunks. Two operands of one bank take an instruction two cycles.

// a * b + c, for floating point with one rounding.
template <class T>
NAUTILUS_DEVICE T multiply_add(T a, T b, T c) {
    return a * b + c;
}
NAUTILUS_DEVICE float multiply_add(float a, float b, float c) { return fma(a, b, c); }
NAUTILUS_DEVICE double multiply_add(double a, double b, double c) { return fma(a, b, c); }

#ifdef NAUTILUS_EMULATED

namespace detail {

constexpr int least(int a, int b) { return a < b ? a : b; }

// COUNT neighbours in one vector register of the CPU, and what multiplies and adds them with one rounding.
template <class T, int kCount>
struct Lanes {
    typedef T Register __attribute__((vector_size(kCount * sizeof(T))));
    NAUTILUS_DEVICE static Register multiply_add(Register a, Register b, Register c) { return a * b + c; }
};
#if defined(__FMA__) && !defined(__clang__)
#define NAUTILUS_DEFINE_LANES(type, count, builtin)                                                                 \
    template <>                                                                                                    \
    struct Lanes<type, count> {                                                                                    \
        typedef type Register __attribute__((vector_size(count * sizeof(type))));                                  \
        NAUTILUS_DEVICE static Register multiply_add(Register a, Register b, Register c) { return builtin(a, b, c); } \
    };
#else
#define NAUTILUS_DEFINE_LANES(type, count, builtin)                                                                \
    template <>                                                                                                    \
    struct Lanes<type, count> {                                                                                    \
        typedef type Register __attribute__((vector_size(count * sizeof(type))));                                  \
        NAUTILUS_DEVICE static Register multiply_add(Register a, Register b, Register c) {                         \
            for (int lane = 0; lane < count; ++lane) c[lane] = fma(type(a[lane]), type(b[lane]), type(c[lane]));   \
            return c;                                                                                              \
        }                                                                                                          \
    };
#endif
NAUTILUS_DEFINE_LANES(float, 8, __builtin_ia32_vfmaddps256)
NAUTILUS_DEFINE_LANES(float, 4, __builtin_ia32_vfmaddps)
NAUTILUS_DEFINE_LANES(double, 4, __builtin_ia32_vfmaddpd256)
NAUTILUS_DEFINE_LANES(double, 2, __builtin_ia32_vfmaddpd)
#undef NAUTILUS_DEFINE_LANES

// Fragments too short for a register.
template <class T>
struct Lanes<T, 1> {
    using Register = T;
    NAUTILUS_DEVICE static T multiply_add(T a, T b, T c) { return device::multiply_add(a, b, c); }
};
template <>
struct Lanes<float, 2> {
    typedef float Register __attribute__((vector_size(8)));
    NAUTILUS_DEVICE static Register multiply_add(Register a, Register b, Register c) {
        return Register{fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1])};
    }
};

// The lanes of each pair change places.
template <class Register>
NAUTILUS_DEVICE Register swap_pairs(Register lanes) {
    if constexpr (sizeof(Register) == 2 * sizeof(lanes[0])) {
        return __builtin_shufflevector(lanes, lanes, 1, 0);
    } else {
        static_assert(sizeof(Register) == 4 * sizeof(lanes[0]), "two lanes or four");
        return __builtin_shufflevector(lanes, lanes, 1, 0, 3, 2);
    }
}

}  // namespace detail

// Where each step's row of a tile begins, before it is joined with the thread's own place.
template <class Layout, class Depths>
struct StepPlaces {
    int places[Depths::kCount];
    constexpr StepPlaces() : places() {
        for (int step = 0; step < Depths::kCount; ++step) places[step] = Layout::place(Depths::depth(step), 0);
    }
};

// See below. Blocks of sums stay in the vector registers of the CPU over all steps.
template <class Rows, class Columns, class LayoutA, class LayoutB, class Depths, bool kIsSwapped, class T, class Beside>
NAUTILUS_DEVICE void add_outer_products(T (&sums)[Rows::kCount][Columns::kCount], const T *a, int place_a, const T *b, int place_b,
                                        const Beside &beside) {
    for (int step = 0; step < Depths::kCount; ++step) beside(step);
    constexpr int kLanes = detail::least(Columns::kChunk, 32 / static_cast<int>(sizeof(T)));
    using Operation = detail::Lanes<T, kLanes>;
    using Register = typename Operation::Register;
    constexpr int kRegisters = Columns::kCount / kLanes;
    // Eight sums hide the latency of a multiply-add; four rows by two registers need the fewest loads.
    constexpr int kRegisterBlock = detail::least(kRegisters, 8 / detail::least(Rows::kCount, 4));
    constexpr int kRowBlock = detail::least(Rows::kCount, 8 / kRegisterBlock);
    static constexpr StepPlaces<LayoutA, Depths> kStepsA;
    static constexpr StepPlaces<LayoutB, Depths> kStepsB;
    for (int row = 0; row < Rows::kCount; row += kRowBlock) {
        for (int column = 0; column < Columns::kCount; column += kRegisterBlock * kLanes) {
            Register block[kRowBlock][kRegisterBlock];
            int a_place[kRowBlock];
            int b_place[kRegisterBlock];
#pragma GCC unroll 8
            for (int i = 0; i < kRowBlock; ++i) {
                a_place[i] = LayoutA::join(place_a, LayoutA::place(0, Rows::offset(row + i)));
#pragma GCC unroll 8
                for (int j = 0; j < kRegisterBlock; ++j) __builtin_memcpy(&block[i][j], &sums[row + i][column + j * kLanes], sizeof(Register));
            }
#pragma GCC unroll 8
            for (int j = 0; j < kRegisterBlock; ++j) b_place[j] = LayoutB::join(place_b, LayoutB::place(0, Columns::offset(column + j * kLanes)));
            for (int step = 0; step < Depths::kCount; ++step) {
                Register right[kRegisterBlock];
#pragma GCC unroll 8
                for (int j = 0; j < kRegisterBlock; ++j) __builtin_memcpy(&right[j], b + LayoutB::join(b_place[j], kStepsB.places[step]), sizeof(Register));
                if constexpr (kIsSwapped) {
#pragma GCC unroll 8
                    for (int j = 0; j < kRegisterBlock; ++j) right[j] = detail::swap_pairs(right[j]);
                }
#pragma GCC unroll 8
                for (int i = 0; i < kRowBlock; ++i) {
                    const Register left = a[LayoutA::join(a_place[i], kStepsA.places[step])] - Register{};
#pragma GCC unroll 8
                    for (int j = 0; j < kRegisterBlock; ++j) block[i][j] = Operation::multiply_add(left, right[j], block[i][j]);
                }
            }
#pragma GCC unroll 8
            for (int i = 0; i < kRowBlock; ++i) {
#pragma GCC unroll 8
                for (int j = 0; j < kRegisterBlock; ++j) __builtin_memcpy(&sums[row + i][column + j * kLanes], &block[i][j], sizeof(Register));
            }
        }
    }
}

#else

namespace detail {

// A chunk as one or more transactions of at most 16 bytes.
template <class T, int kCount>
struct alignas(kCount * sizeof(T) < 16 ? kCount * sizeof(T) : 16) Chunk {
    T elements[kCount];
};

template <class Elements, class Layout, bool kIsSwapped, class T>
NAUTILUS_DEVICE void read_fragment(T (&fragment)[Elements::kCount], const T *tile, int place, int depth) {
    NAUTILUS_UNROLL
    for (int first = 0; first < Elements::kCount; first += Elements::kChunk) {
        const T *const address = tile + Layout::join(place, Layout::place(depth, Elements::offset(first)));
        const auto chunk = *reinterpret_cast<const Chunk<T, Elements::kChunk> *>(address);
        NAUTILUS_UNROLL
        for (int i = 0; i < Elements::kChunk; ++i) fragment[first + i] = chunk.elements[kIsSwapped ? i ^ 1 : i];
    }
}

}  // namespace detail

// sums[i][j] += a[depth][row i] * b[depth][column j] for the steps of DEPTHS, in order. BESIDE(step) is called for each of them: what it
// issues goes between them.
//
// Layout::place(depth, outer) says where an element of a tile lies, and Layout::join the place of a sum of depths and of outers, whose bits
// differ. PLACE_A and PLACE_B are those of the thread's first element, at the first depth of its slice.
template <class Rows, class Columns, class LayoutA, class LayoutB, class Depths, bool kIsSwapped, class T, class Beside>
NAUTILUS_DEVICE void add_outer_products(T (&sums)[Rows::kCount][Columns::kCount], const T *a, int place_a, const T *b, int place_b,
                                        const Beside &beside) {
    // About a thousand multiply-adds, so that the loop stays in the instruction cache.
    constexpr int kMost = 1024 / (Rows::kCount * Columns::kCount);
    constexpr int kUnroll = kMost < 1 ? 1 : kMost < Depths::kCount ? kMost : Depths::kCount;
#pragma unroll 1
    for (int first = 0; first < Depths::kCount; first += kUnroll) {
        const int first_a = LayoutA::join(place_a, LayoutA::place(Depths::depth(first), 0));
        const int first_b = LayoutB::join(place_b, LayoutB::place(Depths::depth(first), 0));
        NAUTILUS_UNROLL
        for (int step = 0; step < kUnroll; ++step) {
            T a_fragment[Rows::kCount];
            T b_fragment[Columns::kCount];
            detail::read_fragment<Rows, LayoutA, false>(a_fragment, a, first_a, Depths::depth(step));
            detail::read_fragment<Columns, LayoutB, kIsSwapped>(b_fragment, b, first_b, Depths::depth(step));
            beside(first + step);
            NAUTILUS_UNROLL
            for (int i = 0; i < Rows::kCount; ++i) {
                NAUTILUS_UNROLL
                for (int at = 0; at < Columns::kCount; ++at) {
                    const int j = i % 2 == 0 ? at : Columns::kCount - 1 - at;  // so that one operand stays from row to row
                    sums[i][j] = multiply_add(a_fragment[i], b_fragment[j], sums[i][j]);
                }
            }
        }
    }
}

#endif

}  // namespace nautilus::device
