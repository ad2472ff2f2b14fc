"""DeformConv: a convolution whose taps are moved by offsets; its columns are sampled, weighted and multiplied with the weights."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import DType, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.conv import ConvAttrs, conv_window
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import reshape, widen
from nautilus_cli.ops.window import Window, require_windows


@dataclass(frozen=True, slots=True)
class DeformConvAttrs:
    """Attributes of DeformConv."""

    dilations: tuple[int, ...] | None = None
    group: int = 1
    kernel_shape: tuple[int, ...] | None = None
    offset_group: int = 1
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


def _window(attrs: DeformConvAttrs, x: tuple[int, ...], w: tuple[int, ...]) -> Window:
    """Return the windows as they would be without offsets."""
    plain = ConvAttrs(dilations=attrs.dilations, group=attrs.group, kernel_shape=attrs.kernel_shape, pads=attrs.pads, strides=attrs.strides)
    return conv_window(plain, x, w)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 5)
    attrs = inference.attrs
    x, w, offset = (operand(inference, index, name, FLOATS) for index, name in enumerate(("X", "W", "offset")))
    bias, mask = optional_operand(inference, 3, "B", FLOATS), optional_operand(inference, 4, "mask", FLOATS)
    for other, name in ((w, "W"), (offset, "offset"), (bias, "B"), (mask, "mask")):
        same_dtype(x, other, name)
    found = _window(attrs, x.static, w.static)
    require_windows(inference, found)
    batch, channels = x.static[:2]
    if attrs.offset_group < 1 or channels % attrs.offset_group:
        raise ModelError(f"offset_group is {attrs.offset_group} for {channels} channels; the specification requires a divisor")
    taps = attrs.offset_group * prod(found.kernel)
    shaped(offset, "offset", (batch, taps * len(found.sizes), *found.results))
    shaped(mask, "mask", (batch, taps, *found.results))
    shaped(bias, "B", w.static[:1])
    return (TensorType(x.dtype, (batch, w.static[0], *found.results)),)


def _taps(emitter: Emitter, found: Window, dtype: DType) -> Value:
    """Return where each tap of each window lies without an offset, [taps, results..., dimensions], the last dimension first.

    A constant where it is known how many windows there are; else one of the first window, and what each dimension adds to it.
    """
    rank = len(found.sizes)
    first = np.stack(np.meshgrid(*(np.arange(k) * d for k, d in zip(found.kernel, found.dilations, strict=True)), indexing="ij")[::-1], -1)
    begin = np.array(found.begin[::-1])
    taps = emitter.constant((first - begin).reshape(-1, *(1,) * rank, rank).astype(dtype.numpy))
    for axis in range(rank):
        shape = [1] * (rank + 2)
        shape[1 + axis] = found.results[axis]
        windows = reshape(emitter, progression(emitter, found.results[axis], dtype), tuple(shape))
        step = np.zeros(rank)
        step[rank - 1 - axis] = found.strides[axis]
        taps = emitter.node("Add", [taps, emitter.node("Mul", [windows, emitter.constant(step.astype(dtype.numpy))])])
    return taps


def _build(emitter: Emitter, attrs: DeformConvAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, w, offset, bias, mask = (*operands, None, None)[:5]
    assert x is not None and w is not None and offset is not None, "the shape rule has refused this"
    found = _window(attrs, x.type.static, w.type.static)
    rank, taps, places = len(found.sizes), prod(found.kernel), prod(found.results)
    batch, channels = x.type.static[:2]
    images, groups, outputs = batch * attrs.offset_group, attrs.group, w.type.static[0]

    moved = reshape(emitter, widen(emitter, offset), (images, taps, rank, *found.results))
    moved = emitter.node("Transpose", [moved], perm=(0, 1, *range(3, rank + 3), 2))
    turned = moved if rank == 1 else emitter.node("Gather", [moved, emitter.constant(np.arange(rank)[::-1].copy())], axis=rank + 2)
    still = _taps(emitter, found, turned.type.dtype)
    # All taps of all windows of an image are one long line of places.
    line = (1,) * (rank - 1)
    grid = reshape(emitter, emitter.node("Add", [turned, still]), (images, taps * places, *line, rank))
    image = reshape(emitter, x, (images, channels // attrs.offset_group, *found.sizes))
    columns = reshape(emitter, emitter.node("nautilus::PixelSample", [image, grid]), (images, channels // attrs.offset_group, taps, places))
    if mask is not None:
        columns = emitter.node("Mul", [columns, reshape(emitter, mask, (images, 1, taps, places))])
    columns = reshape(emitter, columns, (batch, groups, channels // groups * taps, places))
    weights = reshape(emitter, w, (groups, outputs // groups, channels // groups * taps))
    result = reshape(emitter, emitter.node("MatMul", [weights, columns]), (batch, outputs, *found.results))
    if bias is not None:
        result = emitter.node("Add", [result, reshape(emitter, bias, (outputs, *(1 for _ in found.results)))])
    return (result,)


OPERATOR = composed("DeformConv", _infer, _build, source="ONNX 28, DeformConv-22", attributes=DeformConvAttrs, since=19)
