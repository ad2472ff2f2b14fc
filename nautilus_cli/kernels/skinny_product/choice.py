"""The choice of a schedule of a product with few rows: by estimate, among those that are worth one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product as combinations

from nautilus_cli.kernels.limits import TRANSACTION_BYTES, WARP_THREADS
from nautilus_cli.kernels.powers import power_at_most, power_divisor
from nautilus_cli.kernels.ranking import fastest
from nautilus_cli.kernels.skinny_product.completion import with_all_rows
from nautilus_cli.kernels.skinny_product.estimate import emulated_ns, gpu_us
from nautilus_cli.kernels.skinny_product.legality import violations
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.resources import MMA_LANES, MMA_VECTOR, registers, step_depth
from nautilus_cli.kernels.skinny_product.schedule import Schedule
from nautilus_cli.targets.base import Target


@lru_cache(maxsize=4096)
def choose(problem: SkinnyProduct, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    small = with_all_rows(problem, False, 2 if problem.shape.is_paired else 1, WARP_THREADS, 1, 1, 1, 1)  # legal everywhere
    return fastest(
        candidates(problem, target),
        lambda s: emulated_ns(problem, s) if target.is_emulated else gpu_us(problem, s, target),
        lambda s: violations(problem, s, target),
        otherwise=small,
    )


def candidates(problem: SkinnyProduct, target: Target) -> Iterator[Schedule]:
    """Yield schedules that are worth an estimate: two to eight warps, sixteen on tensor cores, none idle along a short depth."""
    vector_b = power_divisor(problem.shape.b_run, TRANSACTION_BYTES // problem.shape.b_bytes)
    fewest, most = (1, 4) if target.is_emulated else (2, 16)
    ways: list[tuple[bool, tuple[int, ...], tuple[int, ...]]] = [(False, (1, 2, 4, 8), (4, 8, 16, 32))]
    if problem.shape.b_k_last:
        lanes = min(WARP_THREADS, max(4, power_at_most(problem.shape.k // vector_b)))
        ways = [(False, (1, 2, 4, 8), (lanes,))]
        if problem.may_use_tensor_cores and problem.shape.m > 1 and vector_b == MMA_VECTOR:
            ways.append((True, (2, 4), (MMA_LANES,)))
    for tensor_cores, columns, lanes_along in ways:
        for thread_n, lanes_k, loads, slices_k, groups in combinations(columns, lanes_along, (1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4, 8, 16)):
            if not fewest <= slices_k * groups <= (most if tensor_cores else most // 2) or thread_n * loads > (16 if tensor_cores else 8):
                continue
            found = with_all_rows(problem, tensor_cores, thread_n, lanes_k, loads, slices_k, groups, 1)
            if slices_k * loads > 1 and step_depth(problem, found) >= 2 * problem.shape.k:
                continue
            yield found
            if not tensor_cores:  # the compiler takes what it is given; held to less, more blocks fit
                blocks = target.registers_multiprocessor // (found.threads * (-(-registers(problem, found, fewest=True) // 8) * 8))
                if blocks > 1:
                    yield replace(found, blocks=min(blocks, target.threads_multiprocessor // found.threads))
