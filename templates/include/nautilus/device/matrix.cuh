// Matrices of 8 rows of 16 bytes between shared memory and the registers of a warp, as mma takes and gives them.
//
// Of each matrix, lane l holds bytes 4 (l % 4) to 4 (l % 4) + 3 of row l / 4. Transposed, which is for elements of 16 bits, it holds the
// elements of rows 2 (l % 4) and 2 (l % 4) + 1 in column l / 4.
#pragma once

#include <nautilus/device/execution.cuh>
#include <nautilus/device/memory.cuh>
#include <nautilus/device/platform.cuh>
#include <nautilus/device/shared_memory.cuh>
#ifdef NAUTILUS_EMULATED
#include <nautilus/device/emulated/matrices.h>
#endif

namespace nautilus::device {

namespace detail {

#ifdef NAUTILUS_EMULATED

// Each lane reads the row that it names; what remains is an exchange of registers.
template <bool kIsTransposed, int kTiles, int kCount, typename Row>
NAUTILUS_DEVICE void load_matrices(uint32 *fragments, Row row, Site site) {
    emulated::MatrixRow rows[kTiles];
    if (lane_index() < 8 * kCount) {
        for (int tile = 0; tile < kTiles; ++tile) {
            emulated::check_shared(row(tile), sizeof rows[tile], "load_matrices from", site);
            emulated::check_alignment("load_matrices", row(tile), sizeof rows[tile], site);
            __builtin_memcpy(&rows[tile], row(tile), sizeof rows[tile]);
        }
    }
    emulated::spread_matrices(fragments, rows, kTiles, kCount, kIsTransposed, site);
}

#else

template <bool kIsTransposed>
NAUTILUS_DEVICE void load_matrices(uint32 (&fragment)[1], const void *row) {
    if constexpr (kIsTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(fragment[0])
                     : "r"(shared_address(row))
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(fragment[0]) : "r"(shared_address(row)) : "memory");
    }
}
template <bool kIsTransposed>
NAUTILUS_DEVICE void load_matrices(uint32 (&fragment)[2], const void *row) {
    if constexpr (kIsTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fragment[0]), "=r"(fragment[1])
                     : "r"(shared_address(row))
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fragment[0]), "=r"(fragment[1])
                     : "r"(shared_address(row))
                     : "memory");
    }
}
template <bool kIsTransposed>
NAUTILUS_DEVICE void load_matrices(uint32 (&fragment)[4], const void *row) {
    if constexpr (kIsTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                     : "r"(shared_address(row))
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3])
                     : "r"(shared_address(row))
                     : "memory");
    }
}

#endif

}  // namespace detail

// Reads kCount matrices (1, 2 or 4), matrix i into fragment[i]. Lane l names row l % 8 of matrix l / 8, 16 bytes aligned to that; of lanes
// beyond 8 kCount the address is not looked at. Every lane of the warp makes the call.
template <bool kIsTransposed = false, int kCount>
NAUTILUS_DEVICE void load_matrices(uint32 (&fragment)[kCount], const void *row, Site site = current_site()) {
    static_assert(kCount == 1 || kCount == 2 || kCount == 4, "ldmatrix reads 1, 2 or 4 matrices");
#ifdef NAUTILUS_EMULATED
    detail::load_matrices<kIsTransposed, 1, kCount>(fragment, [row](int) { return row; }, site);
#else
    detail::load_matrices<kIsTransposed>(fragment, row);
#endif
}

// The same several times over, which the emulator does as one: ROW(tile) is the lane's address for that tile.
template <bool kIsTransposed = false, int kTiles, int kCount, typename Row>
NAUTILUS_DEVICE void load_matrix_tiles(uint32 (&fragments)[kTiles][kCount], Row row, Site site = current_site()) {
    static_assert(kCount == 1 || kCount == 2 || kCount == 4, "ldmatrix reads 1, 2 or 4 matrices");
#ifdef NAUTILUS_EMULATED
    detail::load_matrices<kIsTransposed, kTiles, kCount>(&fragments[0][0], row, site);
#else
    NAUTILUS_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) detail::load_matrices<kIsTransposed>(fragments[tile], row(tile));
#endif
}

#if NAUTILUS_HAS_SM90

#ifndef NAUTILUS_EMULATED

namespace detail {

template <bool kIsTransposed>
NAUTILUS_DEVICE void store_matrices(void *row, const uint32 (&fragment)[1]) {
    if constexpr (kIsTransposed) {
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(shared_address(row)), "r"(fragment[0]) : "memory");
    } else {
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(shared_address(row)), "r"(fragment[0]) : "memory");
    }
}
template <bool kIsTransposed>
NAUTILUS_DEVICE void store_matrices(void *row, const uint32 (&fragment)[2]) {
    if constexpr (kIsTransposed) {
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(fragment[0]),
                     "r"(fragment[1])
                     : "memory");
    } else {
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)), "r"(fragment[0]),
                     "r"(fragment[1])
                     : "memory");
    }
}
template <bool kIsTransposed>
NAUTILUS_DEVICE void store_matrices(void *row, const uint32 (&fragment)[4]) {
    if constexpr (kIsTransposed) {
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(fragment[0]),
                     "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3])
                     : "memory");
    } else {
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(fragment[0]),
                     "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3])
                     : "memory");
    }
}

}  // namespace detail

#endif

// Writes kCount matrices: the reverse of load_matrices. From sm_90 on.
template <bool kIsTransposed = false, int kCount>
NAUTILUS_DEVICE void store_matrices(void *row, const uint32 (&fragment)[kCount], Site site = current_site()) {
    static_assert(kCount == 1 || kCount == 2 || kCount == 4, "stmatrix writes 1, 2 or 4 matrices");
#ifdef NAUTILUS_EMULATED
    emulated::MatrixRow gathered;
    emulated::gather_matrices(gathered, fragment, kCount, kIsTransposed, site);
    if (lane_index() < 8 * kCount) {
        emulated::check_shared(row, sizeof gathered, "store_matrices to", site);
        emulated::check_alignment("store_matrices", row, sizeof gathered, site);
        __builtin_memcpy(row, &gathered, sizeof gathered);
    }
#else
    detail::store_matrices<kIsTransposed>(row, fragment);
#endif
}

#endif

}  // namespace nautilus::device
