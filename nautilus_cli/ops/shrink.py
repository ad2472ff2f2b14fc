"""Shrink: towards 0 by a bias, and to 0 within a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, F64
from nautilus_cli.ops.cast import CastAttrs
from nautilus_cli.ops.checks import first_of
from nautilus_cli.ops.element_types import INTEGERS, ONNX_NUMBERS
from nautilus_cli.ops.pointwise import pointwise
from nautilus_cli.ops.spec import Emitter


@dataclass(frozen=True, slots=True)
class ShrinkAttrs:
    """Attributes of Shrink."""

    bias: float = 0.0
    lambd: float = 0.5


def _evaluate(attrs: ShrinkAttrs, x: np.ndarray) -> np.ndarray:
    return np.where(x < -attrs.lambd, x + attrs.bias, np.where(x > attrs.lambd, x - attrs.bias, x.dtype.type(0)))


def _normalise(emitter: Emitter, attrs: ShrinkAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """Integers are shrunk in float64, since bias and threshold need not be whole."""
    x = first_of(operands)
    if x.type.dtype.is_float:
        return None
    wide = emitter.node("Cast", [x], CastAttrs(ONNX_NUMBERS[F64]))
    return (emitter.node("Cast", [emitter.node("Shrink", [wide], attrs)], CastAttrs(ONNX_NUMBERS[x.type.dtype])),)


OPERATOR = replace(
    pointwise(
        "Shrink",
        "shrink",
        _evaluate,
        version=9,
        since=9,
        allowed=(F16, F32, F64, *INTEGERS),
        attributes=ShrinkAttrs,
        constants=lambda attrs, _: (attrs.bias, attrs.lambd),
    ),
    normalise=_normalise,
)
