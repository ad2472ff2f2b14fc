"""Schedules of a product that are worth an estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product as combinations

from nautilus_cli.kernels.limits import TRANSACTION_BYTES
from nautilus_cli.kernels.powers import power_divisor, powers
from nautilus_cli.kernels.product.completion import CPU_REGISTER_BYTES, longest_vector
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.schedule import Schedule

_LARGE_THREAD_TILES = ((8, 8), (8, 4), (4, 8), (4, 4), (2, 4))
_SMALL_THREAD_TILES = ((4, 4), (2, 4), (2, 8), (1, 8), (1, 4), (1, 2), (1, 1))
_EMULATED_THREAD_TILES = ((16, 16), (8, 16), (4, 16), (2, 32), (1, 64), (8, 8), (4, 8), (2, 8), (1, 8))
"""Register tiles that keep eight sums of a vector register each in flight, and smaller ones for narrow problems."""
_COPYING_THREAD_TILES = ((16, 8),)
_UNROLLED_SUMS = 1024
"""Multiply-adds of a thread that the device code unrolls."""
_MOST_CHECKED_COPIES = 16
"""Of a thread in a tile that may run over the edge: with more, what it knows of its rows does not fit its registers."""
_MOST_ASPECT = 8


def gpu_candidates(problem: Product) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate: blocks of 64 to 512 threads, each of which loads 4 to 64 elements of a tile."""
    fragment = TRANSACTION_BYTES // problem.sum_bytes
    m_limit, n_limit, k_limit = 2 * max(1, problem.m), 2 * max(8, problem.n), 2 * max(8, problem.k)
    for thread_m, thread_n in _LARGE_THREAD_TILES if problem.m >= 16 else _SMALL_THREAD_TILES:
        for threads, slices_k in combinations((64, 128, 256, 512), (1, 2, 4, 8, 16)):
            group = threads // slices_k
            for threads_m in powers(1, group):
                tile_m, tile_n = thread_m * threads_m, thread_n * group // threads_m
                if tile_m >= m_limit or tile_n >= n_limit or tile_n < 8 or max(tile_m, tile_n) > 256:
                    continue
                if tile_m > _MOST_ASPECT * tile_n or (tile_n > _MOST_ASPECT * tile_m and 4 * tile_m < m_limit):
                    continue
                for tile_k in (8, 16, 32, 64, 128, 256):
                    elements = (tile_m + tile_n) * tile_k
                    if tile_k >= k_limit or tile_k < 4 * slices_k > 4 or not 4 * threads <= elements <= 64 * threads:
                        continue
                    yield _schedule(problem, tile_m, tile_n, tile_k, thread_m, thread_n, slices_k, fragment)


def copying_candidates(problem: Product) -> Iterator[Schedule]:
    """Yield schedules that copy past registers, of tiles whose steps are all unrolled, so that copies go between them."""
    if not problem.is_straight:
        return
    for thread_m, thread_n in _COPYING_THREAD_TILES:
        for threads, slices_k in combinations((64, 128, 256), (1, 2, 4)):
            group = threads // slices_k
            for threads_m in powers(4, group // 4):
                tile_m, tile_n = thread_m * threads_m, thread_n * group // threads_m
                tile_k = _UNROLLED_SUMS // (thread_m * thread_n) * slices_k
                if (
                    tile_m >= 2 * problem.m
                    or tile_n >= 2 * problem.n
                    or tile_k >= 2 * problem.k
                    or max(tile_m, tile_n) > 2 * min(tile_m, tile_n)
                ):
                    continue
                is_whole = not (problem.m % tile_m or problem.n % tile_n or problem.k % tile_k)
                if not is_whole and (tile_m + tile_n) * tile_k > _MOST_CHECKED_COPIES * threads:
                    continue
                blocks = max(1, 256 // threads) if slices_k == 1 else 1
                found = _schedule(problem, tile_m, tile_n, tile_k, thread_m, thread_n, slices_k, TRANSACTION_BYTES // problem.sum_bytes)
                yield replace(found, stages=3, blocks=blocks)


def emulated_candidates(problem: Product) -> Iterator[Schedule]:
    """Yield schedules of at most 128 threads, each of which is a fiber."""
    fragment = CPU_REGISTER_BYTES // problem.sum_bytes
    tiles_m = powers(1, min(256, 2 * problem.m - 1))
    tiles_n = powers(8, max(8, min(256, 2 * problem.n - 1)))
    for thread_m, thread_n in _EMULATED_THREAD_TILES:
        for tile_m, tile_n in combinations(tiles_m, tiles_n):
            if 1 <= (tile_m // thread_m) * (tile_n // thread_n) <= 128:
                for tile_k in (16, 32, 64):
                    yield _schedule(problem, tile_m, tile_n, tile_k, thread_m, thread_n, 1, fragment)


def _schedule(
    problem: Product, tile_m: int, tile_n: int, tile_k: int, thread_m: int, thread_n: int, slices_k: int, fragment: int
) -> Schedule:
    """Return a double-buffered schedule with the longest vectors."""
    threads = (tile_m // thread_m) * (tile_n // thread_n) * slices_k
    along_a = tile_k if problem.a_k_last else tile_m
    along_b = tile_k if problem.b_k_last else tile_n
    return Schedule(
        tile_m=tile_m,
        tile_n=tile_n,
        tile_k=tile_k,
        thread_m=thread_m,
        thread_n=thread_n,
        slices_k=slices_k,
        fragment=fragment,
        vector_a=longest_vector(problem.a_run, along_a, tile_m * tile_k, threads, problem.a_bytes),
        vector_b=longest_vector(problem.b_run, along_b, tile_n * tile_k, threads, problem.b_bytes),
        vector_c=power_divisor(problem.n, min(fragment, thread_n)),
        group_m=8 if problem.m >= 16 * tile_m and problem.n >= 2 * tile_n else 1,
    )
