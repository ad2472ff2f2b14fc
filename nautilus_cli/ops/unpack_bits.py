"""Values of less than a byte, out of the bytes that hold several: what decompositions of operators with packed weights begin with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import U8, TensorType
from nautilus_cli.ops.checks import broadcast_shape, operand, operand_count, required
from nautilus_cli.ops.spec import Emitter, Inference, Operator, Pointwise
from nautilus_cli.ops.wide import reshape

UNPACK = "nautilus::UnpackBits"


@dataclass(frozen=True, slots=True)
class UnpackBitsAttrs:
    """Attributes of UnpackBits: the width of a value."""

    bits: int = 4


def unpacked(emitter: Emitter, packed: Value, bits: int, *, is_high_first: bool = False) -> Value:
    """Return the values in bytes of the last dimension, the first of a byte in its low bits, or in its high ones.

    Shapes: [..., n] to [..., n * 8 / bits].
    """
    if bits == 8:
        return packed
    shape = packed.type.static
    places = np.arange(0, 8, bits, dtype=np.uint8)
    shifts = emitter.constant(np.ascontiguousarray(places[::-1]) if is_high_first else places)
    values = emitter.node(UNPACK, [reshape(emitter, packed, (*shape, 1)), shifts], bits=bits)
    return reshape(emitter, values, (*shape[:-1], shape[-1] * 8 // bits))


def _mask(attrs: UnpackBitsAttrs) -> int:
    return (1 << attrs.bits) - 1


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    packed, shift = operand(inference, 0, "packed", (U8,)), operand(inference, 1, "shift", (U8,))
    return (TensorType(U8, broadcast_shape(packed.static, shift.static)),)


def _evaluate(attrs: UnpackBitsAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    packed, shift = required(arrays)
    return (packed >> shift & np.uint8(_mask(attrs)),)


OPERATOR = Operator(
    name=UNPACK,
    infer=_infer,
    evaluate=_evaluate,
    lowering=Pointwise("unpack_bits", lambda attrs, _: (_mask(attrs),)),
    source="onnxruntime 1.32, ContribOperators.md, com.microsoft::MatMulNBits-1: how B is packed",
    attributes=UnpackBitsAttrs,
)
