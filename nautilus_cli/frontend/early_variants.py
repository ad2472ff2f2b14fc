"""Forms of operators from before opset 6.

They named the inputs that a result may overwrite (`consumed_inputs`), which means nothing here, and had some operands as attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from onnx import TensorProto

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.frontend.calls import Call, Results, Variant, dropped, unchanged
from nautilus_cli.ops.builder import GraphBuilder


def _named_type(_: GraphBuilder, call: Call) -> Call:
    """Cast to a type by its name. Source: ONNX 1, Cast-1."""
    name = call.attributes.get("to")
    known = dict(TensorProto.DataType.items())
    if not isinstance(name, str) or name.upper() not in known:
        raise ModelError(f"to is {name!r}; the specification requires the name of a type", hint=nearest(str(name), known))
    return replace(call, attributes={"to": known[name.upper()]})


def _second_axis(_: GraphBuilder, call: Call) -> Call:
    """Concat along dimension 1 unless it is told. Source: ONNX 1, Concat-1."""
    return replace(call, attributes={"axis": 1, **call.attributes})


def _paddings(_: GraphBuilder, call: Call) -> Call:
    """Pad by `paddings`. Source: ONNX 1, Pad-1."""
    if "paddings" not in call.attributes:
        raise ModelError("attribute 'paddings' is missing; the specification requires it")
    return replace(call.without("paddings"), attributes={**call.without("paddings").attributes, "pads": call.attributes["paddings"]})


def _shape_attribute(builder: GraphBuilder, call: Call) -> Call | Results:
    """Reshape to a shape that is an attribute; without one the tensor stays as it is. Source: ONNX 1, Reshape-1."""
    shape = call.attributes.get("shape")
    if shape is None:
        return builder.apply("Identity", [call.operand(0)], outputs=call.outputs)
    return call.without("shape").with_operand(1, builder.constant(np.array(shape, np.int64)))


def _one_axis(builder: GraphBuilder, call: Call) -> Call:
    """Tile along one axis. Source: ONNX 1, Tile-1."""
    rank = len(call.operand(0).type.shape)
    tiles, axis = call.operand(1).constant, call.operand(2).constant
    if tiles is None or axis is None:
        raise ModelError("operands 'tiles' and 'axis' decide the result's shape, but their contents are not known at compile time")
    if tiles.size != 1 or axis.size != 1 or not -rank <= int(axis.item()) < rank:
        raise ModelError(
            f"tiles and axis are {tiles.tolist()} and {axis.tolist()}; the specification allows one number each, axis below {rank}"
        )
    repeats = np.ones(rank, np.int64)
    repeats[int(axis.item())] = int(tiles.item())
    return replace(call, inputs=(call.operand(0), builder.constant(repeats)))


def _whole_exponent(_: GraphBuilder, call: Call) -> Call:
    """LpPool with a fractional exponent, of which the later form has only the whole ones. Source: ONNX 1, LpPool-1."""
    exponent = call.attributes.get("p", 2.0)
    if not isinstance(exponent, int | float) or exponent != int(exponent):
        raise ModelError(f"p is {exponent}; only whole exponents are supported")
    return replace(call, attributes={**call.attributes, "p": int(exponent)})


def _two_scales(_: GraphBuilder, call: Call) -> Call:
    """Upsample with a scale of the height and one of the width. Source: ONNX 1, Upsample-1."""
    height, width = (call.attributes.get(f"{name}_scale") for name in ("height", "width"))
    if not isinstance(height, float) or not isinstance(width, float):
        raise ModelError("attributes 'height_scale' and 'width_scale' are missing; the specification requires them")
    call = call.without("height_scale", "width_scale")
    return replace(call, attributes={**call.attributes, "scales": (1.0, 1.0, height, width)})


_CONSUMING = (
    *("Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp", "Floor", "HardSigmoid"),
    *("InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Selu"),
    *("Sigmoid", "Sqrt", "Sub", "Sum", "Tanh"),
)
"""Operators of opset 1 whose attribute `consumed_inputs` went with opset 6."""

EARLY_VARIANTS: Mapping[str, tuple[tuple[int, Variant], ...]] = MappingProxyType(
    {
        **dict.fromkeys(_CONSUMING, ((6, dropped("consumed_inputs")),)),
        **dict.fromkeys(("GlobalLpPool", "LpPool"), ((2, _whole_exponent),)),
        "Cast": ((6, _named_type),),
        "Concat": ((4, _second_axis),),
        "Pad": ((2, _paddings),),
        "Reshape": ((5, dropped("consumed_inputs")), (5, _shape_attribute)),
        "Split": ((2, unchanged),),
        "Tile": ((6, _one_axis),),
        "Upsample": ((7, _two_scales),),
    }
)
"""As VARIANTS of `variants.py`, where they come first. Source: ONNX's Changelog.md at the versions named."""
