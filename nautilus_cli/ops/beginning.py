"""Beginning: a tensor of the first elements of another, in order. The frontend makes it where a branch fills a part of what there is."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.ir.index_map import from_strides
from nautilus_cli.ir.stages import row_major
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece


@dataclass(frozen=True, slots=True)
class BeginningAttrs:
    """Attributes of Beginning.

    Attributes:
        shape: of the result.
    """

    shape: tuple[int, ...] = ()


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (TensorType(operand(inference, 0, "X", STORABLE).dtype, inference.attrs.shape),)


def _evaluate(attrs: BeginningAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (first_of(arrays).reshape(-1)[: prod(attrs.shape)].reshape(attrs.shape),)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    shape = context.results[0].static
    return (Piece(0, from_strides(shape, row_major(shape))),)


OPERATOR = Operator(
    name="nautilus::Beginning",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="Nautilus's own: what a branch of ONNX 28, If-25, gives that has another shape than the other one",
    attributes=BeginningAttrs,
)
