"""Conv."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import DType, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.explicit_convolution import explicit_convolution
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, Operator
from nautilus_cli.ops.window import Window, require_windows, window


@dataclass(frozen=True, slots=True)
class ConvAttrs:
    """Attributes of Conv.

    In the normal form every one is given, auto_pad is NOTSET, there are two spatial dimensions at least and no bias.
    """

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] | None = None
    group: int = 1
    kernel_shape: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


def conv_window(attrs: ConvAttrs, x: tuple[int, ...], w: tuple[int, ...]) -> Window:
    """Return the windows of a convolution of shapes X (batch, channels, spatial) and W (out channels, channels a group, kernel).

    Raises:
        ModelError: shapes and attributes do not fit together.
    """
    if len(x) < 3 or len(w) != len(x):
        raise ModelError(f"operands have shapes {list(x)} and {list(w)}; the specification requires batch, channels and spatial dimensions")
    if attrs.kernel_shape and attrs.kernel_shape != w[2:]:
        raise ModelError(f"kernel_shape is {list(attrs.kernel_shape)}, but operand 'W' has shape {list(w)}")
    if attrs.group < 1 or x[1] != w[1] * attrs.group or w[0] % attrs.group:
        raise ModelError(
            f"group is {attrs.group} for operands of shapes {list(x)} and {list(w)}; "
            "the specification requires channels = group × channels of 'W', and out channels that group divides"
        )
    return window(attrs, x[2:], w[2:])


def infer_convolution(inference: Inference, allowed: Collection[DType] = FLOATS) -> tuple[TensorType, ...]:
    """Return the type of a convolution of operands of the types ALLOWED.

    Raises:
        ModelError: operands and attributes do not fit together.
    """
    operand_count(inference, 2, 3)
    x, w = operand(inference, 0, "X", allowed), operand(inference, 1, "W", allowed)
    bias = optional_operand(inference, 2, "B", allowed)
    same_dtype(x, w, "W")
    same_dtype(x, bias, "B")
    if bias is not None and bias.static != w.static[:1]:
        raise ModelError(f"operand 'B' has shape {list(bias.static)}; the specification requires {list(w.static[:1])}")
    found = conv_window(inference.attrs, x.static, w.static)
    require_windows(inference, found)
    return (TensorType(x.dtype, (x.static[0], w.static[0], *found.results)),)


def evaluate_convolution(attrs: ConvAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    """Sum over kernel elements of matrix products."""
    x, w, bias = (*arrays, None)[:3]
    assert x is not None
    assert w is not None
    found = conv_window(attrs, x.shape, w.shape)
    batch, group, outputs = x.shape[0], attrs.group, w.shape[0]
    wide, weights = found.padded(widened(x), 0), widened(w).reshape(1, group, outputs // group, *w.shape[1:])
    windows = prod(found.results)
    result = np.zeros((batch, group, outputs // group, windows), wide.dtype)
    with np.errstate(all="ignore"):
        for place, seen in found.positions(wide):
            element: tuple[Any, ...] = (..., *place)
            result += weights[element] @ np.ascontiguousarray(seen).reshape(batch, group, w.shape[1], windows)
    result = result.reshape(batch, outputs, *found.results)
    if bias is not None:
        result = result + widened(bias).reshape(-1, *(1 for _ in found.results))
    return (stored(result, x),)


def normal_convolution(
    emitter: Emitter, attrs: ConvAttrs, operands: tuple[Value | None, ...], op: str = "Conv"
) -> tuple[Value | None, ...] | None:
    """Make the bias an addition, one spatial dimension two, and every attribute explicit."""
    x, w = operands[:2]
    assert x is not None
    assert w is not None
    found = conv_window(attrs, x.type.static, w.type.static)
    line = len(found.sizes) == 1
    one, zero = ((1,), (0,)) if line else ((), ())
    full = replace(
        attrs,
        auto_pad="NOTSET",
        kernel_shape=(*one, *found.kernel),
        strides=(*one, *found.strides),
        dilations=(*one, *found.dilations),
        pads=(*zero, *found.begin, *zero, *found.end),
    )
    return explicit_convolution(emitter, op, attrs, full, operands)


OPERATOR = Operator(
    name="Conv",
    infer=infer_convolution,
    evaluate=evaluate_convolution,
    lowering=Anchor("conv", prologue=(0,), slides_windows=True),
    source="ONNX 28, Conv-22",
    attributes=ConvAttrs,
    normalise=normal_convolution,
)
