"""Which schedules of a product by mma.sync are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.limits import MOST_BLOCKS_X, MOST_BLOCKS_Y, MOST_CLUSTER, MOST_REGISTERS, MOST_THREADS, TRANSACTION_BYTES
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.resources import MMA_M, STEP_BYTES, finished_columns, grid, items, registers, smem_bytes
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.powers import power_violations
from nautilus_cli.targets.base import Target

_MOST_ITEMS = 64


def violations(problem: MmaProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s = schedule
    if wrong := power_violations(s, ("stages",)):
        return wrong
    if s.warp_m > s.tile_m or s.warp_n > s.tile_n:
        return (f"a warp's tile of {s.warp_m}×{s.warp_n} is larger than the block's of {s.tile_m}×{s.tile_n}",)
    return tuple(
        chain(
            _warp_violations(problem, s, target),
            _operand_violations(problem, s),
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            _launch_violations(problem, s, target),
        )
    )


def _warp_violations(problem: MmaProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why warps and blocks cannot share out the work so."""
    s = schedule
    if s.warp_m < MMA_M or s.warp_n < MMA_M:
        yield f"a warp's tile of {s.warp_m}×{s.warp_n}; {MMA_M}×{MMA_M} is the least"
    if s.warp_n > 128:
        yield f"warp_n of {s.warp_n}; at most 128 columns are written"
    step = STEP_BYTES // problem.element_bytes
    if s.tile_k < step * s.slices_k:
        yield f"a tile of {s.tile_k} steps has no step of {step} for each of {s.slices_k} slices"
    if s.cluster_k > MOST_CLUSTER or (s.cluster_k > 1 and not target.has_clusters):
        yield f"{s.cluster_k} blocks in a cluster; at most {MOST_CLUSTER if target.has_clusters else 1} are possible"
    if not 2 <= s.stages <= 8:
        yield f"{s.stages} stages; 2 to 8 are written"
    if s.threads > MOST_THREADS:
        yield f"{s.threads} threads a block; at most {MOST_THREADS} are possible"


def _operand_violations(problem: MmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why threads cannot bring the operands so."""
    s, shape = schedule, problem.shape
    for name, outer, vector, k_last, run in (
        ("a", s.tile_m, s.vector_a, shape.a_k_last, shape.a_run),
        ("b", s.tile_n, s.vector_b, shape.b_k_last, shape.b_run),
    ):
        along = s.tile_k if k_last else outer
        if vector > along:
            yield f"vector_{name} of {vector} is longer than the tile, {along}"
        elif run % vector:
            yield f"vector_{name} of {vector} does not divide {run}, the extent that it runs along"
        elif vector * problem.element_bytes > TRANSACTION_BYTES:
            yield f"vector_{name} of {vector} is more than a transaction of {TRANSACTION_BYTES} bytes"
        elif items(outer, s, vector) > _MOST_ITEMS:
            yield f"a thread brings {items(outer, s, vector)} vectors of {name} a tile; at most {_MOST_ITEMS} are possible"


def _epilogue_violations(problem: MmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s, shape = schedule, problem.shape
    if 8 * max(1, s.vector_c // 2) > s.warp_n or s.vector_c > 8:
        yield f"vector_c of {s.vector_c}; at most {min(8, s.warp_n // 4)} neighbours meet in a lane"
    elif shape.n % s.vector_c:
        yield f"vector_c of {s.vector_c} does not divide n = {shape.n}"
    elif shape.is_paired and s.vector_c < 2:
        yield "the epilogue takes one sum at a time; two make a result"
    if problem.part_columns and (shape.n % problem.part_columns or finished_columns(s) % problem.part_columns):
        yield f"{finished_columns(s)} columns of a warp, and n = {shape.n}, are no whole parts of {problem.part_columns}"


def _room_violations(problem: MmaProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why a block, or a thread, has no room for it."""
    s = schedule
    if smem_bytes(problem, s) > target.smem_bytes_block:
        yield f"{smem_bytes(problem, s)} bytes of shared memory; a block of {target.name} has {target.smem_bytes_block}"
    available = min(MOST_REGISTERS, target.registers_multiprocessor // (s.threads * s.blocks))
    if not target.is_emulated and registers(problem, s, fragments=1) > available:
        yield f"at least {registers(problem, s, fragments=1)} registers a thread; {available} are available"


def _launch_violations(problem: MmaProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why it cannot be launched on a target."""
    s, shape = schedule, problem.shape
    if grid(problem, s)[0] > MOST_BLOCKS_X or grid(problem, s)[2] > MOST_BLOCKS_Y:
        yield f"a grid of {grid(problem, s)} blocks is larger than a launch can be"
    if maximum(shape.m, shape.n, shape.k) + max(s.tile_m, s.tile_n, s.tile_k) > 2**31:
        yield "an extent is beyond 31 bits"
    if not target.is_emulated and not target.has_async_copy:
        yield f"{target.name} has no asynchronous copies"
