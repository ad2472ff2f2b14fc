"""Elimination kernels: determinants and inverses of square matrices that fit into shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.kernels.checks import thread_violations
from nautilus_cli.kernels.limits import WARP_THREADS
from nautilus_cli.kernels.powers import is_power
from nautilus_cli.targets.base import Target

_EMULATED_SMEM_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The determinant or the inverse of each matrix.

    Functors: `X` at (matrix, row, column); `Epilogue`, whose parameter 0 is the result in its compute type, at (matrix,) for determinants
    and at (matrix, row, column) for inverses.

    Attributes:
        matrices: how many.
        order: rows and columns of each.
        is_inverse: whether inverses are asked for.
        value: compute type of an element.
    """

    matrices: int
    order: int
    is_inverse: bool
    value: DType


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How matrices are dealt to threads.

    Attributes:
        threads: of a block.
        team_threads: threads that share a matrix: up to a warp, or the block.
    """

    threads: int
    team_threads: int


class EliminationFamily:
    """The elimination family."""

    name = "elimination"
    template = "elimination.cu.jinja"
    headers = ("nautilus/kernels/elimination.cuh",)
    problem_type = Problem
    schedule_type = Schedule

    def violations(self, problem: Problem, schedule: Schedule, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        team = schedule.team_threads
        reasons = [*thread_violations(schedule.threads)]
        if not is_power(team):
            reasons.append(f"team_threads is {team}; it must be a power of two")
        elif schedule.threads % team:
            reasons.append(f"{schedule.threads} threads are no multiple of {team} threads a matrix")
        if team > WARP_THREADS and team != schedule.threads:
            reasons.append(f"{team} threads a matrix are neither part of a warp nor the block")
        if team > 1 and schedule.threads % WARP_THREADS:
            reasons.append(f"{schedule.threads} threads are no whole warps, which threads that share a matrix must be")
        if not reasons and self.geometry(problem, schedule).smem_bytes > target.smem_bytes_block:
            reasons.append(
                f"matrices of order {problem.order} take {_team_bytes(problem)} bytes of shared memory; a block has "
                f"{target.smem_bytes_block}"
            )
        return tuple(reasons)

    def choose(self, problem: Problem, target: Target) -> Schedule:
        """Return as many threads a matrix as its rows keep busy; the block for large ones."""
        if target.is_emulated:  # threads that share a matrix would have to meet
            teams = max(1, min(8, _EMULATED_SMEM_BYTES // _team_bytes(problem)))
            return Schedule(threads=teams, team_threads=1)
        if problem.order > WARP_THREADS:
            threads = 128 if problem.order <= 2 * WARP_THREADS else 512
            return Schedule(threads=threads, team_threads=threads)
        team = 1
        while team < problem.order and problem.order > 4:
            team *= 2
        threads = 128
        while threads > WARP_THREADS and (threads // team * _team_bytes(problem) > target.smem_bytes_block // 2):
            threads //= 2
        return Schedule(threads=threads, team_threads=team)

    def schedules(self, problem: Problem, target: Target) -> Iterator[Schedule]:
        """Yield the whole search space."""
        for threads, team in product((32, 64, 128, 256, 512, 1024), (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)):
            yield Schedule(threads=threads, team_threads=team)

    def geometry(self, problem: Problem, schedule: Schedule) -> Geometry:
        """Return one block for each `threads / team_threads` matrices."""
        teams = schedule.threads // schedule.team_threads
        return Geometry(grid=(-(-problem.matrices // teams), 1, 1), threads=schedule.threads, smem_bytes=teams * _team_bytes(problem))


def _team_bytes(problem: Problem) -> int:
    """Return the shared memory of one matrix, the largest: its elements, a column of factors and the pivots (kernels/elimination.cuh)."""
    order = upper(problem.order)
    return -(-(order * (order + 1) * problem.value.bytes + (order + 1) * 4) // 16) * 16


FAMILY = EliminationFamily()
