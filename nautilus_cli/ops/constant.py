"""Constant and ConstantOfShape."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ops.checks import contents, first_of, integers, operand, operand_count
from nautilus_cli.ops.spec import Decompose, Emitter, HostOnly, Inference, Operator


@dataclass(frozen=True, slots=True, eq=False)
class ConstantAttrs:
    """Attributes of Constant, of which one is given; sparse tensors and strings are not supported."""

    value: np.ndarray | None = None
    value_float: float | None = None
    value_floats: tuple[float, ...] | None = None
    value_int: int | None = None
    value_ints: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ConstantOfShapeAttrs:
    """Attributes of ConstantOfShape; without a value, a float32 zero."""

    value: np.ndarray | None = None


def _array(attrs: ConstantAttrs) -> np.ndarray:
    given = [field.name for field in fields(attrs) if getattr(attrs, field.name) is not None]
    if len(given) > 1:
        raise ModelError(f"holds {', '.join(given)}; the specification requires one of them")
    if attrs.value is not None:
        return attrs.value
    for number, kind in (
        (attrs.value_float, np.float32),
        (attrs.value_floats, np.float32),
        (attrs.value_int, np.int64),
        (attrs.value_ints, np.int64),
    ):
        if number is not None:
            return np.array(number, kind)
    raise ModelError(
        "holds no tensor and no numbers; the specification requires one value",
        hint="Sparse tensors and strings are not supported.",
    )


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 0, 0)
    array = _array(inference.attrs)
    return (TensorType(dtype_of(array), array.shape),)


def _evaluate(attrs: ConstantAttrs, _arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (_array(attrs),)


def _fill(attrs: ConstantOfShapeAttrs) -> np.ndarray:
    value = np.zeros(1, np.float32) if attrs.value is None else attrs.value
    if value.size != 1:
        raise ModelError(f"value has shape {list(value.shape)}; the specification requires one element")
    return value.reshape(())


def _infer_of_shape(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    shape = operand(inference, 0, "input", (I64,))
    if len(shape.shape) != 1:
        raise ModelError(f"operand 'input' has shape {list(shape.shape)}; the specification requires rank 1")
    sizes = integers(contents(inference.constants, 0, "input"))
    if any(size < 0 for size in sizes):
        raise ModelError(f"the requested shape is {list(sizes)}; the specification does not allow negative sizes")
    return (TensorType(dtype_of(_fill(inference.attrs)), sizes),)


def _evaluate_of_shape(attrs: ConstantOfShapeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (np.full(integers(first_of(arrays)), _fill(attrs)),)


def _build_of_shape(emitter: Emitter, attrs: ConstantOfShapeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return (emitter.node("Expand", [emitter.constant(_fill(attrs)), first_of(operands)]),)


OPERATORS = (
    Operator(
        name="Constant",
        infer=_infer,
        evaluate=_evaluate,
        lowering=HostOnly("a constant is data, not work"),
        source="ONNX 28, Constant-25",
        attributes=ConstantAttrs,
    ),
    Operator(
        name="ConstantOfShape",
        infer=_infer_of_shape,
        evaluate=_evaluate_of_shape,
        lowering=Decompose(_build_of_shape),
        source="ONNX 28, ConstantOfShape-25",
        attributes=ConstantOfShapeAttrs,
        since=9,
    ),
)
