"""Cases of the conv_transpose family: strides, dilations, groups, volumes, edges, schedules, types, prologues and epilogues."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import BF16, F16, F32, F64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.conv_transpose import FAMILY, Problem
from nautilus_cli.kernels.product import Schedule, with_vectors
from nautilus_cli.numerics import derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.conv import SCHEDULES, typed
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.products import values
from tests.emulated.harness import Case, output
from tests.emulated.reference import evaluate, wide

Triple = tuple[int, int, int]


def problem_of(
    size: Triple,
    kernel: Triple,
    *,
    channels: tuple[int, int],
    batch: int = 1,
    groups: int = 1,
    stride: Triple = (1, 1, 1),
    dilation: Triple = (1, 1, 1),
    pads: Triple = (0, 0, 0),
    less: Triple = (0, 0, 0),
) -> Problem:
    """Return a problem; PADS are cut off before, LESS behind (negative: added there)."""
    names = ("depth", "height", "width")
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in zip(size, kernel, stride, dilation, strict=True)]
    outs = [r - b - e for r, b, e in zip(reach, pads, less, strict=True)]
    numbers = {"in": size, "out": outs, "kernel": kernel, "stride": stride, "dilation": dilation}
    fields = {f"{prefix}_{name}": n for prefix, three in numbers.items() for name, n in zip(names, three, strict=True)}
    return Problem(
        **fields,
        batch=batch,
        groups=groups,
        in_channels=channels[0],
        out_channels=channels[1],
        pad_front=pads[0],
        pad_top=pads[1],
        pad_left=pads[2],
        accumulate=F32,
    )


def classes(p: Problem, weights: np.ndarray) -> np.ndarray:
    """Return weights [groups, out channels, taps along z, y and x, in channels] as [out channels over all groups, first tap, k]."""
    kernel = weights.shape[2:5]
    whole = [n * s for n, s in zip(p.class_taps, p.steps, strict=True)]
    padded = np.zeros((*weights.shape[:2], *whole, p.in_channels), weights.dtype)
    padded[:, :, : kernel[0], : kernel[1], : kernel[2]] = weights
    split = padded.reshape(*weights.shape[:2], *(d for pair in zip(p.class_taps, p.steps, strict=True) for d in pair), p.in_channels)
    return split.transpose(0, 1, 3, 5, 7, 2, 4, 6, 8).reshape(p.groups * p.out_channels, prod(p.steps), -1)


def transposed(p: Problem, image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return what images [planes, y, x, channels] spread by weights [groups, out channels, z, y, x, in channels]."""
    kind = wide(p.accumulate)
    size = (p.in_depth, p.in_height, p.in_width)
    outs = (p.out_depth, p.out_height, p.out_width)
    pads = (p.pad_front, p.pad_top, p.pad_left)
    dilations = (p.dilation_depth, p.dilation_height, p.dilation_width)
    elements = image.astype(kind).reshape(p.batch, *size, p.groups, p.in_channels)
    whole = [b + o + n * s + d * 16 for b, o, n, s, d in zip(pads, outs, size, p.strides, dilations, strict=True)]
    total = np.zeros((p.batch, *whole, p.groups, p.out_channels), kind)
    for place in product(*(range(k) for k in weights.shape[2:5])):
        part = np.einsum("bzyxgc,goc->bzyxgo", elements, weights[:, :, *place].astype(kind))
        begin = [t * d for t, d in zip(place, dilations, strict=True)]
        reached = tuple(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begin, size, p.strides, strict=True))
        total[:, *reached] += part
    kept = tuple(slice(b, b + o) for b, o in zip(pads, outs, strict=True))
    return total[:, *kept].reshape(p.batch * p.out_depth, p.out_height, p.out_width, -1)


def case(
    name: str,
    p: Problem,
    schedule: Schedule,
    *,
    storage: DType = F32,
    is_fused: bool = False,
    weight_padding: int = 0,
    infinite: bool = False,
) -> Case:
    """Return a transposed convolution: slots 0 and 1 are image and weights, 2 the result.

    Args:
        is_fused: the image is max(x + shift[channel], 0), which is not zero outside it; the result gets a bias and a residual and is cut at
            zero. Slots 3, 4 and 5 are shift, bias and residual.
        weight_padding: elements between rows of the weights.
        infinite: one element is infinite, and must reach only the results that a tap takes it to.
    """
    p = typed(p, storage, storage.compute)
    image_shape = (p.batch * p.in_depth, p.in_height, p.in_width, p.groups * p.in_channels)
    result_shape = (p.batch * p.out_depth, p.out_height, p.out_width, p.groups * p.out_channels)
    kernel = (p.kernel_depth, p.kernel_height, p.kernel_width)
    raw = values(p.groups * p.out_channels * prod(kernel) * p.in_channels, storage, 2)
    raw = raw.reshape(p.groups, p.out_channels, *kernel, p.in_channels)
    packed = classes(p, raw)
    rows = np.zeros((*packed.shape[:2], packed.shape[2] + weight_padding), packed.dtype)
    rows[..., : packed.shape[2]] = packed
    image = values(prod(image_shape), storage, 1)
    if infinite:
        image[image.size // 2] = np.inf
    buffers = [image, rows.reshape(-1), output(prod(result_shape), storage.numpy)]
    x, weight, epilogue = Steps(), Steps(), Steps()
    pixel = x.load(0, storage, identity(image_shape))
    summed = epilogue.parameter(0, p.accumulate)
    if is_fused:
        pixel = x.apply("relu", x.apply("add", pixel, x.load(3, storage, from_strides(image_shape, (0, 0, 0, 1)))))
        biased = epilogue.apply("add", summed, epilogue.load(4, storage, from_strides(result_shape, (0, 0, 0, 1))))
        summed = epilogue.apply("relu", epilogue.apply("add", biased, epilogue.load(5, storage, identity(result_shape))))
        buffers += [values(image_shape[3], storage, 3), values(result_shape[3], storage, 4), values(prod(result_shape), storage, 5)]
    strides = (rows.shape[1] * rows.shape[2], rows.shape[2], 1)
    row = weight.load(1, storage, from_strides(packed.shape, strides))
    epilogue.store(summed, 2, storage, identity(result_shape))
    functors: tuple[tuple[str, Expression], ...] = (
        ("X", x.expression(pixel)),
        ("Weight", weight.expression(row)),
        ("Epilogue", epilogue.expression()),
    )
    (seen,) = evaluate(functors[0][1], buffers)
    expected: dict[int, np.ndarray] = {}
    evaluate(functors[2][1], buffers, [transposed(p, seen, raw)], expected)
    request = KernelRequest(
        family="conv_transpose", problem=p, schedule=with_vectors(p.product, schedule), functors=functors, pointers=len(buffers)
    )
    tolerances = {2: derived(expected[2], terms=p.product.k, accumulate=p.accumulate, storage=storage)}
    return Case(name=name, request=request, buffers=tuple(buffers), expected=expected, tolerances=tolerances)


PROBLEMS = {
    "one-pixel": problem_of((1, 1, 1), (1, 1, 1), channels=(1, 1)),
    "doubled": problem_of((1, 5, 7), (1, 2, 2), channels=(16, 12), batch=2, stride=(1, 2, 2)),
    "smooth": problem_of((1, 6, 5), (1, 4, 4), channels=(8, 20), stride=(1, 2, 2), pads=(0, 1, 1), less=(0, 1, 1)),
    "odd-kernel": problem_of((1, 5, 6), (1, 3, 3), channels=(11, 7), batch=2, stride=(1, 2, 2), pads=(0, 1, 1), less=(0, 0, 1)),
    "without-stride": problem_of((1, 6, 7), (1, 3, 2), channels=(8, 8), pads=(0, 1, 0), less=(0, 1, 1)),
    "dilated": problem_of((1, 5, 6), (1, 3, 2), channels=(4, 8), dilation=(1, 2, 3), pads=(0, 2, 0)),
    "dilated-strides": problem_of((1, 4, 5), (1, 3, 3), channels=(8, 5), stride=(1, 2, 4), dilation=(1, 3, 2), pads=(0, 1, 3)),
    "common-divisors": problem_of((1, 4, 3), (1, 4, 3), channels=(6, 8), stride=(1, 4, 6), dilation=(1, 6, 4), pads=(0, 1, 2)),
    "gaps": problem_of((1, 4, 3), (1, 1, 2), channels=(8, 4), stride=(1, 3, 5), less=(0, -2, -4)),
    "line": problem_of((1, 1, 19), (1, 1, 16), channels=(12, 8), batch=3, stride=(1, 1, 8), pads=(0, 0, 4), less=(0, 0, 4)),
    "grouped": problem_of((1, 4, 6), (1, 3, 3), channels=(5, 6), batch=2, groups=3, stride=(1, 2, 3), pads=(0, 1, 0)),
    "depthwise": problem_of((1, 5, 4), (1, 4, 4), channels=(1, 1), groups=7, stride=(1, 2, 2), pads=(0, 1, 1), less=(0, 1, 1)),
    "volume": problem_of((3, 4, 3), (2, 3, 2), channels=(8, 12), batch=2, stride=(2, 1, 2), pads=(1, 1, 0), less=(0, 1, 0)),
    "mostly-cut": problem_of((1, 3, 3), (1, 7, 7), channels=(4, 4), stride=(1, 2, 2), pads=(0, 5, 5), less=(0, 5, 4)),
}
"""Transposed convolutions by name."""


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found = [case("fused", PROBLEMS["smooth"], SCHEDULES["square"], is_fused=True)]
    chosen = list(SCHEDULES.items())
    for number, (name, problem) in enumerate(PROBLEMS.items()):
        for turn in (0, 2):
            schedule_name, schedule = chosen[(number + turn) % 4]
            found.append(case(f"{name}-{schedule_name}", problem, schedule))
        schedule_name, schedule = chosen[(number + 1) % 4]
        found.append(case(f"{name}-{schedule_name}-f16", problem, schedule, storage=F16, weight_padding=-problem.product.k % 8))
    for schedule_name, schedule in chosen:
        found.append(case(f"fused-{schedule_name}", PROBLEMS["odd-kernel"], schedule, is_fused=True))
    found.append(case("infinite", PROBLEMS["odd-kernel"], SCHEDULES["square"], infinite=True))
    found.append(with_long_indices(case("fused-long", PROBLEMS["smooth"], SCHEDULES["sliced"], is_fused=True)))
    for storage in (F64, BF16):
        found.append(case(f"smooth-{storage}", PROBLEMS["smooth"], SCHEDULES["square"], storage=storage))
    found.append(case("padded-weights", PROBLEMS["doubled"], SCHEDULES["square"], weight_padding=1))
    for name in ("doubled", "smooth", "volume"):
        found.append(case(f"chosen-{name}", PROBLEMS[name], FAMILY.choose(PROBLEMS[name], target("sm_90a"))))
    return tuple(found)
