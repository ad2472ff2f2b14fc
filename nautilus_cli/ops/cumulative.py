"""CumSum and CumProd: what the elements along an axis up to each of them add or multiply to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, I64, U32, U64, TensorType
from nautilus_cli.ops.checks import integers, normal_axis, operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS, INDICES
from nautilus_cli.ops.open_axes import line_shape
from nautilus_cli.ops.operands import UnknownContentsError
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, Operator
from nautilus_cli.ops.view import view

_ALLOWED = (*FLOATS, I32, I64, U32, U64)


@dataclass(frozen=True, slots=True)
class CumulativeAttrs:
    """Attributes of CumSum and CumProd."""

    exclusive: int = 0
    reverse: int = 0


def cumulative_axis(constants: Sequence[np.ndarray | None], rank: int) -> int:
    """Return the axis from the front; of a vector there is only one, whatever the operand's contents.

    Raises:
        ModelError: its operand is not known at compile time, is no single number, or is out of range.
    """
    given = constants[1] if len(constants) > 1 else None
    if given is None:
        if rank == 1:
            return 0
        raise UnknownContentsError(1, "axis")
    if given.size != 1:
        raise ModelError(f"operand 'axis' has shape {list(given.shape)}; the specification requires one number")
    return normal_axis(integers(given)[0], rank)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x = operand(inference, 0, "x", _ALLOWED)
    operand(inference, 1, "axis", INDICES)
    cumulative_axis(inference.constants, len(x.shape))
    return (x,)


def _evaluate_with(
    accumulate: Callable[..., Any], identity: int
) -> Callable[[Any, tuple[np.ndarray | None, ...], int], tuple[np.ndarray, ...]]:
    def evaluate(attrs: CumulativeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        x, axis_array = required(arrays)
        axis = cumulative_axis((None, axis_array), x.ndim)
        wide = widened(x)
        wide = np.flip(wide, axis) if attrs.reverse else wide
        with np.errstate(all="ignore"):
            result = accumulate(wide, axis=axis, dtype=wide.dtype)
        if attrs.exclusive and x.shape[axis]:
            first = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), identity, wide.dtype)
            result = np.concatenate([first, result.take(range(x.shape[axis] - 1), axis)], axis)
        return (stored(np.flip(result, axis) if attrs.reverse else result, x),)

    return evaluate


def _with_known_axis(
    emitter: Emitter, op: str, attrs: CumulativeAttrs, operands: tuple[Value | None, ...]
) -> tuple[Value | None, ...] | None:
    """Write it along the second of three dimensions, whose sizes the run knows, where only that knows the axis; None where it is known."""
    x, given = required(operands)
    shape = x.type.static
    if given.contents is None or len(shape) < 2:
        return None
    lines = view(emitter, x, line_shape(shape, cumulative_axis((None, given.contents), len(shape))))
    return (view(emitter, emitter.node(op, [lines, emitter.constant(np.array(1, np.int64))], attrs), shape),)


def _normaliser(op: str) -> Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...] | None]:
    return lambda emitter, attrs, operands: _with_known_axis(emitter, op, attrs, operands)


OPERATORS = tuple(
    Operator(
        name=name,
        infer=_infer,
        evaluate=_evaluate_with(accumulate, identity),
        lowering=Anchor("scan", prologue=(0,)),
        source=f"ONNX 28, {name}-{version}",
        attributes=CumulativeAttrs,
        since=since,
        normalise=_normaliser(name),
    )
    for name, version, since, accumulate, identity in (("CumSum", 14, 11, np.cumsum, 0), ("CumProd", 26, 26, np.cumprod, 1))
)
