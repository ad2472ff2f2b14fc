"""Convolution: implicit matrix products over channels-last images; depthwise, 1×1 and patches go to the kernels made for them."""

from __future__ import annotations

from functools import partial
from math import prod

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, permuted, regroup
from nautilus_cli.ir.stages import row_major
from nautilus_cli.kernels.conv import Problem
from nautilus_cli.lowering.building.convolutions import convolution, tensors
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.operands import Operand, accumulator, weight_expression, widest
from nautilus_cli.lowering.building.packing import constant_behind
from nautilus_cli.lowering.building.products import Product
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.building.windows import Image, image, three
from nautilus_cli.ops.conv import ConvAttrs


def lower(lowering: Lowering) -> Lowered:
    """Choose the kernel by the window: where no element is in two of them, and none outside, they are the rows of a matrix."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, ConvAttrs)
    assert attrs.kernel_shape and attrs.pads and attrs.strides and attrs.dilations
    is_apart = all((k <= s and d == 1) or k == 1 for k, s, d in zip(attrs.kernel_shape, attrs.strides, attrs.dilations, strict=True))
    if is_apart and not any(attrs.pads) and attrs.group == 1:
        return _as_product(lowering, attrs)
    is_depthwise = image(tensors(lowering)[0]).channels == attrs.group
    return convolution(lowering, "depthwise" if is_depthwise else "conv", Problem, attrs, partial(_weights, lowering))


def _as_product(lowering: Lowering, attrs: ConvAttrs) -> Lowered:
    """Rows are windows, k runs over the elements of one: over channels first or last, as the image lies in memory."""
    x, weights, result = tensors(lowering)
    source, target = image(x), image(result)
    slots = Slots()
    lies_channels_last = x.order is not None and x.order[-1] == 1  # what is taken where vectors are as long either way
    maps = [_windows(source, target, attrs, channels_last=last) for last in (lies_channels_last, not lies_channels_last)]
    is_as_it_lies, elements = widest(lowering, slots, x, *maps)
    is_channels_last = is_as_it_lies == lies_channels_last
    taps = _weights(lowering, slots, weights, as_product=True, channels_last=is_channels_last)
    epilogue = epilogue_expression(lowering, slots, result, regroup(target.walk, [[], [0, 1, 2], [3]]))
    is_constant = constant_behind(weights, lowering.transparent()) is not None
    product = Product(
        batch=1,
        m=target.pixels,
        n=target.channels,
        k=source.channels * prod(attrs.kernel_shape or ()),
        a=Operand(dtype=x.type.dtype, expression=elements),
        b=Operand(dtype=weights.type.dtype, expression=taps, is_constant=is_constant),
        accumulate=accumulator(result.type.dtype),
    )
    return product.lowered((("Epilogue", epilogue),), slots, lowering.fp32_mode)


def _windows(source: Image, target: Image, attrs: ConvAttrs, *, channels_last: bool) -> IndexMap:
    """Return the map from (batch, window, k) to the image's linear index in ONNX order."""
    images, channels, *steps = row_major(source.shape)
    kernel, strides = three(attrs.kernel_shape or (), 1), three(attrs.strides or (), 1)
    extents = [source.batch, *target.shape[2:], *kernel, source.channels]
    walked = from_strides(extents, [images, *(n * step for n, step in zip(strides, steps, strict=True)), *steps, channels])
    return regroup(walked, [[], [0, 1, 2, 3], [4, 5, 6, 7] if channels_last else [7, 4, 5, 6]])


def _weights(lowering: Lowering, slots: Slots, weights: Value, *, as_product: bool = False, channels_last: bool = True) -> Expression:
    """Return the expression of the weights at (out channel, k), or at (batch, out channel, k) for a product.

    k runs over the kernel's planes, rows and columns and over channels, the latter fastest, or slowest.
    """
    rank = len(weights.type.shape)
    k = list(range(1, rank))
    order = (0, *range(2, rank), 1) if channels_last else tuple(range(rank))
    to_linear = regroup(permuted(weights.type.static, order), [[], [0], k] if as_product else [[0], k])
    return weight_expression(lowering, slots, weights, to_linear, "conv_krsc" if channels_last else "conv_kcrs")
