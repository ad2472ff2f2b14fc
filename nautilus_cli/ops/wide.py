"""Casts inside decompositions: 16-bit floats are computed in float32 even where fusion later splits the steps."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import DType
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from nautilus_cli.ops.spec import Emitter


def cast(emitter: Emitter, value: Value, dtype: DType) -> Value:
    """Return VALUE in DTYPE, itself where it has it."""
    return value if value.type.dtype == dtype else emitter.node("Cast", [value], to=ONNX_NUMBERS[dtype])


def widen(emitter: Emitter, value: Value) -> Value:
    """Return VALUE in the type in which kernels compute it."""
    return cast(emitter, value, value.type.dtype.compute)


def scalar(emitter: Emitter, number: float, dtype: DType) -> Value:
    """Return a constant of rank 0."""
    return emitter.constant(np.array(number, dtype.numpy))


def reshape(emitter: Emitter, value: Value, shape: tuple[int, ...]) -> Value:
    """Return VALUE with another shape, itself where it has it."""
    if same(value.type.static, shape):
        return value
    return emitter.node("Reshape", [value, emitter.sizes(shape)], allowzero=1)


def scaled(emitter: Emitter, value: Value, factor: float) -> Value:
    """Return VALUE times FACTOR; where a 16-bit float cannot hold the factor, in float32 and rounded once."""
    dtype = value.type.dtype
    if factor == 1:
        return value
    exact = not dtype.is_float or float(np.array(factor, dtype.numpy)) == float(np.array(factor, dtype.compute.numpy))
    wide = value if exact else widen(emitter, value)
    return cast(emitter, emitter.node("Mul", [wide, scalar(emitter, factor, wide.type.dtype)]), dtype)
