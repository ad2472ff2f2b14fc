"""OneHot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import rounded
from nautilus_cli.ir.dims import FloatElement, FloatOperation
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, I64, TensorType
from nautilus_cli.ops.checks import contents, integers, known, normal_axis, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL, NUMERIC
from nautilus_cli.ops.numbers import number, progression
from nautilus_cli.ops.operands import DEFAULT_MOST
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar

_COUNTS = tuple(dtype for dtype in NUMERIC if dtype != BF16)


@dataclass(frozen=True, slots=True)
class OneHotAttrs:
    """Attributes of OneHot."""

    axis: int = -1


def _depth(array: np.ndarray) -> int:
    if array.size == 1 and isinstance(element := array.reshape(-1)[0], FloatElement | FloatOperation):
        return rounded(element, "floor", 0, DEFAULT_MOST[0], "the depth of a OneHot")
    numbers = integers(array)
    if len(numbers) != 1 or numbers[0] < 0:
        raise ModelError(f"operand 'depth' is {array.tolist()}; the specification requires one number, not negative")
    return numbers[0]


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    indices, values = operand(inference, 0, "indices", _COUNTS), operand(inference, 2, "values", ALL)
    operand(inference, 1, "depth", _COUNTS)
    if values.static != (2,):
        raise ModelError(f"operand 'values' has shape {list(values.static)}; the specification requires [2]: off and on")
    axis = normal_axis(inference.attrs.axis, len(indices.shape) + 1)
    depth = _depth(contents(inference.constants, 1, "depth"))
    return (TensorType(values.dtype, (*indices.static[:axis], depth, *indices.static[axis:])),)


def _evaluate(attrs: OneHotAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    """An index outside [-depth, depth) gives a row of off values."""
    indices, depth_array, values = required(arrays)
    depth, axis = _depth(depth_array), normal_axis(attrs.axis, indices.ndim + 1)
    wide = np.expand_dims(indices.astype(np.int64), axis)
    places = np.arange(depth).reshape(depth, *(1 for _ in range(indices.ndim - axis)))
    return (np.where(np.where(wide < 0, wide + depth, wide) == places, values[1], values[0]),)


def _build(emitter: Emitter, attrs: OneHotAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Compare the indices with the places along the new axis, from its beginning and from its end."""
    indices, _, values = required(operands)
    shape = indices.type.static
    axis = normal_axis(attrs.axis, len(shape) + 1)
    depth = _depth(contents(known(operands), 1, "depth"))
    wide = reshape(emitter, cast(emitter, indices, I64), (*shape[:axis], 1, *shape[axis:]))
    places = reshape(emitter, progression(emitter, depth), (depth, *(1 for _ in shape[axis:])))
    distance = emitter.node("Sub", [wide, places])
    is_here = emitter.node("Equal", [distance, scalar(emitter, 0, I64)])
    is_here = emitter.node("Or", [is_here, emitter.node("Equal", [distance, number(emitter, -depth, I64)])])
    off, on = (reshape(emitter, emitter.node("Slice", [values], starts=(i,), ends=(i + 1,), axes=(0,)), ()) for i in (0, 1))
    return (emitter.node("Where", [is_here, on, off]),)


OPERATOR = Operator(
    name="OneHot",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, OneHot-28",
    attributes=OneHotAttrs,
    since=9,
)
