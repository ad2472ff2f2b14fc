"""MatMul."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I32, I64, U32, U64, TensorType
from nautilus_cli.ops.checks import broadcast_shape, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, NoAttrs, Operator
from nautilus_cli.ops.wide import reshape

MULTIPLIABLE = (*FLOATS, I32, I64, U32, U64)


def product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of numpy's matmul.

    Raises:
        ModelError: an operand is a scalar, or the inner dimensions differ.
    """
    if not a or not b:
        raise ModelError(f"multiplies shapes {list(a)} and {list(b)}; the specification requires rank 1 at least")
    left, right = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    if left[-1] != right[-2]:
        raise ModelError(f"multiplies shapes {list(a)} and {list(b)}: the inner dimensions {left[-1]} and {right[-2]} differ")
    rows = () if len(a) == 1 else (left[-2],)
    columns = () if len(b) == 1 else (right[-1],)
    return (*broadcast_shape(left[:-2], right[:-2]), *rows, *columns)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    a, b = operand(inference, 0, "A", MULTIPLIABLE), operand(inference, 1, "B", MULTIPLIABLE)
    same_dtype(a, b, "B")
    return (TensorType(a.dtype, product_shape(a.static, b.static)),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    a, b = required(arrays)
    with np.errstate(all="ignore"):
        return (stored(np.matmul(widened(a), widened(b)), a),)


def _normalise(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...] | None:
    """Make a vector a matrix of one row or column, and drop that dimension from the result."""
    a, b = required(operands)
    left, right = a.type.static, b.type.static
    if len(left) > 1 and len(right) > 1:
        return None
    matrices = [reshape(emitter, a, (1, *left) if len(left) == 1 else left), reshape(emitter, b, (*right, 1) if len(right) == 1 else right)]
    return (reshape(emitter, emitter.node("MatMul", matrices), product_shape(left, right)),)


OPERATOR = Operator(
    name="MatMul",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("gemm", prologue=(0, 1)),
    source="ONNX 28, MatMul-13",
    normalise=_normalise,
)
