"""Cases of the pool family: maxima and means, divisors, padding, partial windows, NaN and infinities."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import BF16, F16, F32, F64, I8, I64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.pool import FAMILY, Problem
from nautilus_cli.kernels.strip import Schedule
from nautilus_cli.numerics import derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import values
from tests.emulated.cases.windows import count, deepened, out_extent, taps
from tests.emulated.harness import Case, output
from tests.emulated.reference import evaluate

SCHEDULES = {
    "long": Schedule(threads=64, lanes=4, vector=4, pixels=4),
    "single": Schedule(threads=32, lanes=8, vector=1, pixels=1),
    "pair": Schedule(threads=32, lanes=2, vector=2, pixels=2),
    "deep": Schedule(threads=32, lanes=32, vector=8, pixels=1),
}


def problem_of(
    channels: int,
    size: tuple[int, int],
    kernel: tuple[int, int],
    *,
    batch: int = 1,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    extra: tuple[int, int] = (0, 0),
) -> Problem:
    """Return a maximum over windows; EXTRA rows and columns of windows begin further on, as ceil_mode has them."""
    return Problem(
        batch=batch,
        channels=channels,
        in_height=size[0],
        in_width=size[1],
        out_height=out_extent(size[0], kernel[0], stride[0], dilation[0], pads[0], pads[2]) + extra[0],
        out_width=out_extent(size[1], kernel[1], stride[1], dilation[1], pads[1], pads[3]) + extra[1],
        kernel_height=kernel[0],
        kernel_width=kernel[1],
        stride_height=stride[0],
        stride_width=stride[1],
        dilation_height=dilation[0],
        dilation_width=dilation[1],
        pad_top=pads[0],
        pad_left=pads[1],
        pad_bottom=pads[2],
        pad_right=pads[3],
        combine="max",
    )


def pooled(p: Problem, image: np.ndarray) -> np.ndarray:
    """Return the pooled image, in the type of the given one; NaN propagates through a maximum."""
    if p.combine == "max":
        lowest = -np.inf if image.dtype.kind == "f" else np.iinfo(image.dtype).min
        return np.asarray(np.max(np.stack(list(taps(p, image, lowest))), axis=0)).astype(image.dtype)
    total = np.sum(np.stack(list(taps(p, image, 0))), axis=0)
    if p.divisor == "none":
        return np.asarray(total)
    before, after = (p.pad_front, p.pad_top, p.pad_left), (p.pad_back, p.pad_bottom, p.pad_right)
    margins = (before, after) if p.divisor == "window" else ((0, 0, 0), (0, 0, 0))
    return np.asarray(total / count(p, *margins)[..., None])


def places(p: Problem, image: np.ndarray) -> np.ndarray:
    """Return where in the flattened operand, its channels outermost, each maximum is first met."""
    size = (p.in_depth, p.in_height, p.in_width)
    numbers = np.arange(np.prod(size))
    plane = numbers.reshape(size[::-1]).T if p.is_column_major else numbers.reshape(size)
    images = np.arange(p.batch * p.channels).reshape(p.batch, 1, 1, 1, p.channels) * plane.size + plane[None, ..., None]
    found = np.stack(list(taps(p, images.reshape(image.shape), -1)))
    seen = np.stack(list(taps(p, image, 0)))
    best = pooled(p, image)
    is_best = (found >= 0) & ((seen == best) | ((seen != seen) & (best != best)))
    return np.take_along_axis(found, np.argmax(is_best, axis=0)[None], axis=0)[0]


def pool_case(
    name: str,
    p: Problem,
    schedule: Schedule,
    *,
    storage: DType = F32,
    is_fused: bool = False,
    image: np.ndarray | None = None,
) -> Case:
    """Return a pooling of slot 0 into slot 1; the places of maxima go into the last slot.

    Args:
        is_fused: the image is x · scale[channel], and the result is multiplied by another such; slots 2 and 3 are the scales.
        image: contents of slot 0; random by default.
    """
    p = replace(p, x_storage=storage)
    image_shape = (p.batch * p.in_depth, p.in_height, p.in_width, p.channels)
    result_shape = (p.batch * p.out_depth, p.out_height, p.out_width, p.channels)
    x, epilogue = Steps(), Steps()
    pixel = x.load(0, storage, identity(image_shape))
    result = epilogue.parameter(0, storage.compute)
    image = values(int(np.prod(image_shape)), storage, 1) if image is None else image
    buffers = [image, output(int(np.prod(result_shape)), storage.numpy)]
    if is_fused:
        pixel = x.apply("mul", pixel, x.load(2, storage, from_strides(image_shape, (0, 0, 0, 1))))
        result = epilogue.apply("mul", result, epilogue.load(3, storage, from_strides(result_shape, (0, 0, 0, 1))))
        buffers += [values(p.channels, storage, 3), values(p.channels, storage, 4)]
    epilogue.store(result, 1, storage, identity(result_shape))
    if p.has_indices:
        epilogue.store(epilogue.parameter(1, I64), len(buffers), I64, identity(result_shape))
        buffers.append(output(int(np.prod(result_shape)), np.int64))
    functors = (("X", x.expression(pixel)), ("Epilogue", epilogue.expression()))
    (seen,) = evaluate(functors[0][1], buffers)
    expected: dict[int, np.ndarray] = {}
    with np.errstate(invalid="ignore"):
        evaluate(functors[1][1], buffers, [pooled(p, seen), *([places(p, seen)] if p.has_indices else [])], expected)
    request = KernelRequest(family="pool", problem=p, schedule=schedule, functors=functors, pointers=len(buffers))
    is_exact = p.combine == "max" and not is_fused
    tolerances = {} if is_exact else {1: derived(expected[1], terms=p.taps, storage=storage, accumulate=storage.compute)}
    return Case(name=name, request=request, buffers=tuple(buffers), expected=expected, tolerances=tolerances)


WINDOWS = {
    "one-pixel": problem_of(1, (1, 1), (1, 1)),
    "halved": problem_of(24, (12, 14), (2, 2), batch=2, stride=(2, 2)),
    "resnet": problem_of(16, (17, 18), (3, 3), stride=(2, 2), pads=(1, 1, 1, 1)),
    "odd-channels": problem_of(13, (9, 8), (3, 2), batch=2, stride=(1, 2), pads=(1, 0, 1, 1)),
    "dilated": problem_of(8, (13, 15), (3, 3), stride=(2, 1), dilation=(2, 3), pads=(2, 3, 2, 3)),
    "partial": problem_of(8, (6, 7), (3, 3), stride=(2, 2), extra=(1, 0)),
    "partial-padded": problem_of(8, (6, 6), (3, 3), stride=(2, 2), pads=(1, 1, 1, 1), extra=(1, 1)),
    "one-dimensional": problem_of(20, (1, 29), (1, 4), batch=2, stride=(1, 3), pads=(0, 2, 0, 1)),
    "large-kernel": problem_of(8, (15, 16), (9, 10), pads=(4, 4, 4, 5)),
    "whole-image": problem_of(64, (7, 7), (7, 7)),
    "cropped": problem_of(8, (9, 9), (2, 2), pads=(-1, -2, -1, 0)),
    "volume": deepened(problem_of(8, (5, 6), (3, 2), batch=2, pads=(1, 1, 1, 0)), 7, 3, stride=2, pads=(2, 1)),
    "volume-dilated": deepened(problem_of(12, (4, 5), (2, 2), stride=(1, 2)), 9, 2, dilation=3, pads=(0, 3)),
}
"""Windows by name."""

DIVISORS = {"max": ("max", "none"), "sum": ("sum", "none"), "window": ("sum", "window"), "valid": ("sum", "valid")}


def special() -> np.ndarray:
    """Return an 8×8 image of 8 channels with NaN and infinities at every place of some 2×2 window, and whole windows of -inf."""
    image = values(8 * 8 * 8, F32, 5).reshape(8, 8, 8)
    for place in range(4):
        y, x = divmod(place, 2)
        image[y, 2 * place + x, :2] = np.nan
        image[2 + y, 2 * place + x, 1:3] = np.inf
        image[4 + y, 2 * place + x, 2:4] = -np.inf
    image[6:, :, 4:6] = -np.inf
    return image.reshape(-1)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found = []
    names = list(SCHEDULES)
    for number, (name, window) in enumerate(WINDOWS.items()):
        for turn, (kind, (combine, divisor)) in enumerate(DIVISORS.items()):
            problem = replace(window, combine=combine, divisor=divisor)
            legal = [n for n in names if not FAMILY.violations(problem, SCHEDULES[n], target("sm_80"))]
            schedule_name = legal[(number + turn) % len(legal)]
            storage = F16 if (number + turn) % 2 else F32
            found.append(pool_case(f"{name}-{kind}-{schedule_name}-{storage}", problem, SCHEDULES[schedule_name], storage=storage))
        found.append(pool_case(f"{name}-chosen", window, FAMILY.choose(window, target("sm_90a"))))
    halved, resnet = WINDOWS["halved"], WINDOWS["resnet"]
    for schedule_name in names:
        found.append(
            pool_case(f"special-{schedule_name}", problem_of(8, (8, 8), (2, 2), stride=(2, 2)), SCHEDULES[schedule_name], image=special())
        )
    found.append(pool_case("fused-max", resnet, SCHEDULES["long"], is_fused=True))
    found.append(pool_case("fused-mean", replace(resnet, combine="sum", divisor="valid"), SCHEDULES["pair"], storage=F16, is_fused=True))
    found.append(with_long_indices(pool_case("fused", resnet, SCHEDULES["pair"], is_fused=True)))
    for schedule_name in names:
        indexed = replace(problem_of(8, (8, 8), (2, 2), stride=(2, 2)), has_indices=True)
        found.append(pool_case(f"places-special-{schedule_name}", indexed, SCHEDULES[schedule_name], image=special()))
        volume = replace(WINDOWS["volume"], has_indices=True, is_column_major=schedule_name in ("pair", "deep"))
        found.append(pool_case(f"places-volume-{schedule_name}", volume, SCHEDULES[schedule_name], storage=F16))
    found.append(pool_case("places-fused", replace(resnet, has_indices=True), SCHEDULES["long"], is_fused=True))
    found.append(pool_case("places-i8", replace(WINDOWS["odd-channels"], has_indices=True), SCHEDULES["single"], storage=I8))
    found.append(pool_case("max-i8", halved, SCHEDULES["deep"], storage=I8))
    found.append(pool_case("max-f64", halved, SCHEDULES["pair"], storage=F64))
    found.append(pool_case("mean-bf16", replace(halved, combine="sum", divisor="window"), SCHEDULES["long"], storage=BF16))
    return tuple(found)


def representative() -> KernelRequest:
    """Return a request with a divisor."""
    return next(case.request for case in cases() if case.name == "fused-mean")
