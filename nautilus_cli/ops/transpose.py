"""Transpose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.index_map import permuted
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece


@dataclass(frozen=True, slots=True)
class TransposeAttrs:
    """Attributes of Transpose; without `perm` the dimensions are reversed."""

    perm: tuple[int, ...] | None = None


def permutation(attrs: TransposeAttrs, rank: int) -> tuple[int, ...]:
    """Return the permutation as the attributes give it.

    Raises:
        ModelError: it is none of RANK dimensions.
    """
    if attrs.perm is None:
        return tuple(reversed(range(rank)))
    if sorted(attrs.perm) != list(range(rank)):
        raise ModelError(
            f"perm is {list(attrs.perm)}; for a tensor of rank {rank} the specification requires a permutation of its dimensions"
        )
    return attrs.perm


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    data = operand(inference, 0, "data", STORABLE)
    shape = data.static
    return (TensorType(data.dtype, tuple(shape[p] for p in permutation(inference.attrs, len(shape)))),)


def _evaluate(attrs: TransposeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (data,) = required(arrays)
    return (data.transpose(permutation(attrs, data.ndim)),)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    data = first_of(context.types)
    return (Piece(0, permuted(data.static, permutation(context.attrs, len(data.shape)))),)


OPERATOR = Operator(
    name="Transpose",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Transpose-25",
    attributes=TransposeAttrs,
)
