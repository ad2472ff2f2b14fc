"""The choice of a schedule of a product: by estimate, among those that are worth one."""

from __future__ import annotations

from functools import lru_cache

from nautilus_cli.kernels.limits import MOST_REGISTERS, WARP_THREADS
from nautilus_cli.kernels.product.candidates import copying_candidates, emulated_candidates, gpu_candidates
from nautilus_cli.kernels.product.completion import with_vectors
from nautilus_cli.kernels.product.estimate import emulated_ns, gpu_us
from nautilus_cli.kernels.product.legality import violations
from nautilus_cli.kernels.product.problem import Product
from nautilus_cli.kernels.product.resources import registers
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.kernels.ranking import fastest
from nautilus_cli.targets.base import Target

_TIGHT = 1.15


@lru_cache(maxsize=4096)
def choose(problem: Product, target: Target) -> Schedule:
    """Return the legal schedule of least estimated time."""
    fewest = 2 if problem.is_paired else 1
    small = Schedule(tile_m=1, tile_n=32, tile_k=8, thread_m=1, thread_n=fewest, stages=1)  # legal everywhere
    return fastest(
        emulated_candidates(problem) if target.is_emulated else (*gpu_candidates(problem), *copying_candidates(problem)),
        lambda s: emulated_ns(problem, s) if target.is_emulated else gpu_us(problem, s, target) * _tightness(problem, s, target),
        lambda s: violations(problem, s, target),
        otherwise=with_vectors(problem, small),
    )


def _tightness(problem: Product, schedule: Schedule, target: Target) -> float:
    """Return a factor of the time above 1 where the compiler has fewer registers than it would take, and may spill."""
    each = target.registers_multiprocessor // (max(schedule.threads, WARP_THREADS) * schedule.blocks)
    return _TIGHT if registers(problem, schedule) > min(MOST_REGISTERS, each) else 1.0
