"""A family with a small space, gaps in it, a field that follows from others, and a known optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.targets.base import Target
from nautilus_cli.tuning.measurement import Measurement

TARGET = Target(
    name="fake",
    capability=(9, 0),
    multiprocessors=4,
    smem_bytes_block=1000,
    smem_bytes_multiprocessor=1000,
    threads_multiprocessor=2048,
    l2_bytes=1,
    memory_bytes_per_us=1,
    source="none",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    n: int
    storage: DType = F32


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    tile: int
    is_split: bool
    kind: str
    vector: int
    stages: int = 2


class Family:
    """Tile × split × kind; the vector follows from the tile, and stages never vary."""

    name = "fake"
    template = "pointwise.cu.jinja"
    headers = ("nautilus/kernels/pointwise.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def __init__(self, tiles: tuple[int, ...] = (1, 2, 4, 8, 16, 32), analytic: Schedule | None = None) -> None:
        self.tiles = tiles
        self.analytic = Schedule(tile=8, is_split=False, kind="a", vector=4) if analytic is None else analytic

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        reasons = []
        if schedule.tile > problem.n:
            reasons.append(f"tile of {schedule.tile} for n = {problem.n}")
        if schedule.kind == "c":
            reasons.append("kind c is not written")
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        return self.analytic

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        for tile, is_split, kind in product(self.tiles, (False, True), ("a", "b", "c")):
            if is_split and tile == 1:
                continue  # a gap
            yield Schedule(tile=tile, is_split=is_split, kind=kind, vector=min(tile, 4))

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        return Geometry(grid=(1, 1, 1), threads=1)


LEGAL = 18
"""Legal schedules of Problem(n=16): five tiles × two splits × two kinds, less the two of the gap."""


def latency_us(schedule: Schedule) -> float:
    """Fastest at tile 16, split, kind b."""
    return 10 + abs(schedule.tile - 16) + (0 if schedule.is_split else 3) + (0 if schedule.kind == "b" else 2)


class Bench:
    """Measures by the formula, and remembers what it was asked for."""

    def __init__(self, wrong: tuple[str, ...] = (), broken: tuple[int, ...] = ()) -> None:
        self.asked: list[Schedule] = []
        self.wrong, self.broken = wrong, broken

    def __call__(self, schedule: Schedule) -> Measurement:
        self.asked.append(schedule)
        if schedule.tile in self.broken:
            return Measurement(verdict="failed", detail="does not build")
        if schedule.kind in self.wrong:
            return Measurement(verdict="mismatch", detail="max abs 3.0")
        return Measurement(verdict="ok", median_us=latency_us(schedule), spread_us=0.1)
