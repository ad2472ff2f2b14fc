"""Cases of the elimination family."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F16, F32, F64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.elimination import FAMILY, Problem, Schedule
from nautilus_cli.numerics import derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output, with_open_sizes

SCHEDULES = (
    Schedule(threads=3, team_threads=1),
    Schedule(threads=32, team_threads=4),
    Schedule(threads=64, team_threads=32),
    Schedule(threads=64, team_threads=64),
)


def case(
    name: str, x: np.ndarray, storage: DType, schedule: Schedule, *, is_inverse: bool, walk: IndexMap | None = None, factor: float = 1
) -> Case:
    """Return a case: slots are the matrices and the results; FACTOR is applied while the matrices are read and to the results."""
    matrices, order, _ = x.shape
    walk = walk or identity(x.shape)
    read, end = Steps(), Steps()
    compute = storage.compute
    element = read.load(0, storage, walk)
    value = end.parameter(0, compute)
    if factor != 1:
        element = read.apply("mul", element, read.constant(factor, compute), dtype=compute)
        value = end.apply("mul", value, end.constant(factor, compute), dtype=compute)
    extents = (matrices, order, order) if is_inverse else (matrices,)
    end.store(value, 1, storage, identity(extents))
    wide = x.astype(np.float64)
    seen = wide.reshape(-1)[walk.offsets()[0].reshape(-1)].reshape(x.shape) * factor
    with np.errstate(invalid="ignore"):
        truth = (np.linalg.inv(seen) if is_inverse else np.linalg.det(seen)) * factor
    # Each element takes as many sums as there are steps, of numbers up to the greatest of all.
    scale = float(np.abs(truth).max(initial=1))
    return Case(
        name=name,
        request=KernelRequest(
            family="elimination",
            problem=Problem(matrices=matrices, order=order, is_inverse=is_inverse, value=compute),
            schedule=schedule,
            functors=(("X", read.expression(element)), ("Epilogue", end.expression())),
            pointers=2,
        ),
        buffers=(x, output(truth.size, storage.numpy)),
        expected={1: truth.reshape(-1)},
        tolerances={1: derived(truth, terms=order * order, storage=storage, accumulate=compute, scale=scale, depth=8)},
    )


def matrices(name: str, count: int, order: int, storage: DType) -> np.ndarray:
    """Return matrices far from singular whose rows are shuffled, so that pivots lie off the diagonal."""
    drawn = random(name, (count, order, order), F64) / max(1, order) ** 0.5
    drawn = 0.4 * drawn + np.eye(order)
    for number, matrix in enumerate(drawn):
        matrix[:] = np.roll(matrix, number + 1, axis=0)
    return drawn.astype(storage.numpy)


def sizes() -> list[Case]:
    """Edge sizes for every way to share a matrix, with more matrices than a block takes."""
    cases = []
    for place, schedule in enumerate(SCHEDULES):
        teams = schedule.threads // schedule.team_threads
        for number, order in enumerate((1, 2, 3, 7, 33)):
            storage = (F32, F64, F16)[(place + number) % 3]
            for is_inverse in (False, True):
                name = f"{'inverse' if is_inverse else 'determinant'}-{storage}-{order}-{place}"
                cases.append(case(name, matrices(name, teams + 1, order, storage), storage, schedule, is_inverse=is_inverse))
    return cases


def fused() -> list[Case]:
    """Transposed operands, with work before and behind."""
    cases = []
    for place, schedule in enumerate(SCHEDULES):
        for is_inverse in (False, True):
            name = f"fused-{'inverse' if is_inverse else 'determinant'}-{place}"
            x = matrices(name, 3, 5, F32)
            cases.append(case(name, x, F32, schedule, is_inverse=is_inverse, walk=from_strides((3, 5, 5), (25, 1, 5)), factor=-0.5))
    return cases


def special() -> list[Case]:
    """A singular matrix has the determinant 0, a matrix with a NaN has NaN."""
    x = np.zeros((3, 3, 3), np.float32)
    x[1] = [[1, 2, 3], [2, 4, 6], [0, 1, 5]]
    x[2] = [[1, 2, 3], [0, np.nan, 6], [0, 1, 5]]
    return [case(f"special-{place}", x, F32, schedule, is_inverse=False) for place, schedule in enumerate(SCHEDULES)]


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for count, order in ((200, 3), (5, 12), (2, 40), (1, 80)):
            for is_inverse in (False, True):
                label = f"chosen-{name}-{order}-{'inverse' if is_inverse else 'determinant'}"
                problem = Problem(matrices=count, order=order, is_inverse=is_inverse, value=F32)
                schedule = FAMILY.choose(problem, target(name))
                cases.append(case(label, matrices(label, count, order, F32), F32, schedule, is_inverse=is_inverse))
    return cases


def open_sizes() -> list[Case]:
    """Matrices of which only the run knows how many there are, and of which order."""
    cases = []
    for place, schedule in enumerate(SCHEDULES):
        for is_inverse in (False, True):
            x = matrices(f"open-{place}", 9, 6, F32)
            one = case(f"{place}-{'inverse' if is_inverse else 'determinant'}", x, F32, schedule, is_inverse=is_inverse)
            cases.append(with_open_sizes(one, "matrices", "order"))
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*fused(), *sizes(), *special(), *chosen(), *open_sizes()]
