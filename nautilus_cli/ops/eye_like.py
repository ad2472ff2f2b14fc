"""EyeLike: ones on a diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import ALL, dtype_from_onnx
from nautilus_cli.ops.numbers import progression
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar


@dataclass(frozen=True, slots=True)
class EyeLikeAttrs:
    """Attributes of EyeLike."""

    dtype: int | None = None
    k: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    like = operand(inference, 0, "input", ALL)
    if len(like.shape) != 2:
        raise ModelError(f"operand 'input' has shape {list(like.shape)}; the specification requires a matrix")
    dtype = like.dtype if inference.attrs.dtype is None else dtype_from_onnx(inference.attrs.dtype)
    return (TensorType(dtype, like.shape),)


def _evaluate(attrs: EyeLikeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    like = first_of(arrays)
    dtype = dtype_of(like) if attrs.dtype is None else dtype_from_onnx(attrs.dtype)
    return (np.eye(like.shape[0], like.shape[1], attrs.k).astype(dtype.numpy),)


def _build(emitter: Emitter, attrs: EyeLikeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Compare places, where the shape is open; where it is known the contents are."""
    like = first_of(operands)
    rows, columns = like.type.static
    dtype = like.type.dtype if attrs.dtype is None else dtype_from_onnx(attrs.dtype)
    diagonal = emitter.node("Add", [reshape(emitter, progression(emitter, rows), (rows, 1)), scalar(emitter, attrs.k, I64)])
    return (cast(emitter, emitter.node("Equal", [diagonal, progression(emitter, columns)]), dtype),)


OPERATOR = Operator(
    name="EyeLike",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, EyeLike-22",
    attributes=EyeLikeAttrs,
    since=9,
)
