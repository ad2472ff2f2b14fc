"""Zero mean and unit variance over axes: what the normalisations share.

The variance is the mean of squares of the centred values, in two passes: the difference of two large means would cancel.
"""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import scalar


def standardized(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (x - mean) / sqrt(variance + epsilon), the mean, and 1 / sqrt(variance + epsilon), in X's type."""
    with np.errstate(all="ignore"):
        mean = np.asarray(np.mean(x, axis=axes, keepdims=True))
        centred = x - mean
        variance = np.asarray(np.mean(centred * centred, axis=axes, keepdims=True))
        inverse = x.dtype.type(1) / np.sqrt(variance + x.dtype.type(epsilon))
        return np.asarray(centred * inverse), mean, np.asarray(inverse)


def standardize(emitter: Emitter, x: Value, axes: tuple[int, ...], epsilon: float) -> tuple[Value, Value, Value]:
    """Emit what `standardized` computes, in X's type."""
    mean = reduction(emitter, "ReduceMean", x, axes)
    centred = emitter.node("Sub", [x, mean])
    variance = reduction(emitter, "ReduceMean", emitter.node("Mul", [centred, centred]), axes)
    inverse = emitter.node("Reciprocal", [emitter.node("Sqrt", [emitter.node("Add", [variance, scalar(emitter, epsilon, x.type.dtype)])])])
    return emitter.node("Mul", [centred, inverse]), mean, inverse


def scaled_to_unit(emitter: Emitter, x: Value, axes: tuple[int, ...], epsilon: float) -> tuple[Value, Value]:
    """Emit x / sqrt(mean of squares + epsilon) and 1 / sqrt(mean of squares + epsilon), in X's type."""
    square = reduction(emitter, "ReduceMean", emitter.node("Mul", [x, x]), axes)
    inverse = emitter.node("Reciprocal", [emitter.node("Sqrt", [emitter.node("Add", [square, scalar(emitter, epsilon, x.type.dtype)])])])
    return emitter.node("Mul", [x, inverse]), inverse
