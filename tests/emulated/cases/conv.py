"""Cases of the conv family: windows, groups, edges, schedules, types, prologues and epilogues."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import BF16, F16, F32, F64, I8, I32, DType
from nautilus_cli.kernels import strip
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.conv import FAMILY, Problem
from nautilus_cli.kernels.product import Schedule, with_vectors
from nautilus_cli.numerics import derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import values
from tests.emulated.cases.windows import deepened, out_extent, taps
from tests.emulated.harness import Case, output
from tests.emulated.reference import evaluate, wide

SCHEDULES = {
    "square": Schedule(tile_m=16, tile_n=16, tile_k=16, thread_m=2, thread_n=4, fragment=4),
    "wide": Schedule(tile_m=32, tile_n=64, tile_k=8, thread_m=8, thread_n=8, fragment=8, group_m=2),
    "single": Schedule(tile_m=32, tile_n=16, tile_k=8, thread_m=4, thread_n=4, fragment=4, stages=1),
    "sliced": Schedule(tile_m=16, tile_n=16, tile_k=32, thread_m=4, thread_n=2, slices_k=4, fragment=2),
}
"""By name; vectors are as long as each problem allows."""


def problem_of(
    *,
    batch: int = 1,
    groups: int = 1,
    channels: tuple[int, int],
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    storage: DType = F32,
    accumulate: DType = F32,
) -> Problem:
    """Return a problem; CHANNELS are (in, out) of a group, PADS as in ONNX: top, left, bottom, right."""
    return Problem(
        batch=batch,
        groups=groups,
        in_channels=channels[0],
        out_channels=channels[1],
        in_height=size[0],
        in_width=size[1],
        out_height=out_extent(size[0], kernel[0], stride[0], dilation[0], pads[0], pads[2]),
        out_width=out_extent(size[1], kernel[1], stride[1], dilation[1], pads[1], pads[3]),
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_height=stride[0],
        stride_width=stride[1],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        pad_top=pads[0],
        pad_left=pads[1],
        accumulate=accumulate,
        x_storage=storage,
        weight_storage=storage,
    )


def convolved(p: Problem, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the convolution [planes, y, x, groups × out channels] of images and weights [groups × out channels, k]."""
    kind = wide(p.accumulate)
    shape = (p.groups, p.out_channels, p.taps, p.in_channels)
    by_tap = weights.reshape(shape).astype(kind)
    planes = p.batch * p.out_depth
    total = np.zeros((planes, p.out_height, p.out_width, p.groups, p.out_channels), kind)
    for tap, seen in enumerate(taps(p, image, 0)):
        grouped = seen.astype(kind).reshape(*seen.shape[:3], p.groups, p.in_channels)
        total += np.einsum("byxgc,gnc->byxgn", grouped, by_tap[:, :, tap])
    return total.reshape(planes, p.out_height, p.out_width, -1)


def conv_case(
    name: str,
    p: Problem,
    schedule: Schedule | strip.Schedule,
    *,
    storage: DType = F32,
    result: DType | None = None,
    is_fused: bool = False,
    weight_padding: int = 0,
) -> Case:
    """Return a convolution: slots 0 and 1 are image and weights, 2 the result.

    Args:
        is_fused: the image is max(x + shift[channel], 0), which is not zero outside it; the result gets a bias and a residual and is cut at
            zero. Slots 3, 4 and 5 are shift, bias and residual.
        weight_padding: elements between rows of the weights.
    """
    result = storage if result is None else result
    image_shape = (p.batch * p.in_depth, p.in_height, p.in_width, p.groups * p.in_channels)
    result_shape = (p.batch * p.out_depth, p.out_height, p.out_width, p.groups * p.out_channels)
    k = p.taps * p.in_channels
    x, weight, epilogue = Steps(), Steps(), Steps()
    pixel = x.load(0, storage, identity(image_shape))
    summed = epilogue.parameter(0, p.accumulate)
    buffers = [
        values(int(np.prod(image_shape)), storage, 1),
        values(result_shape[3] * (k + weight_padding), storage, 2),
        output(int(np.prod(result_shape)), result.numpy),
    ]
    if is_fused:
        pixel = x.apply("relu", x.apply("add", pixel, x.load(3, storage, from_strides(image_shape, (0, 0, 0, 1)))))
        biased = epilogue.apply("add", summed, epilogue.load(4, storage, from_strides(result_shape, (0, 0, 0, 1))))
        summed = epilogue.apply("relu", epilogue.apply("add", biased, epilogue.load(5, storage, identity(result_shape))))
        buffers += [values(image_shape[3], storage, 3), values(result_shape[3], storage, 4), values(buffers[2].size, storage, 5)]
    row = weight.load(1, storage, from_strides((result_shape[3], k), (k + weight_padding, 1)))
    epilogue.store(summed, 2, result, identity(result_shape))
    functors: tuple[tuple[str, Expression], ...] = (
        ("X", x.expression(pixel)),
        ("Weight", weight.expression(row)),
        ("Epilogue", epilogue.expression()),
    )
    (image,), (weights,) = evaluate(functors[0][1], buffers), evaluate(functors[1][1], buffers)
    expected: dict[int, np.ndarray] = {}
    evaluate(functors[2][1], buffers, [convolved(p, image, weights)], expected)
    is_direct = isinstance(schedule, strip.Schedule)
    request = KernelRequest(
        family="depthwise" if is_direct else "conv",
        problem=p,
        schedule=schedule if is_direct else with_vectors(p.product, schedule),
        functors=functors,
        pointers=len(buffers),
    )
    tolerances = {2: derived(expected[2], terms=k, accumulate=p.accumulate, storage=result)}
    return Case(name=name, request=request, buffers=tuple(buffers), expected=expected, tolerances=tolerances)


WINDOWS = {
    "one-pixel": problem_of(channels=(1, 1), size=(1, 1), kernel=(1, 1)),
    "pointwise": problem_of(batch=2, channels=(32, 24), size=(5, 7), kernel=(1, 1)),
    "pointwise-strided": problem_of(channels=(20, 17), size=(9, 8), kernel=(1, 1), stride=(2, 3)),
    "stem": problem_of(channels=(3, 16), size=(19, 21), kernel=(7, 7), stride=(2, 2), pads=(3, 3, 3, 3)),
    "same": problem_of(batch=2, channels=(16, 20), size=(7, 7), kernel=(3, 3), pads=(1, 1, 1, 1)),
    "odd-channels": problem_of(channels=(11, 13), size=(8, 5), kernel=(3, 2), pads=(0, 1, 2, 0)),
    "dilated": problem_of(channels=(8, 12), size=(13, 17), kernel=(3, 3), dilation=(2, 3), stride=(1, 2), pads=(2, 3, 2, 3)),
    "one-dimensional": problem_of(batch=3, channels=(12, 8), size=(1, 31), kernel=(1, 5), stride=(1, 2), pads=(0, 2, 0, 2)),
    "tall": problem_of(channels=(4, 4), size=(23, 1), kernel=(5, 1), pads=(4, 0, 4, 0)),
    "grouped": problem_of(batch=2, groups=3, channels=(8, 12), size=(6, 9), kernel=(3, 3), pads=(1, 1, 1, 1)),
    "grouped-odd": problem_of(groups=5, channels=(3, 7), size=(6, 5), kernel=(2, 2), stride=(2, 1)),
    "cropped": problem_of(channels=(4, 8), size=(9, 9), kernel=(3, 3), pads=(-1, -2, -1, 0)),
    "mostly-padding": problem_of(channels=(8, 8), size=(2, 2), kernel=(3, 3), pads=(4, 4, 4, 4)),
    "large-kernel": problem_of(channels=(2, 5), size=(16, 16), kernel=(11, 13), pads=(5, 6, 5, 6)),
    "volume": deepened(problem_of(batch=2, channels=(8, 12), size=(5, 6), kernel=(3, 2), pads=(1, 1, 1, 0)), 4, 3, pads=(1, 1)),
    "volume-grouped": deepened(problem_of(groups=2, channels=(3, 5), size=(4, 5), kernel=(2, 2)), 9, 3, stride=2, dilation=2, pads=(3, 0)),
}
"""Convolutions by name."""


def typed(p: Problem, storage: DType, accumulate: DType) -> Problem:
    """Return the problem with other types."""
    return replace(p, x_storage=storage, weight_storage=storage, accumulate=accumulate)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found = []
    for number, (name, problem) in enumerate(WINDOWS.items()):
        chosen = list(SCHEDULES.items())
        for schedule_name, schedule in (chosen[number % 4], chosen[(number + 2) % 4]):
            found.append(conv_case(f"{name}-{schedule_name}", problem, schedule))
        schedule_name, schedule = chosen[(number + 1) % 4]
        half = typed(problem, F16, F32)
        found.append(conv_case(f"{name}-{schedule_name}-f16", half, schedule, storage=F16, weight_padding=-half.product.k % 8))
    same = WINDOWS["same"]
    for schedule_name, schedule in SCHEDULES.items():
        found.append(conv_case(f"fused-{schedule_name}", same, schedule, is_fused=True))
    found.append(conv_case("fused-f16", typed(same, F16, F32), SCHEDULES["square"], storage=F16, is_fused=True))
    found.append(with_long_indices(conv_case("fused", same, SCHEDULES["square"], is_fused=True)))
    found.append(conv_case("same-f64", typed(same, F64, F64), SCHEDULES["square"], storage=F64))
    found.append(conv_case("same-bf16", typed(same, BF16, F32), SCHEDULES["sliced"], storage=BF16))
    found.append(conv_case("same-i8", typed(same, I8, I32), SCHEDULES["square"], storage=I8, result=I32))
    found.append(conv_case("padded-weights", WINDOWS["stem"], SCHEDULES["square"], weight_padding=1))
    for name in ("stem", "same", "pointwise"):
        found.append(conv_case(f"chosen-{name}", WINDOWS[name], FAMILY.choose(WINDOWS[name], target("sm_90a"))))
    return tuple(found)


def representative() -> KernelRequest:
    """Return a request with work before and after the sums."""
    return next(case.request for case in cases() if case.name == "fused-square")
