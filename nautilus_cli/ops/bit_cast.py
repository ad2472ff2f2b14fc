"""BitCast: the same bits as another type; between floating point and integers by way of the unsigned integer of that width.

What lies in memory keeps every bit. Only of a float of less than 32 bits that is computed in the same kernel the bits are taken from the
float32 in which it is held there: then a NaN is the one that conversion gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import DTYPES, U8, U16, U32, U64, DType, TensorType
from nautilus_cli.ops.cast import converted
from nautilus_cli.ops.checks import first_of, operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE, dtype_from_onnx
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, NoAttrs, Operator, Pointwise
from nautilus_cli.ops.wide import cast

_UNSIGNED = {8: U8, 16: U16, 32: U32, 64: U64}
_FLOATS = tuple(d for d in DTYPES.values() if d.is_float)


@dataclass(frozen=True, slots=True)
class BitCastAttrs:
    """Attributes of BitCast."""

    to: int


def _holder(dtype: DType) -> DType:
    """Return the unsigned integer that holds the bits of a type."""
    return _UNSIGNED[max(8, dtype.bits)]


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x, target = operand(inference, 0, "input", STORABLE), dtype_from_onnx(inference.attrs.to)
    if x.dtype.bits != target.bits:
        raise ModelError(
            f"reinterprets {x.dtype}, of {x.dtype.bits} bits, as {target}, of {target.bits}; the specification requires one width"
        )
    return (TensorType(target, x.shape),)


def _evaluate(attrs: BitCastAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (x,) = required(arrays)
    target = dtype_from_onnx(attrs.to)
    codes = np.ascontiguousarray(x).reshape(-1).view(_holder(target).numpy)
    return ((codes != 0 if target.kind == "bool" else codes.view(target.numpy)).reshape(x.shape),)


def _build(emitter: Emitter, attrs: BitCastAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Casts between integers of one width keep the bits, since they wrap."""
    x = first_of(operands)
    source, target = x.type.dtype, dtype_from_onnx(attrs.to)
    if source == target:
        return (emitter.node("Identity", [x]),)
    holder = _holder(source)
    bits = emitter.node(f"nautilus::BitsOf{source}", [x]) if source.is_float else cast(emitter, x, holder)
    if target.is_float:
        return (emitter.node(f"nautilus::FromBits{target}", [bits]),)
    return (cast(emitter, bits, target),)


def _only(allowed: tuple[DType, ...], result: DType, inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (TensorType(result, operand(inference, 0, "input", allowed).shape),)


def _bits(dtype: DType) -> Operator:
    """Return the operator from a float, or its compute type, to its bits."""

    def evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        (x,) = required(arrays)
        return (converted(np.asarray(x), dtype).reshape(-1).view(_holder(dtype).numpy).reshape(x.shape),)

    return _row(f"nautilus::BitsOf{dtype}", f"bits_of_{dtype}", partial(_only, (dtype, dtype.compute), _holder(dtype)), evaluate)


def _from_bits(dtype: DType) -> Operator:
    """Return the operator from bits to a float."""

    def evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
        (x,) = required(arrays)
        codes = x & x.dtype.type((1 << dtype.bits) - 1)
        return (np.ascontiguousarray(codes).reshape(-1).view(dtype.numpy).reshape(x.shape),)

    return _row(f"nautilus::FromBits{dtype}", f"from_bits_{dtype}", partial(_only, (_holder(dtype),), dtype), evaluate)


def _row(
    name: str, function: str, infer: Callable[[Inference], tuple[TensorType, ...]], evaluate: Callable[..., tuple[np.ndarray, ...]]
) -> Operator:
    return Operator(
        name=name,
        infer=infer,
        evaluate=evaluate,
        lowering=Pointwise(function, reinterprets=True),
        source="ONNX 28, BitCast-26: a part of it",
    )


OPERATORS = (
    Operator(
        name="BitCast",
        infer=_infer,
        evaluate=_evaluate,
        lowering=Decompose(_build),
        source="ONNX 28, BitCast-26",
        attributes=BitCastAttrs,
        since=26,
    ),
    *map(_bits, _FLOATS),
    *map(_from_bits, _FLOATS),
)
