"""LRN: local response normalisation over neighbouring channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar, widen


@dataclass(frozen=True, slots=True)
class LRNAttrs:
    """Attributes of LRN."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", FLOATS)
    if len(x.shape) < 3 or inference.attrs.size < 1:
        raise ModelError(
            f"operand 'X' has shape {list(x.shape)} and size is {inference.attrs.size}; "
            "the specification requires batch, channels and spatial dimensions, and a positive size"
        )
    return (x,)


def _reach(attrs: LRNAttrs) -> tuple[int, int]:
    """Return how many channels before and after an element count."""
    return (attrs.size - 1) // 2, attrs.size // 2


def _evaluate(attrs: LRNAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    wide = widened(x)
    kind = wide.dtype.type
    channels = x.shape[1]
    padded = np.pad(wide * wide, [_reach(attrs) if a == 1 else (0, 0) for a in range(x.ndim)])
    total = np.asarray(sum(padded[:, i : i + channels] for i in range(attrs.size)))
    return (stored(wide / (kind(attrs.bias) + kind(attrs.alpha / attrs.size) * total) ** kind(attrs.beta), x),)


def _build(emitter: Emitter, attrs: LRNAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """The sum over channels is an average pool over (channels, everything behind them), times its size."""
    x = first_of(operands)
    if same(x.type.elements, 0):
        return (x,)
    wide = widen(emitter, x)
    dtype = wide.type.dtype
    shape = x.type.static
    batch, channels = shape[:2]
    rest = x.type.elements // max(1, batch * channels)
    before, after = _reach(attrs)
    plane = reshape(emitter, emitter.node("Mul", [wide, wide]), (batch, 1, channels, rest))
    average = emitter.node("AveragePool", [plane], kernel_shape=(attrs.size, 1), pads=(before, 0, after, 0), count_include_pad=1)
    total = emitter.node("Mul", [reshape(emitter, average, shape), scalar(emitter, attrs.alpha, dtype)])
    base = emitter.node("Add", [total, scalar(emitter, attrs.bias, dtype)])
    result = emitter.node("Div", [wide, emitter.node("Pow", [base, scalar(emitter, attrs.beta, dtype)])])
    return (cast(emitter, result, x.type.dtype),)


OPERATOR = Operator(
    name="LRN",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, LRN-13",
    attributes=LRNAttrs,
)
