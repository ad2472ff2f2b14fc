"""Hardmax: one at the first greatest element, zero elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.arg_key import require_elements
from nautilus_cli.ops.arg_reduce import arg_reduction
from nautilus_cli.ops.checks import first_of, normal_axis, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.precision import widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape


@dataclass(frozen=True, slots=True)
class HardmaxAttrs:
    """Attributes of Hardmax."""

    axis: int = -1


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "input", FLOATS)
    axis = normal_axis(inference.attrs.axis, len(x.shape))
    if x.elements:
        require_elements(x.static, axis)
    return (x,)


def _evaluate(attrs: HardmaxAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    result = np.zeros(x.shape, x.dtype)
    if x.size:
        np.put_along_axis(result, np.argmax(widened(x), axis=attrs.axis, keepdims=True), x.dtype.type(1), attrs.axis)
    return (result,)


def _build(emitter: Emitter, attrs: HardmaxAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    shape = x.type.static
    axis = normal_axis(attrs.axis, len(shape))
    if same(x.type.elements, 0):
        return (x,)
    places = reshape(emitter, progression(emitter, shape[axis]), (shape[axis], *(1 for _ in shape[axis + 1 :])))
    return (cast(emitter, emitter.node("Equal", [arg_reduction(emitter, x, axis), places]), x.type.dtype),)


OPERATOR = Operator(
    name="Hardmax",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Hardmax-13",
    attributes=HardmaxAttrs,
    since=13,
)
