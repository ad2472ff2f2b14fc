"""Pooling over all spatial dimensions, as a table: reductions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, NoAttrs, Operator
from nautilus_cli.ops.wide import cast, scalar, widen


@dataclass(frozen=True, slots=True)
class GlobalLpPoolAttrs:
    """Attributes of GlobalLpPool."""

    p: int = 2


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", FLOATS)
    if len(x.shape) < 3:
        raise ModelError(f"operand 'X' has shape {list(x.shape)}; the specification requires batch, channels and spatial dimensions")
    return (TensorType(x.dtype, (*x.static[:2], *(1 for _ in x.static[2:]))),)


def _spatial(rank: int) -> tuple[int, ...]:
    return tuple(range(2, rank))


def _power_mean(attrs: GlobalLpPoolAttrs, x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.sum(np.abs(x) ** attrs.p, axis=axes, keepdims=True) ** x.dtype.type(1 / attrs.p))


def _lp_steps(emitter: Emitter, attrs: GlobalLpPoolAttrs, x: Value, axes: tuple[int, ...]) -> Value:
    dtype = x.type.dtype
    powers = emitter.node("Pow", [emitter.node("Abs", [x]), scalar(emitter, attrs.p, dtype)])
    return emitter.node("Pow", [reduction(emitter, "ReduceSum", powers, axes), scalar(emitter, 1 / attrs.p, dtype)])


def _row(
    name: str,
    evaluate: Callable[[Any, np.ndarray, tuple[int, ...]], np.ndarray],
    steps: Callable[[Emitter, Any, Value, tuple[int, ...]], Value],
    attributes: type = NoAttrs,
) -> Operator:
    def truth(attrs: Any, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        x = first_of(arrays)
        return (stored(evaluate(attrs, widened(x), _spatial(x.ndim)), x),)

    def build(emitter: Emitter, attrs: Any, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        x = first_of(operands)
        return (cast(emitter, steps(emitter, attrs, widen(emitter, x), _spatial(len(x.type.shape))), x.type.dtype),)

    return Operator(
        name=name,
        infer=_infer,
        evaluate=truth,
        lowering=Decompose(build),
        source=f"ONNX 28, {name}-22",
        attributes=attributes,
        since=2 if name == "GlobalLpPool" else 1,
    )


OPERATORS = (
    _row(
        "GlobalAveragePool",
        lambda _, x, axes: np.asarray(np.sum(x, axis=axes, keepdims=True) / x.dtype.type(prod(x.shape[a] for a in axes))),
        lambda e, _, x, axes: reduction(e, "ReduceMean", x, axes),
    ),
    _row(
        "GlobalMaxPool",
        lambda _, x, axes: np.asarray(np.max(x, axis=axes, keepdims=True, initial=-np.inf)),
        lambda e, _, x, axes: reduction(e, "ReduceMax", x, axes),
    ),
    _row("GlobalLpPool", _power_mean, _lp_steps, GlobalLpPoolAttrs),
)
