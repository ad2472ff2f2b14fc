"""What follows of a schedule once its tiles and warps are chosen: the longest vectors."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.kernels.limits import TRANSACTION_BYTES
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.powers import power_divisor


def with_vectors(problem: MmaProduct, schedule: Schedule) -> Schedule:
    """Return the schedule with the longest vectors that divide what they run along."""
    s, shape = schedule, problem.shape
    most = TRANSACTION_BYTES // problem.element_bytes

    def longest(run: int, along: int, storage_bytes: int) -> int:
        return power_divisor(run, min(most, along, max(1, TRANSACTION_BYTES // storage_bytes)))

    return replace(
        s,
        vector_a=longest(shape.a_run, s.tile_k if shape.a_k_last else s.tile_m, shape.a_bytes),
        vector_b=longest(shape.b_run, s.tile_k if shape.b_k_last else s.tile_n, shape.b_bytes),
        vector_c=power_divisor(shape.n, min(8, s.warp_n // 4)),
    )
