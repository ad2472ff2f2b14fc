"""Cases of the suppression family."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import F32, I64
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.suppression import FAMILY, Problem
from nautilus_cli.kernels.threads_schedule import Schedule
from nautilus_cli.numerics import EXACT
from nautilus_cli.ops.suppress import OPERATOR, SuppressAttrs
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.harness import Case, output, with_open_sizes

THREADS = (1, 32, 64, 256)


def data(name: str, images: int, classes: int, boxes: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes that cover each other, some turned round, some empty; scores of which many are equal, and one is no number."""
    random = np.random.default_rng(crc32(name.encode()))
    centre, size = random.random((images, boxes, 2)) * 4, random.random((images, boxes, 2)) * 2
    corners = np.concatenate([centre - size, centre + size], -1).astype(np.float32)
    corners[:, ::5] = corners[:, ::5, [2, 3, 0, 1]]
    corners[:, 3::9, 2:] = corners[:, 3::9, :2]
    scores = random.random((images, classes, boxes)).astype(np.float32).round(1)
    scores[:1, :1, boxes // 2] = np.nan
    return corners, scores


def case(
    name: str,
    shape: tuple[int, int, int],
    threads: int,
    *,
    slots: int,
    most: int,
    overlap: float = 0.4,
    least: float | None = 0.15,
    is_centred: bool = False,
    is_transposed: bool = False,
    factor: int = 1,
) -> Case:
    """Return a case: slots are boxes, scores, the three limits, and what is kept, times FACTOR."""
    images, classes, boxes = shape
    corners, scores = data(name, *shape)
    if is_centred:
        corners = np.abs(corners)
    limits = np.array(most, np.int64), np.array(overlap, np.float32), None if least is None else np.array(least, np.float32)
    attrs = SuppressAttrs(center_point_box=int(is_centred), slots=slots)
    expected = factor * OPERATOR.evaluate(attrs, (corners, scores, *limits), 1)[0]
    functors = []
    layout = from_strides((images, boxes, 4), (4 * boxes, 1, boxes)) if is_transposed else identity((images, boxes, 4))
    for slot, (functor, storage, index_map) in enumerate(
        (
            ("Box", F32, layout),
            ("Score", F32, identity((images, classes, boxes))),
            ("Most", I64, identity((1,))),
            ("Overlap", F32, identity((1,))),
            ("Least", F32, identity((1,))),
        )
    ):
        read = Steps()
        functors.append((functor, read.expression(read.load(slot, storage, index_map))))
    end = Steps()
    end.store(end.apply("mul", end.parameter(0, I64), end.constant(factor, I64), dtype=I64), 5, I64, identity((images, classes, slots)))
    functors.append(("Epilogue", end.expression()))
    stored = np.ascontiguousarray(corners.transpose(0, 2, 1)) if is_transposed else corners
    given = (limits[0].reshape(1), limits[1].reshape(1), np.array([0.0 if least is None else least], np.float32))
    return Case(
        name=name,
        request=KernelRequest(
            family="suppression",
            problem=Problem(images=images, classes=classes, boxes=boxes, slots=slots, is_centred=is_centred, has_least=least is not None),
            schedule=Schedule(threads=threads),
            functors=tuple(functors),
            pointers=6,
        ),
        buffers=(stored, scores, *given, output(expected.size, np.int64)),
        expected={5: expected.reshape(-1)},
        tolerances={5: EXACT},
    )


def limits() -> list[Case]:
    """None, one, some and all boxes wanted and allowed, with and without a least score."""
    cases = []
    for threads in THREADS:
        for place, (slots, most, overlap, least) in enumerate(
            (
                (90, 90, 0.4, 0.15),
                (90, 90, 1.0, None),
                (5, 90, 0.2, 0.5),
                (90, 4, 0.0, None),
                (3, 0, 0.5, None),
                (90, -1, 0.5, 0.1),
                (7, 7, 0.5, 2.0),
            )
        ):
            cases.append(case(f"limits-{place}-{threads}", (2, 3, 90), threads, slots=slots, most=most, overlap=overlap, least=least))
    return cases


def sizes() -> list[Case]:
    """One box, a warp of them and one more, more than a thread has bits in a word; boxes as centres, and lying by component."""
    cases = []
    for threads in THREADS:
        for boxes in (1, 32, 33, 65):
            cases.append(case(f"boxes-{boxes}-{threads}", (1, 2, boxes), threads, slots=boxes, most=boxes))
        cases.append(case(f"many-{threads}", (1, 1, 40 * threads + 3 if threads < 64 else 2500), threads, slots=30, most=25, overlap=0.05))
        cases.append(case(f"centred-{threads}", (2, 1, 50), threads, slots=50, most=50, is_centred=True))
        cases.append(case(f"transposed-{threads}", (2, 1, 50), threads, slots=50, most=50, is_transposed=True))
    return cases


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    cases = []
    for name in ("emulated", "sm_90a"):
        for boxes in (20, 1200):
            problem = Problem(images=1, classes=2, boxes=boxes, slots=10, is_centred=False, has_least=True)
            threads = FAMILY.choose(problem, target(name)).threads
            cases.append(case(f"chosen-{name}-{boxes}", (1, 2, boxes), threads, slots=10, most=10))
    return cases


def none() -> list[Case]:
    """Of no images, and of none of their classes, there is a block that has nothing to read or to write."""
    cases = []
    for threads in (1, 64):
        for images, classes in ((0, 3), (2, 0), (0, 0), (2, 3)):
            # The bytes of -1, which stands for no box, are those of a guard.
            one = case(f"none-{images}-{classes}-{threads}", (images, classes, 20), threads, slots=4, most=4, factor=3)
            cases.append(with_open_sizes(one, "images", "classes"))
    return cases


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*limits(), *sizes(), *chosen(), *none()]
