"""Trilu: the upper or lower triangle of matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape, scalar


@dataclass(frozen=True, slots=True)
class TriluAttrs:
    """Attributes of Trilu."""

    upper: int = 1


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 2)
    x = operand(inference, 0, "input", ALL)
    diagonal = optional_operand(inference, 1, "k", (I64,))
    if len(x.shape) < 2:
        raise ModelError(f"operand 'input' has shape {list(x.shape)}; the specification requires rank 2 at least")
    if diagonal is not None and diagonal.elements != 1:
        raise ModelError(f"operand 'k' has shape {list(diagonal.static)}; the specification requires a scalar")
    return (x,)


def _mask(attrs: TriluAttrs, shape: tuple[int, ...], k: int) -> np.ndarray:
    """Return which elements of a matrix stay."""
    ones = np.ones(shape[-2:], bool)
    return np.triu(ones, k) if attrs.upper else np.tril(ones, k)


def _evaluate(attrs: TriluAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, k = (*arrays, None)[:2]
    assert x is not None
    return (np.where(_mask(attrs, x.shape, 0 if k is None else int(k.reshape(()))), x, np.zeros((), x.dtype)),)


def _build(emitter: Emitter, attrs: TriluAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, k = (*operands, None)[:2]
    assert x is not None
    shape = x.type.static
    if (k is None or k.constant is not None) and not any(map(is_symbolic, shape[-2:])):
        mask = emitter.constant(_mask(attrs, shape, 0 if k is None or k.constant is None else int(k.constant.reshape(()))))
    else:
        # The diagonal, or the shape, is known at run time: column - row, compared with the diagonal.
        rows = reshape(emitter, progression(emitter, shape[-2]), (shape[-2], 1))
        distance = emitter.node("Sub", [progression(emitter, shape[-1]), rows])
        diagonal = scalar(emitter, 0, I64) if k is None else reshape(emitter, k, ())
        mask = emitter.node("GreaterOrEqual" if attrs.upper else "LessOrEqual", [distance, diagonal])
    return (emitter.node("Where", [mask, x, scalar(emitter, 0, x.type.dtype)]),)


OPERATOR = Operator(
    name="Trilu",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Trilu-14",
    attributes=TriluAttrs,
    since=14,
)
