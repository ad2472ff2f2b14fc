"""Gemm: alpha A B + beta C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import broadcast_shape, operand, operand_count, optional_operand, same_dtype
from nautilus_cli.ops.matmul import MULTIPLIABLE
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import scaled


@dataclass(frozen=True, slots=True)
class GemmAttrs:
    """Attributes of Gemm."""

    alpha: float = 1.0
    beta: float = 1.0
    transA: int = 0  # noqa: N815 (ONNX's name)
    transB: int = 0  # noqa: N815 (ONNX's name)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    a, b = operand(inference, 0, "A", MULTIPLIABLE), operand(inference, 1, "B", MULTIPLIABLE)
    c = optional_operand(inference, 2, "C", MULTIPLIABLE)
    same_dtype(a, b, "B")
    same_dtype(a, c, "C")
    attrs = inference.attrs
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise ModelError(f"multiplies shapes {list(a.shape)} and {list(b.shape)}; the specification requires matrices")
    rows, inner = reversed(a.static) if attrs.transA else a.static
    depth, columns = reversed(b.static) if attrs.transB else b.static
    if inner != depth:
        raise ModelError(f"the inner dimensions {inner} and {depth} differ", hint="A is m × k, B is k × n, after transA and transB.")
    if c is not None and broadcast_shape(c.static, (rows, columns)) != (rows, columns):
        raise ModelError(f"operand 'C' has shape {list(c.static)}; the specification requires one that broadcasts to {[rows, columns]}")
    if not a.dtype.is_float and not (attrs.alpha.is_integer() and attrs.beta.is_integer()):
        raise ModelError(f"alpha is {attrs.alpha} and beta is {attrs.beta} for {a.dtype}; only whole factors are supported for integers")
    return (TensorType(a.dtype, (rows, columns)),)


def _evaluate(attrs: GemmAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    a, b, c = (*arrays, None)[:3]
    assert a is not None
    assert b is not None
    left, right = widened(a.T if attrs.transA else a), widened(b.T if attrs.transB else b)
    kind = left.dtype.type
    with np.errstate(all="ignore"):
        result = kind(attrs.alpha) * (left @ right)
        if c is not None and attrs.beta != 0:  # then C is not read, as in BLAS: not even its NaNs
            result = result + kind(attrs.beta) * widened(c)
        return (stored(result, a),)


def _build(emitter: Emitter, attrs: GemmAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    a, b, c = (*operands, None)[:3]
    assert a is not None
    assert b is not None
    left = emitter.node("Transpose", [a], perm=(1, 0)) if attrs.transA else a
    right = emitter.node("Transpose", [b], perm=(1, 0)) if attrs.transB else b
    result = scaled(emitter, emitter.node("MatMul", [left, right]), attrs.alpha)
    if c is not None and attrs.beta != 0:
        result = emitter.node("Add", [result, scaled(emitter, c, attrs.beta)])
    return (result,)


OPERATOR = Operator(
    name="Gemm",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Gemm-13",
    attributes=GemmAttrs,
    since=7,
)
