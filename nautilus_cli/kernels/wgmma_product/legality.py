"""Which schedules of a product by wgmma are possible, with the reason of each that is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from math import ceil

from nautilus_cli.ir.dims import is_symbolic, lower
from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.boxes import ALIGNMENT_BYTES, MOST_BOX, ROW_BYTES
from nautilus_cli.kernels.limits import MOST_CLUSTER, SYSTEM_SMEM_BYTES
from nautilus_cli.kernels.wgmma_product.problem import Loaded, WgmmaProduct
from nautilus_cli.kernels.wgmma_product.resources import (
    WARPGROUP_ROWS,
    cluster_tiles,
    consumer_registers,
    entry_registers,
    finished_columns,
    input_registers,
    lane_columns,
    oriented,
    producer_registers,
    read_registers,
    smem_bytes,
    spare_registers,
    sum_registers,
)
from nautilus_cli.kernels.wgmma_product.schedule import SWITCHES, Schedule
from nautilus_cli.targets.base import Target

MOST_STAGES = 16

_MOST_TILES = 2**31 - 1
_MOST_SUMS = 256
_STREAM_REGISTERS = 16  # of the addresses of each load from the third on: five loads of 16 bytes spill in 216 registers (ptxas 13.0)
_BAND_REGISTERS = 84  # of a thread that loads, beside 64 rows and their places: two loads of 32 elements that come alone fit into 216
_STEP_REGISTERS = 26  # beside the sums of one wgmma, all of which one instruction names


def violations(problem: WgmmaProduct, schedule: Schedule, target: Target) -> tuple[str, ...]:
    """Return why this schedule cannot serve this problem on this target; empty where it can."""
    s = schedule
    if any(getattr(s, field.name) < 1 for field in fields(s) if field.name not in SWITCHES):
        return ("a number is less than 1",)
    if not target.has_wgmma:
        return (f"{target.name} has no wgmma",)
    return tuple(
        chain(
            _warpgroup_violations(problem, s),
            _cluster_violations(problem, s),
            _part_violations(problem, s) if s.parts > 1 else (),
            _loaded_violations(problem, problem.loaded_a, s) if problem.loaded_a is not None else (),
            _epilogue_violations(problem, s),
            _room_violations(problem, s, target),
            _size_violations(problem, s),
        )
    )


def _warpgroup_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why warpgroups cannot share out a tile so."""
    s = schedule
    if s.consumers > 3:
        yield f"{s.consumers} consumers; at most 3 are written"
    elif s.ping_pong and s.consumers < 2:
        yield "one consumer cannot take turns"
    if problem.terms == 3 and s.ping_pong:
        yield "consumers in turns do not share what tf32 leaves of floats"
    if s.slices_depth and (s.ping_pong or s.consumers < 2):
        yield "consumers that take turns, or one alone, do not share out the depth"
    if s.rows < s.tile_m and s.tile_m % (WARPGROUP_ROWS * s.consumers):
        yield f"tile_m of {s.tile_m} is no multiple of {WARPGROUP_ROWS} rows for each of {s.consumers} consumers"
    elif s.tile_m % WARPGROUP_ROWS or s.tile_m > MOST_BOX:
        yield f"tile_m of {s.tile_m}; multiples of {WARPGROUP_ROWS} up to {MOST_BOX} are written"
    if s.tile_n % 8 or s.tile_n > MOST_BOX:
        yield f"tile_n of {s.tile_n}; multiples of 8 up to {MOST_BOX} are written"
    if not 2 <= s.stages <= MOST_STAGES:
        yield f"{s.stages} stages; 2 to {MOST_STAGES} are written"


def _cluster_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why blocks cannot share operands so."""
    s = schedule
    if s.cluster_m > 1 and s.cluster_n > 1:
        yield "a cluster shares one operand, not both"
    elif s.parts > 1 and s.cluster_m * s.cluster_n > 1:
        yield "blocks share operands, or parts of the depth, not both"
    elif s.cluster > MOST_CLUSTER:
        yield f"{s.cluster} blocks in a cluster; at most {MOST_CLUSTER} are possible"
    wide = ROW_BYTES // problem.element_bytes
    seen = oriented(problem, s)
    for name, tile, share, k_last in (("m", s.tile_m, s.cluster_n, seen.a_k_last), ("n", s.tile_n, s.cluster_m, seen.b_k_last)):
        part = 8 if k_last else wide
        if tile % (share * part):
            yield f"tile_{name} of {tile} is no multiple of {part} for each of {share} blocks"
    if s.blocks % s.cluster:
        yield f"{s.blocks} blocks are no whole clusters of {s.cluster}"


def _part_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why the depth cannot be shared out so."""
    s = schedule
    steps = -(-problem.k * problem.element_bytes // ROW_BYTES)
    if problem.terms == 3:
        yield "the depth of floats as two numbers is not shared out"
    if s.stores_boxes:
        yield "parts of the depth do not store boxes"
    if s.ping_pong:
        yield "consumers that take turns do not share out the depth with other blocks"
    if s.slices_depth and s.stages <= s.consumers:
        yield f"{s.stages} stages; each of {s.consumers} consumers gives one back once it has its next, so that there must be more"
    if s.blocks < cluster_tiles(problem, s) * s.cluster:
        yield f"{s.blocks} blocks; parts of the depth are of one tile each, {cluster_tiles(problem, s) * s.cluster} in all"
    if not is_symbolic(steps) and (s.cluster_k - 1) * ceil(steps / s.cluster_k) >= steps:  # of an open depth some may have none
        yield f"{steps} steps of depth are none for some of {s.cluster_k} blocks"


def _loaded_violations(problem: WgmmaProduct, loaded: Loaded, schedule: Schedule) -> Iterator[str]:
    """Yield why threads cannot load A so."""
    s, run = schedule, problem.k if problem.a_k_last else problem.m
    if s.cluster_n > 1:
        yield "blocks do not share what each computes of A"
    if s.vector_a & (s.vector_a - 1) or s.vector_a * problem.element_bytes > ALIGNMENT_BYTES:
        yield f"vector_a of {s.vector_a}; powers of two up to {ALIGNMENT_BYTES} bytes are written"
    elif run % s.vector_a:
        yield f"vector_a of {s.vector_a} does not divide {run}, the extent that it runs along"
    available = producer_registers(s, loads_a=True)
    pointers = _STREAM_REGISTERS * max(0, loaded.streams - 2)
    if (needed := _BAND_REGISTERS + pointers + sum(read_registers(problem, loaded, s))) > available:
        yield f"{needed} registers of a thread that loads A; {available} are available"


def _epilogue_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why sums cannot become results so."""
    s = schedule
    columns = lane_columns(s.vector_c)
    if s.vector_c not in (1, 2, 4, 8) or s.tile_n % columns:
        yield f"vector_c of {s.vector_c}: a power of two up to 8 of which 8 × {columns // 8} columns make whole groups"
    elif s.swaps and (s.vector_c > 1 or s.stores_boxes):
        yield "neighbouring sums of a transposed product are no neighbouring results"
    elif problem.n % s.vector_c:
        yield f"vector_c of {s.vector_c} does not divide n = {problem.n}"
    elif problem.is_paired and s.vector_c < 2:
        yield "the epilogue takes one sum at a time; two make a result"
    if problem.part_columns and (problem.n % problem.part_columns or finished_columns(s) % problem.part_columns):
        yield f"{finished_columns(s)} columns of a tile, and n = {problem.n}, are no whole parts of {problem.part_columns}"
    if s.swaps and (problem.is_paired or problem.part_columns or problem.moment_parts or problem.loaded_a is not None):
        yield "operands do not change places where one is computed, or what belongs to a row or to several columns is asked for"
    if s.stores_boxes and not problem.result_bytes:
        yield "the result is no tensor that boxes can be stored in"
    elif s.stores_boxes and s.tile_n // problem.sums * problem.result_bytes % ROW_BYTES:
        yield f"tile_n of {s.tile_n} is no whole boxes of {ROW_BYTES} bytes"


def _room_violations(problem: WgmmaProduct, schedule: Schedule, target: Target) -> Iterator[str]:
    """Yield why a multiprocessor has no room for it."""
    s = schedule
    smem = smem_bytes(problem, s)
    if smem > target.smem_bytes_block or s.residents * (smem + SYSTEM_SMEM_BYTES) > target.smem_bytes_multiprocessor:
        yield f"{s.residents} × {smem} bytes of shared memory; a multiprocessor has {target.smem_bytes_multiprocessor}"
    if s.residents * s.threads > target.threads_multiprocessor:
        yield f"{s.residents} × {s.threads} threads; a multiprocessor has {target.threads_multiprocessor}"
    sums = sum_registers(problem, s)
    if not target.is_emulated and spare_registers(problem, s) < 0:
        inputs = input_registers(problem, s)
        beside = f", with {inputs} registers of what the epilogue loads," if inputs else ""
        yield f"{sums} sums{beside} in {consumer_registers(s, loads_a=problem.loaded_a is not None)} registers"
    if not target.is_emulated and s.tile_n // 2 + _STEP_REGISTERS > entry_registers(s):
        yield f"{s.tile_n // 2} sums of one step in the {entry_registers(s)} registers that a thread begins with"
    if sums > _MOST_SUMS:
        yield f"{sums} sums a thread"
    if target.is_emulated and s.cluster > 1:
        yield "the emulator has clusters of one block"


def _size_violations(problem: WgmmaProduct, schedule: Schedule) -> Iterator[str]:
    """Yield why a product has too little or too much to compute."""
    if problem.k < 1:
        yield "no steps of the sum"
    if min(lower(problem.batch), lower(problem.m), lower(problem.n)) < 1:
        yield "a result that is empty, or may be"
    tiles = cluster_tiles(problem, schedule)
    if tiles + schedule.blocks > _MOST_TILES or maximum(problem.m, problem.n, problem.k) + 4096 > 2**31:
        yield "more tiles or a longer extent than 31 bits count"
