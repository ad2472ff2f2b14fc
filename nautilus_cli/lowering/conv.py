"""Convolution: implicit matrix products over channels-last images; depthwise and 1×1 go to the kernels made for them."""

from __future__ import annotations

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import compose, permuted, regroup, sliced
from nautilus_cli.kernels import conv as conv_kernel
from nautilus_cli.kernels import gemm as gemm_kernel
from nautilus_cli.lowering.expressions import ExpressionBuilder
from nautilus_cli.lowering.gemm import accumulator, epilogue_expression, packed_expression
from nautilus_cli.lowering.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.packing import constant_behind, pack_rows
from nautilus_cli.lowering.slots import Slots
from nautilus_cli.lowering.windows import image, three, window_fields
from nautilus_cli.ops.conv import ConvAttrs


def lower(lowering: Lowering) -> Lowered:
    """Choose the kernel by the window: one tap without padding is a matrix product."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, ConvAttrs)
    assert attrs.kernel_shape and attrs.pads
    if set(attrs.kernel_shape) == {1} and not any(attrs.pads) and attrs.group == 1:
        return _as_product(lowering, attrs)
    return _as_conv(lowering, attrs)


def _as_conv(lowering: Lowering, attrs: ConvAttrs) -> Lowered:
    x, weights, result = _tensors(lowering)
    source, target = image(x), image(result)
    depthwise = source.channels == attrs.group
    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    x_expression = builder.expression((builder.value(x, source.walk),))
    weight_expression = _weights(lowering, slots, weights)
    epilogue = epilogue_expression(lowering, slots, result, target.walk)
    problem = conv_kernel.Problem(
        **window_fields(source, target, attrs),
        groups=attrs.group,
        in_channels=source.channels // attrs.group,
        out_channels=target.channels // attrs.group,
        accumulate=accumulator(result.type.dtype),
        x_storage=main_storage(x_expression, x.type.dtype),
        weight_storage=main_storage(weight_expression, weights.type.dtype),
    )
    return Lowered(
        family="depthwise" if depthwise else "conv",
        problem=problem,
        functors=(("X", x_expression), ("Weight", weight_expression), ("Epilogue", epilogue)),
        slots=slots,
    )


def _as_product(lowering: Lowering, attrs: ConvAttrs) -> Lowered:
    """Rows are pixels, k the channels: both operands are consecutive along k."""
    x, weights, result = _tensors(lowering)
    source, target = image(x), image(result)
    assert attrs.strides
    seen = (*source.shape[:2], *target.shape[2:])
    strided = sliced(source.shape, (0, 0, 0, 0, 0), (1, 1, *three(attrs.strides, 1)), seen)
    pixels = regroup(compose(permuted(seen, (0, 2, 3, 4, 1)), strided), [[], [0, 1, 2, 3], [4]])
    slots = Slots()
    builder = ExpressionBuilder(lowering.group, slots)
    a_expression = builder.expression((builder.value(x, pixels),))
    b_expression = _weights(lowering, slots, weights, as_product=True)
    epilogue = epilogue_expression(lowering, slots, result, regroup(target.walk, [[], [0, 1, 2], [3]]))
    problem = gemm_kernel.Problem(
        batch=1,
        m=target.pixels,
        n=target.channels,
        k=source.channels,
        a_k_last=True,
        b_k_last=True,
        accumulate=accumulator(result.type.dtype),
        a_storage=main_storage(a_expression, x.type.dtype),
        b_storage=main_storage(b_expression, weights.type.dtype),
    )
    return Lowered(family="gemm", problem=problem, functors=(("A", a_expression), ("B", b_expression), ("Epilogue", epilogue)), slots=slots)


def _tensors(lowering: Lowering) -> tuple[Value, Value, Value]:
    anchor = lowering.group.anchor
    assert anchor is not None
    x, weights = anchor.inputs[0], anchor.inputs[1]
    assert x is not None and weights is not None
    return x, weights, next(anchor.results())


def _weights(lowering: Lowering, slots: Slots, weights: Value, *, as_product: bool = False) -> Expression:
    """Return the expression of the weights at (out channel, k), or at (batch, out channel, k) for a product.

    k runs over the kernel's planes, rows and columns and over channels, channels fastest.
    """
    rank = len(weights.type.shape)
    k = list(range(1, rank))
    to_linear = regroup(permuted(weights.type.static, (0, *range(2, rank), 1)), [[], [0], k] if as_product else [[0], k])
    behind = constant_behind(weights, lowering.transparent())
    if behind is not None:
        source, to_source = behind
        packed, packed_map = pack_rows(source, compose(to_linear, to_source), "conv_krsc")
        return packed_expression(packed, packed_map, weights, slots)
    builder = ExpressionBuilder(lowering.group, slots)
    return builder.expression((builder.value(weights, to_linear),))
