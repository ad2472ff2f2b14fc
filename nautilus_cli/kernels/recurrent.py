"""Recurrences: LSTM, GRU and RNN behind the products of their inputs; one block walks through the time of a few sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.limits import MOST_THREADS, WARP_THREADS
from nautilus_cli.kernels.powers import is_power
from nautilus_cli.targets.base import Target

_AHEAD = 4
_MOST_SUMS = 64
"""Sums that a thread may keep: of 1024 threads each has 64 registers, but so many are not chosen together."""

_RANGE_THREADS = 32
"""That look for the range of a row, at most."""

MOST_ROWS = 8
"""Batch rows of a tile, at most."""

SPILL_BYTES = 64 * 1024
"""Above this the states of one row are kept in global memory: every target's block has more shared memory, and room for partial sums."""

# Cost model, in cycles of a multiprocessor; bandwidths and latencies as those of kernels/product/estimate.py.
_L2_BYTES_ALONE = 64
_L2_BYTES_TOGETHER = 22
_SHARED_BYTES = 128
_PRODUCTS = 128
_L2_LATENCY = 400
_SHARED_LATENCY = 40
_BARRIER = 60
_FINISH = 600
_UNEVEN = 0.2
"""How much of what could overlap does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A recurrence over time.

    Functors, in this order: `Weight` at (direction, k, gate, unit); `Length` at (row,), an integer; `FirstHidden` and `FirstCarry` at
    (direction, row, unit); `Carry`, `Middle` and `Hidden` at (direction, time, row, unit), whose parameters are the hidden state before the
    step, the carry, and then the sums of the gates of their pass (kernels/recurrent.cuh has the equations); `Output` at the same place,
    whose parameter is the new hidden state; `Final` at (direction, row, unit), whose parameters are the last hidden state, the carry and
    the last output; `Scratch`, whose only store says where the states lie when they are spilled. The last pointer argument is the status
    word.

    Attributes:
        steps: of the longest sequence.
        batch: sequences.
        directions: 1 or 2; a second one runs from the end.
        hidden: units of the state.
        gates: of the cell.
        early_gates: gates of the first pass; the later ones multiply what `Middle` gives. All of them where there is one pass.
        is_reverse: whether the first direction runs from the end.
        has_carry: whether the cell keeps a second number for each unit.
        is_spilled: whether states lie in global memory.
        is_quantised: whether products take the hidden state rounded to 8 bits, each row by its own range; of cells of one pass.
        accumulate: type of sums and states.
        storage: type of the weights in memory.
    """

    steps: int
    batch: int
    directions: int
    hidden: int
    gates: int
    early_gates: int
    is_reverse: bool
    has_carry: bool
    is_spilled: bool = False
    is_quantised: bool = False
    accumulate: DType = F32
    storage: DType = F32

    @property
    def parts(self) -> int:
        """Arrays of a number for each row and unit: two states, what the second pass multiplies, the carry, the quantised state."""
        return 2 + (self.early_gates < self.gates) + self.has_carry + self.is_quantised

    @property
    def most_gates(self) -> int:
        """Gates of the larger pass."""
        return max(self.early_gates, self.gates - self.early_gates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How a block shares out the products of a step.

    Attributes:
        unit_threads: threads side by side, each for `vector` units.
        slices: groups of such threads that share out the previous state; their sums are added in order.
        vector: neighbouring units of a thread.
        rows: of the batch, that a block takes together: each weight is read once for all of them.
        is_resident: whether the weights are kept in shared memory.
    """

    unit_threads: int
    slices: int
    vector: int
    rows: int
    is_resident: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.unit_threads * self.slices


class RecurrentFamily:
    """The recurrent family."""

    name = "recurrent"
    template = "recurrent.cu.jinja"
    headers = ("nautilus/kernels/recurrent.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        s = schedule
        reasons = []
        if s.unit_threads < 1 or s.slices < 1 or not 1 <= s.threads <= MOST_THREADS:
            reasons.append(f"{s.unit_threads} × {s.slices} threads a block; 1 to {MOST_THREADS} are possible")
        if not is_power(s.vector):
            reasons.append(f"a vector of {s.vector} units; it must be a power of two")
        elif problem.hidden % s.vector:
            reasons.append(f"{problem.hidden} units are no multiple of vectors of {s.vector}")
        if not 1 <= s.rows <= MOST_ROWS:
            reasons.append(f"{s.rows} rows a block; 1 to {MOST_ROWS} are possible")
        sums = s.rows * s.vector * problem.most_gates
        if sums > _MOST_SUMS:
            reasons.append(f"{sums} sums of a thread; at most {_MOST_SUMS}")
        needed = smem_bytes(problem, s)
        if needed > target.smem_bytes_block:
            reasons.append(f"{needed} bytes of shared memory; a block has at most {target.smem_bytes_block}")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return the legal schedule of least estimated time."""
        if target.is_emulated:
            return _choose_emulated(problem)
        legal = [s for s in self.schedules(problem, target) if not self.violations(problem, s, target)]
        return min(legal, key=lambda s: gpu_cycles(problem, s, target))

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space, illegal points included."""
        for vector, slices, rows, is_resident in product((1, 2, 4), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32), (1, 2, 4, 8), (False, True)):
            groups = max(1, ceil(problem.hidden / vector))
            unit_threads = ceil(groups / WARP_THREADS) * WARP_THREADS if groups > WARP_THREADS // 2 else 1 << (groups - 1).bit_length()
            unit_threads = min(unit_threads, MOST_THREADS // slices // WARP_THREADS * WARP_THREADS or WARP_THREADS)
            yield Schedule(unit_threads=unit_threads, slices=slices, vector=vector, rows=rows, is_resident=is_resident)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each direction and `rows` rows of the batch."""
        blocks = problem.directions * -(-problem.batch // schedule.rows)
        return Geometry(grid=(blocks, 1, 1), threads=schedule.threads, smem_bytes=smem_bytes(problem, schedule))


def stride(hidden: int) -> int:
    """Return the elements of a row of states."""
    return ceil(hidden / 4) * 4


def state_bytes(problem: Problem) -> int:
    """Return the bytes of the states of one row."""
    return problem.parts * stride(problem.hidden) * problem.accumulate.bytes


def smem_bytes(problem: Problem, schedule: Schedule) -> int:
    """Return the dynamic shared memory of a block: weights, states, two buffers of the slices' sums, and ranges of rows by parts."""
    s = schedule
    weights = ceil(_weight_bytes(problem) / 16) * 16 if s.is_resident else 0
    states = 0 if problem.is_spilled else s.rows * state_bytes(problem)
    sums = 2 * s.slices * s.rows * problem.most_gates * s.unit_threads * s.vector * problem.accumulate.bytes if s.slices > 1 else 0
    ranges = 2 * _RANGE_THREADS * s.rows * problem.accumulate.bytes if problem.is_quantised else 0
    return weights + states + sums + ranges


def _weight_bytes(problem: Problem) -> int:
    """Return the bytes of one direction's recurrent weights."""
    return problem.hidden * problem.gates * problem.hidden * problem.storage.bytes


def gpu_cycles(problem: Problem, schedule: Schedule, target: Target) -> float:
    """Return the estimated time in cycles: a step takes what its weights, products, or the latency of reading them need.

    All blocks together share the second-level cache's bandwidth; one alone does not reach it.
    """
    s = schedule
    blocks = problem.directions * ceil(problem.batch / s.rows)
    waves = ceil(blocks / target.multiprocessors)
    resident = min(blocks, target.multiprocessors)
    weights = _weight_bytes(problem)
    rounds = max(1, ceil(problem.hidden / (s.unit_threads * s.vector)))
    groups = ceil(ceil(problem.hidden / s.slices) / _AHEAD) * rounds
    warps = ceil(s.threads / WARP_THREADS)
    # A warp reads whole sectors: narrow rows of weights waste some.
    busy = min(1.0, problem.hidden / (s.unit_threads * s.vector * rounds))
    if s.is_resident:
        memory, latency = weights / _SHARED_BYTES, groups * _SHARED_LATENCY
    else:
        memory, latency = weights / min(_L2_BYTES_ALONE, _L2_BYTES_TOGETHER * target.multiprocessors / resident), groups * _L2_LATENCY
    words = max(1, problem.accumulate.bytes // 4)
    products = problem.hidden * problem.gates * problem.hidden * s.rows * words / _PRODUCTS / busy
    loads = groups * warps * _AHEAD * (problem.gates + s.rows / _AHEAD) / 4 * max(1.0, s.vector * problem.storage.bytes / 4)
    exchange = s.slices * s.rows * problem.gates * s.unit_threads * s.vector * problem.accumulate.bytes / _SHARED_BYTES + _BARRIER
    costs = (memory, latency, products + loads)
    step = max(costs) + _UNEVEN * sum(costs) + (exchange * 2 if s.slices > 1 else 0) + _BARRIER + _FINISH
    passes = 1 if problem.early_gates == problem.gates else 2
    start = weights / _L2_BYTES_ALONE if s.is_resident else 0
    return waves * (problem.steps * (step + (passes - 1) * (_BARRIER + _FINISH + latency / 2)) + start)


def _choose_emulated(problem: Problem) -> Schedule:
    """Few threads, each with whole vector registers: a fiber that waits costs more than what it saves."""
    vector = 8
    while problem.hidden % vector:
        vector //= 2
    groups = max(1, problem.hidden // vector)
    rows = 2 if problem.batch > 1 and 2 * vector * problem.most_gates <= _MOST_SUMS else 1
    return Schedule(unit_threads=min(groups, 16), slices=1, vector=vector, rows=rows)


FAMILY = RecurrentFamily()
