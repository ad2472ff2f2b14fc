"""Older forms of operators: how a node of an earlier opset reads in the newest one.

Used where an operator's own rules do not cover the older form (the node's opset is below the operator's `since`). What is missing here
goes through ONNX's version converter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from types import MappingProxyType

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.attributes import AttributeValue
from nautilus_cli.frontend.calls import Call, Results, Variant, dropped, integers, reshape, unchanged
from nautilus_cli.frontend.early_variants import EARLY_VARIANTS
from nautilus_cli.ops.builder import GraphBuilder


def modernised(builder: GraphBuilder, call: Call, version: int) -> Call | Results:
    """Return CALL, a node of opset VERSION, in its newest form; results where that takes more than one node."""
    known = VARIANTS.get(call.op, ())
    for before, variant in known:
        if version < before:
            result = variant(builder, call)
            if not isinstance(result, Call):
                return result
            call = result
    return call


def _aligned(builder: GraphBuilder, call: Call) -> Call:
    """Broadcasting by `broadcast` and `axis`: the second operand's dimensions start at that axis of the first.

    Source: ONNX 6, Add-6.
    """
    a, b = call.operand(0), call.operand(1)
    rank, inner = len(a.type.shape), len(b.type.shape)
    axis = call.attributes.get("axis")
    if call.attributes.get("broadcast", 0) and isinstance(axis, int):
        axis += rank if axis < 0 else 0
        if not 0 <= axis <= rank - inner:
            raise ModelError(f"axis is {axis}; operands of rank {rank} and {inner} allow 0 to {rank - inner}")
        shape = (*b.type.static, *(1,) * (rank - inner - axis))
        call = call.with_operand(1, reshape(builder, b, shape))
    elif not call.attributes.get("broadcast", 0) and a.type.shape != b.type.shape:
        raise ModelError(f"operands have the types {a.type} and {b.type}; without broadcast=1 the specification requires equal shapes")
    return call.without("axis", "broadcast")


def _channel_slope(builder: GraphBuilder, call: Call) -> Call:
    """PRelu with one slope a channel, which is dimension 1. Source: ONNX 6, PRelu-6."""
    x, slope = call.operand(0), call.operand(1)
    if slope.type.elements == 1 or len(x.type.shape) < 2:
        return call
    return call.with_operand(1, reshape(builder, slope, (slope.type.elements, *(1,) * (len(x.type.shape) - 2))))


def _group_scales(builder: GraphBuilder, call: Call) -> Call:
    """GroupNormalization with a scale and a bias a group, which every channel of it takes. Source: ONNX 18, GroupNormalization-18."""
    channels = call.operand(0).type.static[1:2]
    groups = call.attributes.get("num_groups")
    for position in (1, 2):
        value = call.operand(position)
        if channels and isinstance(groups, int) and groups > 0 and channels[0] % groups == 0 and value.type.static == (groups,):
            spread = builder.node("Expand", [reshape(builder, value, (groups, 1)), integers(builder, (groups, channels[0] // groups))])
            call = call.with_operand(position, reshape(builder, spread, channels))
    return call


def _flat_softmax(builder: GraphBuilder, call: Call) -> Call | Results:
    """Softmax or Hardmax over all dimensions from `axis` on, as if they were one. Source: ONNX 11, Softmax-11 and Hardmax-11."""
    x = call.operand(0)
    shape = x.type.static
    axis = call.attributes.get("axis", 1)
    if not isinstance(axis, int) or not -len(shape) <= axis <= len(shape):
        raise ModelError(f"axis is {axis}; for a tensor of rank {len(shape)} the specification allows {-len(shape)} to {len(shape)}")
    axis += len(shape) if axis < 0 else 0
    if axis == len(shape) - 1:
        return replace(call, attributes={"axis": -1})
    flat = reshape(builder, x, (prod(shape[:axis]), prod(shape[axis:])))
    attrs = builder.operator(call.op).attributes(axis=-1)
    result = builder.node(call.op, [flat], attrs)
    return builder.apply("Reshape", [result, integers(builder, shape)], outputs=call.outputs)


def _resized(builder: GraphBuilder, call: Call) -> Call:
    """Resize without coordinates of its own, or Upsample: places are divided by the scale.

    The nearest element is the one at or before a place where the dimension grows, and the one at or behind it where it shrinks.

    Source: ONNX 10, Resize-10 and Upsample-9, which leave the nearest element open; onnxruntime chooses so.
    """
    x, mode = call.operand(0), call.attributes.get("mode", "nearest")
    given = call.attributes.get("scales")
    scales = builder.constant(np.array(given, np.float32)) if isinstance(given, tuple) else call.operand(1)
    attributes: dict[str, AttributeValue] = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    numbers = scales.constant
    if mode == "nearest" and numbers is not None and np.any(numbers < 1):
        if np.any(numbers > 1):
            grown = builder.constant(np.maximum(numbers, np.float32(1)))
            x = builder.node("Resize", [x, None, grown], builder.operator("Resize").attributes(**attributes))
        scales = builder.constant(np.minimum(numbers, np.float32(1)))
        attributes["nearest_mode"] = "ceil"
    return replace(call, op="Resize", inputs=(x, None, scales), attributes=attributes)


def _renamed_modes(_: GraphBuilder, call: Call) -> Call:
    """GridSample of two spatial dimensions named its modes after them. Source: ONNX 16, GridSample-16."""
    mode = call.attributes.get("mode", "bilinear")
    names = {"bilinear": "linear", "bicubic": "cubic"}
    return replace(call, attributes={**call.attributes, "mode": names.get(mode, mode) if isinstance(mode, str) else mode})


def _axis_operand(builder: GraphBuilder, call: Call) -> Call:
    """DFT had its axis as an attribute, by default the one behind the batch. Source: ONNX 17, DFT-17."""
    axis = call.attributes.get("axis", 1)
    return call.without("axis").with_operand(2, builder.constant(np.array(axis, np.int64)))


def _without_shift(_: GraphBuilder, call: Call) -> Call:
    """RoiAlign took corners as they are. Source: ONNX 10, RoiAlign-10."""
    return replace(call, attributes={**call.attributes, "coordinate_transformation_mode": "output_half_pixel"})


_LATER: Mapping[str, tuple[tuple[int, Variant], ...]] = MappingProxyType(
    {
        **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"), ((7, _aligned),)),
        **dict.fromkeys(("Sum", "Max", "Min", "Mean"), ((8, unchanged),)),
        **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), ((13, _flat_softmax),)),
        **dict.fromkeys(("BatchNormalization", "Dropout"), ((7, dropped("is_test")),)),
        **dict.fromkeys(("GRU", "LSTM", "RNN"), ((7, dropped("output_sequence")),)),  # which outputs there are says the same
        "DFT": ((20, _axis_operand),),
        "Gemm": ((7, dropped("broadcast")),),
        "GridSample": ((20, _renamed_modes),),
        "GroupNormalization": ((21, _group_scales),),
        "PRelu": ((7, _channel_slope),),
        "RoiAlign": ((16, _without_shift),),
        "Resize": ((11, _resized),),
        "Upsample": ((10, _resized),),
    }
)

VARIANTS: Mapping[str, tuple[tuple[int, Variant], ...]] = MappingProxyType(
    {op: (*EARLY_VARIANTS.get(op, ()), *_LATER.get(op, ())) for op in (*EARLY_VARIANTS, *_LATER)}
)
"""For each operator (before which opset, its variant), in order of application.

Source: the changelog of ONNX's operators (Changelog.md) at the versions named.
"""
