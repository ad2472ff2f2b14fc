"""ArgMax and ArgMin: where the extreme value is.

The first NaN, with select_last_index the last, counts as extreme for both, as in numpy, by which ONNX's reference computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, U32, TensorType
from nautilus_cli.ops.arg_key import KEYED, require_elements
from nautilus_cli.ops.checks import first_of, normal_axis, operand, operand_count
from nautilus_cli.ops.element_types import NUMERIC
from nautilus_cli.ops.numbers import number, progression
from nautilus_cli.ops.precision import widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import reshape


@dataclass(frozen=True, slots=True)
class ArgReduceAttrs:
    """Attributes of ArgMax and ArgMin."""

    axis: int = 0
    keepdims: int = 1
    select_last_index: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    shape = operand(inference, 0, "data", NUMERIC).static
    axis = normal_axis(inference.attrs.axis, len(shape))
    require_elements(shape, axis)
    return (TensorType(I64, (*shape[:axis], *((1,) if inference.attrs.keepdims else ()), *shape[axis + 1 :])),)


def _evaluate_with(choose: Callable[..., Any]) -> Callable[[Any, tuple[np.ndarray | None, ...], int], tuple[np.ndarray, ...]]:
    def evaluate(attrs: ArgReduceAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        x = widened(first_of(arrays))
        if attrs.select_last_index:
            found = x.shape[attrs.axis] - 1 - choose(np.flip(x, attrs.axis), axis=attrs.axis, keepdims=bool(attrs.keepdims))
        else:
            found = choose(x, axis=attrs.axis, keepdims=bool(attrs.keepdims))
        return (np.asarray(found, np.int64),)

    return evaluate


def arg_reduction(emitter: Emitter, x: Value, axis: int, *, is_min: bool = False, selects_last: int = 0, keepdims: int = 1) -> Value:
    """Emit where along AXIS the extreme value is: one pass over keys where the type allows it, else two over the values.

    A second pass compares with the extreme that the first one found. For narrow types it would do as well, but it would lean on the
    same bits coming out of work that is fused into both passes.
    """
    size = x.type.static[axis]
    shape = (size, *(1 for _ in x.type.static[axis + 1 :]))
    if x.type.dtype in KEYED:
        places = reshape(emitter, progression(emitter, size, U32), shape)
        keys = emitter.node("nautilus::ArgKey", [x, places], is_min=int(is_min), selects_last=selects_last)
        return emitter.node(
            "nautilus::ArgIndex", [reduction(emitter, "ReduceMax", keys, (axis,), keepdims=keepdims)], selects_last=selects_last
        )
    found = emitter.node("Equal", [x, reduction(emitter, "ReduceMin" if is_min else "ReduceMax", x, (axis,))])
    if x.type.dtype.is_float:
        found = emitter.node("Or", [found, emitter.node("IsNaN", [x])])
    places = reshape(emitter, progression(emitter, size), shape)
    candidates = emitter.node("Where", [found, places, number(emitter, -1 if selects_last else size, I64)])
    return reduction(emitter, "ReduceMax" if selects_last else "ReduceMin", candidates, (axis,), keepdims=keepdims)


def _build_with(is_min: bool) -> Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...]]:
    def build(emitter: Emitter, attrs: ArgReduceAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
        x = first_of(operands)
        axis = normal_axis(attrs.axis, len(x.type.shape))
        last = int(bool(attrs.select_last_index))
        return (arg_reduction(emitter, x, axis, is_min=is_min, selects_last=last, keepdims=attrs.keepdims),)

    return build


OPERATORS = tuple(
    Operator(
        name=name,
        infer=_infer,
        evaluate=_evaluate_with(choose),
        lowering=Decompose(_build_with(is_min)),
        source=f"ONNX 28, {name}-13",
        attributes=ArgReduceAttrs,
    )
    for name, choose, is_min in (("ArgMax", np.argmax, False), ("ArgMin", np.argmin, True))
)
