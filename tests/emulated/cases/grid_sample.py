"""Cases of the grid_sample family: modes, paddings, dimensions, layouts, places far outside and nowhere, schedules, types."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from math import prod

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity, permuted
from nautilus_cli.ir.types import BF16, F16, F32, F64, I32, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.grid_sample import FAMILY, TAPS, Problem, Schedule
from nautilus_cli.numerics import derived
from nautilus_cli.ops.grid_sample import GridSampleAttrs, sampled
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import values
from tests.emulated.harness import Case, output, with_open_sizes
from tests.emulated.reference import evaluate

SCHEDULES = {
    "plain": Schedule(threads=32, lanes=1, vector=1),
    "channels": Schedule(threads=64, lanes=8, vector=4),
    "few": Schedule(threads=32, lanes=2, vector=2),
    "deep": Schedule(threads=32, lanes=32, vector=8),
}
PADDINGS = ("zeros", "border", "reflection")


def problem_of(sizes: tuple[int, ...], samples: int, attrs: GridSampleAttrs, *, images: int = 2, channels: int = 8) -> Problem:
    """Return a problem."""
    return Problem(
        images=images,
        channels=channels,
        samples=samples,
        sizes=sizes,
        taps=TAPS[attrs.mode],
        is_aligned=bool(attrs.align_corners),
        is_clamped=attrs.padding_mode == "border",
        is_reflected=attrs.padding_mode == "reflection",
    )


def attributes(p: Problem) -> GridSampleAttrs:
    """Return the operator's attributes that a problem stands for."""
    padding = "border" if p.is_clamped else "reflection" if p.is_reflected else "zeros"
    return GridSampleAttrs(int(p.is_aligned), {n: mode for mode, n in TAPS.items()}[p.taps], padding)


def places(p: Problem, dtype: DType) -> np.ndarray:
    """Return coordinates inside and outside, on ties, and one that is no number."""
    random = np.random.default_rng(11)
    found = random.uniform(-1.8, 1.8, (p.images, p.samples, len(p.sizes)))
    found[0, ::3] = np.round(found[0, ::3] * 4) / 4
    found[-1, 0], found[-1, -1] = -37.25, 1e30
    found[0, -1, 0] = np.nan
    if p.is_in_elements:
        found = (found + 1) / 2 * np.array(p.sizes[::-1])
    with np.errstate(over="ignore"):
        return found.astype(dtype.numpy)


def case(
    name: str,
    p: Problem,
    schedule: Schedule,
    *,
    storage: DType = F32,
    grid_storage: DType = F32,
    planes: bool = False,
    is_fused: bool = False,
) -> Case:
    """Return a sampling: slots 0 and 1 are images and grid, 2 the result.

    Args:
        planes: images and result have their channels outermost in memory.
        is_fused: the element is x · scale[channel], the coordinate is doubled, the result is cut at zero; slot 3 is the scale.
    """
    p = replace(p, x_storage=storage, grid_compute=grid_storage.compute, is_channels_last=not planes)
    rank = len(p.sizes)
    elements, samples = (p.images, *p.sizes, p.channels), (p.images, p.samples, p.channels)
    outside = (p.images, p.channels, *p.sizes)
    x_map = permuted(outside, (0, *range(2, rank + 2), 1)) if planes else identity(elements)
    result_map = permuted((p.images, p.channels, p.samples), (0, 2, 1)) if planes else identity(samples)
    grid_shape = (p.images, p.samples, rank)
    buffers = [values(prod(elements), storage, 1), places(p, grid_storage).reshape(-1), output(prod(samples), storage.numpy)]
    x, grid, epilogue = Steps(), Steps(), Steps()
    element = x.load(0, storage, x_map)
    coordinate = grid.load(1, grid_storage, identity(grid_shape))
    result = epilogue.parameter(0, storage.compute)
    if is_fused:
        element = x.apply("mul", element, x.load(3, storage, from_strides(elements, (0,) * (rank + 1) + (1,))))
        coordinate = grid.apply("mul", coordinate, grid.constant(2.0))
        result = epilogue.apply("relu", result)
        buffers.append(values(p.channels, storage, 3))
    epilogue.store(result, 2, storage, result_map)
    functors: tuple[tuple[str, Expression], ...] = (
        ("X", x.expression(element)),
        ("Grid", grid.expression(coordinate)),
        ("Epilogue", epilogue.expression()),
    )
    (seen,), (where,) = evaluate(functors[0][1], buffers), evaluate(functors[1][1], buffers)
    # The operator's own truth, which is held against onnxruntime: places in their type, sums in float64.
    where = where.astype(p.grid_compute.numpy).reshape(p.images, p.samples, *(1,) * (rank - 1), rank)
    images = np.moveaxis(seen.reshape(elements), -1, 1)
    truth = sampled(attributes(p), images, where, are_pixels=p.is_in_elements)
    truth = np.moveaxis(truth.reshape(p.images, p.channels, p.samples), 1, -1)
    expected: dict[int, np.ndarray] = {}
    with np.errstate(invalid="ignore"):
        evaluate(functors[2][1], buffers, [truth], expected)
    is_exact = p.taps == 1 and not is_fused
    # Weights are made of places with a few roundings each.
    tolerances = {} if is_exact else {2: derived(expected[2], terms=64, depth=16, storage=storage, accumulate=storage.compute)}
    request = KernelRequest(family="grid_sample", problem=p, schedule=schedule, functors=functors, pointers=len(buffers))
    return Case(name=name, request=request, buffers=tuple(buffers), expected=expected, tolerances=tolerances)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    linear = problem_of((5, 7), 37, GridSampleAttrs(), channels=16)
    found = [case("fused", linear, SCHEDULES["channels"], storage=F16, is_fused=True)]
    names = list(SCHEDULES)
    for number, (mode, padding, aligned) in enumerate(product(TAPS, PADDINGS, (0, 1))):
        attrs = GridSampleAttrs(aligned, mode, padding)
        schedule = SCHEDULES[names[number % 3]]
        found.append(case(f"plane-{mode}-{padding}-{aligned}", problem_of((5, 7), 33, attrs), schedule, planes=number % 2 == 1))
        size = ((6,), (3, 4, 5), (1, 2))[number % 3]
        found.append(case(f"rank-{mode}-{padding}-{aligned}", problem_of(size, 9, attrs, channels=6), SCHEDULES["few"]))
    for name in names:
        if not FAMILY.violations(linear, SCHEDULES[name], target("sm_80")):
            found.append(case(f"linear-{name}", linear, SCHEDULES[name], is_fused=True))
    for size, samples in (((9,), 20), ((5, 7), 33), ((3, 4, 5), 9)):
        inside = replace(problem_of(size, samples, GridSampleAttrs(), channels=6), is_in_elements=True)
        found.append(case(f"elements-{len(size)}", inside, SCHEDULES["few"], is_fused=len(size) == 2))
    for architecture in ("sm_90a", "emulated"):
        for planes in (False, True):
            for channels in (3, 64):
                one = replace(problem_of((9, 8), 130, GridSampleAttrs(), channels=channels), is_channels_last=not planes)
                found.append(
                    case(f"chosen-{architecture}-{channels}-{planes}", one, FAMILY.choose(one, target(architecture)), planes=planes)
                )
    open_fields = ("images", "channels", "samples", "sizes")
    for number, (mode, padding, aligned) in enumerate(product(TAPS, PADDINGS, (0, 1))):
        size = ((6,), (5, 7), (3, 4, 5))[number % 3]
        one = problem_of(size, 9, GridSampleAttrs(aligned, mode, padding), channels=5)
        found.append(with_open_sizes(case(f"{mode}-{padding}-{aligned}", one, SCHEDULES["plain"], planes=number % 2 == 1), *open_fields))
    found.append(with_open_sizes(case("f64", linear, SCHEDULES["few"], storage=F64, grid_storage=F64), "images", "samples", "sizes"))
    found.append(with_long_indices(case("linear", linear, SCHEDULES["few"])))
    found.append(case("f64", linear, SCHEDULES["few"], storage=F64, grid_storage=F64))
    found.append(case("f16-grid", linear, SCHEDULES["few"], grid_storage=F16))
    found.append(case("bf16", linear, SCHEDULES["channels"], storage=BF16))
    nearest = problem_of((5, 7), 21, GridSampleAttrs(mode="nearest"))
    found.append(case("nearest-i32", nearest, SCHEDULES["few"], storage=I32))
    return tuple(found)
