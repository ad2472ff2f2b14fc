"""Cases of the region_pool family: modes, regions beyond the image, without size, of images that do not exist, layouts, types."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity, permuted
from nautilus_cli.ir.types import BF16, F16, F32, F64, I64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.places import Schedule
from nautilus_cli.kernels.region_pool import FAMILY, Problem
from nautilus_cli.numerics import derived
from nautilus_cli.ops.region_pool import RegionPoolAttrs, pooled
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.grid_sample import SCHEDULES
from tests.emulated.cases.products import read, values
from tests.emulated.harness import Case, output
from tests.emulated.reference import evaluate

CORNERS = np.array(
    [[0, 0, 7, 6], [1.5, 2.25, 5.125, 6.375], [-3, -2, 12, 11], [4, 4, 4, 4], [5, 6, 2, 3], [-9, -9, -7, -8], [0.25, 0.5, 6.75, 1.5]]
)
MODES = {"mean": ("sum", False), "max": ("max", False), "whole": ("max", True)}


def problem_of(mode: str, *, channels: int = 8, cells: tuple[int, int] = (3, 2), samples: int = 0, is_bounded: bool = False) -> Problem:
    """Return a problem of the regions above in three images."""
    combine, is_whole = MODES[mode]
    return Problem(
        regions=len(CORNERS),
        images=3,
        channels=channels,
        in_height=7,
        in_width=8,
        out_height=cells[0],
        out_width=cells[1],
        samples=samples,
        combine=combine,
        is_whole=is_whole,
        is_bounded=is_bounded,
    )


def case(
    name: str,
    p: Problem,
    schedule: Schedule,
    *,
    storage: DType = F32,
    planes: bool = False,
    is_fused: bool = False,
    wrong_image: bool = False,
) -> Case:
    """Return a pooling: slots are images, corners, the regions' images, the result, the status word, and a scale where it is fused.

    Args:
        planes: images and result have their channels outermost in memory.
        is_fused: the element is x · scale[channel], the result is cut at zero.
        wrong_image: two regions name images that do not exist.
    """
    p = replace(p, x_storage=storage, is_channels_last=not planes)
    mode = "whole" if p.is_whole else "mean" if p.combine == "sum" else "max"
    attrs = RegionPoolAttrs(p.out_height, p.out_width, mode, p.samples, p.is_bounded)
    elements, cells = (p.images, p.in_height, p.in_width, p.channels), (p.regions, p.out_height, p.out_width, p.channels)
    last = (0, 2, 3, 1)
    x_map = permuted((p.images, p.channels, *elements[1:3]), last) if planes else identity(elements)
    cell_map = permuted((p.regions, p.channels, *cells[1:3]), last) if planes else identity(cells)
    corners = (np.round(CORNERS) if p.is_whole else CORNERS).astype(storage.compute.numpy)
    which = np.arange(p.regions, dtype=np.int64) % p.images
    if wrong_image:
        which[1], which[-1] = p.images, -1
    buffers = [values(prod(elements), storage, 1), corners.reshape(-1), which, output(prod(cells), storage.numpy)]
    x, epilogue = Steps(), Steps()
    element = x.load(0, storage, x_map)
    result = epilogue.parameter(0, storage.compute)
    if is_fused:
        element = x.apply("mul", element, x.load(4, storage, from_strides(elements, (0, 0, 0, 1))))
        result = epilogue.apply("relu", result)
        buffers.append(values(p.channels, storage, 3))
    epilogue.store(result, 3, storage, cell_map)
    buffers.append(np.zeros(1, np.uint32))
    functors: tuple[tuple[str, Expression], ...] = (
        ("X", x.expression(element)),
        ("Corner", read(1, storage.compute, identity((p.regions, 4)))),
        ("Image", read(2, I64, identity((p.regions,)))),
        ("Epilogue", epilogue.expression()),
    )
    (seen,) = evaluate(functors[0][1], buffers)
    truth = np.moveaxis(pooled(attrs, np.moveaxis(seen, -1, 1), corners, which), 1, -1)
    expected: dict[int, np.ndarray] = {len(buffers) - 1: np.array([int(wrong_image)], np.uint32)}
    evaluate(functors[3][1], buffers, [truth], expected)
    is_exact = p.is_whole and not is_fused
    # A mean of up to a hundred samples whose weights are made of corners with a few roundings each.
    tolerances = {} if is_exact else {3: derived(expected[3], terms=400, depth=16, storage=storage, accumulate=storage.compute)}
    request = KernelRequest(family="region_pool", problem=p, schedule=schedule, functors=functors, pointers=len(buffers))
    return Case(name=name, request=request, buffers=tuple(buffers), expected=expected, tolerances=tolerances)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    mean = problem_of("mean", channels=16)
    found = [case("fused", mean, SCHEDULES["channels"], storage=F16, is_fused=True)]
    names = ("plain", "channels", "few")
    for number, mode in enumerate(MODES):
        for turn, (samples, is_bounded) in enumerate(((0, False), (0, True), (2, False), (3, True))):
            one = problem_of(mode, samples=samples, is_bounded=is_bounded)
            name = names[(number + turn) % 3]
            found.append(case(f"{mode}-{samples}-{is_bounded}-{name}", one, SCHEDULES[name], planes=turn % 2 == 1))
        found.append(case(f"{mode}-one-cell", problem_of(mode, channels=3, cells=(1, 1)), SCHEDULES["plain"]))
        found.append(case(f"{mode}-wrong-image", problem_of(mode), SCHEDULES["few"], wrong_image=True))
        for architecture in ("sm_90a", "emulated"):
            for planes in (False, True):
                one = replace(problem_of(mode, channels=24), is_channels_last=not planes)
                found.append(case(f"{mode}-chosen-{architecture}-{planes}", one, FAMILY.choose(one, target(architecture)), planes=planes))
    found.append(with_long_indices(case("mean", mean, SCHEDULES["few"])))
    for storage in (F64, BF16):
        found.append(case(f"mean-{storage}", mean, SCHEDULES["few"], storage=storage))
    found.append(case("whole-f16", problem_of("whole"), SCHEDULES["channels"], storage=F16))
    return tuple(found)
