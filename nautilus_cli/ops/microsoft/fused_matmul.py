"""FusedMatMul: a matrix product of operands that are transposed on the way, times a number, and an activation of it."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required, same_dtype
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.matmul import product_shape
from nautilus_cli.ops.microsoft.activation import activated, check_activation
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import scaled


@dataclass(frozen=True, slots=True)
class TransposeMatMulAttrs:
    """Attributes of TransposeMatMul."""

    alpha: float = 1.0
    transA: int = 0  # noqa: N815 (onnxruntime's name)
    transB: int = 0  # noqa: N815 (onnxruntime's name)


@dataclass(frozen=True, slots=True)
class FusedMatMulAttrs(TransposeMatMulAttrs):
    """Attributes of FusedMatMul."""

    transBatchA: int = 0  # noqa: N815 (onnxruntime's name)
    transBatchB: int = 0  # noqa: N815 (onnxruntime's name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedMatMulActivationAttrs(FusedMatMulAttrs):
    """Attributes of FusedMatMulActivation."""

    activation: str
    activation_alpha: float | None = None
    activation_axis: int | None = None
    activation_beta: float | None = None
    activation_gamma: float | None = None


def _numbers(attrs: TransposeMatMulAttrs) -> tuple[float | None, ...]:
    """Return the numbers of the activation, if there is one."""
    if not isinstance(attrs, FusedMatMulActivationAttrs):
        return ()
    return attrs.activation_alpha, attrs.activation_beta, attrs.activation_gamma


def _permutation(rank: int, transposed: int, batch: int, name: str) -> tuple[int, ...]:
    """Return which dimension of the operand each dimension of the product's operand is.

    Batch dimensions are transposed with the one behind them: [m, batch..., k] becomes [batch..., m, k]. Vectors stay as they are.

    Raises:
        ModelError: batch dimensions are to be transposed and there are none.
    """
    if batch and rank < 3:
        raise ModelError(f"transBatch{name} is 1 for an operand of rank {rank}; the specification requires rank 3 at least")
    if rank < 2:
        return tuple(range(rank))
    order = [*range(1, rank - 1), 0, rank - 1] if batch else list(range(rank))
    if transposed:
        order[-2:] = order[:-3:-1]
    return tuple(order)


def _permutations(attrs: TransposeMatMulAttrs, a: TensorType, b: TensorType) -> tuple[tuple[int, ...], tuple[int, ...]]:
    batch = (attrs.transBatchA, attrs.transBatchB) if isinstance(attrs, FusedMatMulAttrs) else (0, 0)
    return (
        _permutation(len(a.shape), attrs.transA, batch[0], "A"),
        _permutation(len(b.shape), attrs.transB, batch[1], "B"),
    )


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    a, b = operand(inference, 0, "A", FLOATS), operand(inference, 1, "B", FLOATS)
    same_dtype(a, b, "B")
    if isinstance(inference.attrs, FusedMatMulActivationAttrs):
        check_activation(inference.attrs.activation, _numbers(inference.attrs))
    left, right = (tuple(t.static[axis] for axis in order) for t, order in zip((a, b), _permutations(inference.attrs, a, b), strict=True))
    return (TensorType(a.dtype, product_shape(left, right)),)


def _build(emitter: Emitter, attrs: TransposeMatMulAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    a, b = required(operands)
    sides = [
        value if order == tuple(sorted(order)) else emitter.node("Transpose", [value], perm=order)
        for value, order in zip((a, b), _permutations(attrs, a.type, b.type), strict=True)
    ]
    result = scaled(emitter, emitter.node("MatMul", sides), attrs.alpha)
    if isinstance(attrs, FusedMatMulActivationAttrs):
        result = activated(emitter, attrs.activation, _numbers(attrs), result)
    return (result,)


OPERATORS = (
    composed("com.microsoft::FusedMatMul", _infer, _build, source=source("FusedMatMul"), attributes=FusedMatMulAttrs),
    composed("com.microsoft::TransposeMatMul", _infer, _build, source=source("TransposeMatMul"), attributes=TransposeMatMulAttrs),
    composed(
        "com.microsoft::FusedMatMulActivation",
        _infer,
        _build,
        source=source("FusedMatMulActivation"),
        attributes=FusedMatMulActivationAttrs,
    ),
)
