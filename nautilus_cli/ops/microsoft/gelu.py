"""Gelu and its fusions with what stands before it, as a table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, DType, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, optional_operand, ranked, required, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.matmul import product_shape
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference, NoAttrs
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.ops.wide import cast, widen


@dataclass(frozen=True, slots=True)
class QuickGeluAttrs:
    """Attributes of QuickGelu."""

    alpha: float = 1.702


def _infer_unary(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (operand(inference, 0, "X", FLOATS),)


def _check_bias(x: TensorType, bias: TensorType | None, name: str) -> None:
    """A bias is a vector along the last dimension."""
    same_dtype(x, bias, name)
    if bias is not None and not x.shape:
        raise ModelError(f"operand '{name}' is given for a scalar; the specification requires rank 1 at least")
    shaped(bias, name, x.static[-1:])


def _infer_fast(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 2)
    x = operand(inference, 0, "X", FLOATS)
    _check_bias(x, optional_operand(inference, 1, "bias", FLOATS), "bias")
    return (x,)


def _infer_biased(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    a = operand(inference, 0, "A", FLOATS)
    _check_bias(a, operand(inference, 1, "B", FLOATS), "B")
    return (a,)


def _infer_split(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x = operand(inference, 0, "X", (F16, F32))
    shape = ranked(x, "X", 3)
    _check_bias(x, operand(inference, 1, "bias", (F16, F32)), "bias")
    if shape[-1] % 2:
        raise ModelError(f"operand 'X' has shape {list(shape)}; the specification requires an even last dimension")
    return (TensorType(x.dtype, (*shape[:-1], shape[-1] // 2)),)


def _infer_product(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    allowed: Collection[DType] = (F32, F16, BF16)
    x, w = operand(inference, 0, "X", allowed), operand(inference, 1, "W", allowed)
    same_dtype(x, w, "W")
    result = TensorType(x.dtype, product_shape(x.static, w.static))
    _check_bias(result, optional_operand(inference, 2, "bias", allowed), "bias")
    return (result,)


def gelu_of(emitter: Emitter, x: Value, bias: Value | None, approximate: str) -> Value:
    """Return the GELU of a sum, in the compute type."""
    wide = widen(emitter, x)
    if bias is not None:
        wide = emitter.node("Add", [wide, widen(emitter, bias)])
    return emitter.node("Gelu", [wide], approximate=approximate)


def _build_unary(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return (emitter.node("Gelu", [first_of(operands)]),)


def _build_fast(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, bias = first_of(operands), (*operands, None)[1]
    return (cast(emitter, gelu_of(emitter, x, bias, "tanh"), x.type.dtype),)


def _build_biased(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    a, b = required(operands)
    return (cast(emitter, gelu_of(emitter, a, b, "none"), a.type.dtype),)


def _build_quick(emitter: Emitter, attrs: QuickGeluAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return (emitter.node("Swish", [first_of(operands)], alpha=attrs.alpha),)


def _build_split(emitter: Emitter, _attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, bias = required(operands)
    wide = emitter.node("Add", [widen(emitter, x), widen(emitter, bias)])
    left, right = emitter.results("Split", [wide], 2, SplitAttrs(axis=-1))
    return (cast(emitter, emitter.node("Mul", [left, emitter.node("Gelu", [right])]), x.type.dtype),)


def _build_product(emitter: Emitter, attrs: NoAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, w, bias = (*operands, None)[:3]
    product = emitter.node("MatMul", [x, w])
    return _build_fast(emitter, attrs, (product, bias))


OPERATORS = (
    composed("com.microsoft::Gelu", _infer_unary, _build_unary, source=source("Gelu")),
    composed("com.microsoft::FastGelu", _infer_fast, _build_fast, source=source("FastGelu")),
    composed("com.microsoft::BiasGelu", _infer_biased, _build_biased, source=source("BiasGelu")),
    composed("com.microsoft::QuickGelu", _infer_unary, _build_quick, source=source("QuickGelu"), attributes=QuickGeluAttrs),
    composed("com.microsoft::BiasSplitGelu", _infer_split, _build_split, source=source("BiasSplitGelu")),
    composed("com.microsoft::GemmFastGelu", _infer_product, _build_product, source=source("GemmFastGelu")),
)
