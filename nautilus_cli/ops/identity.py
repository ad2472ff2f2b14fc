"""Identity."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, NoAttrs, Operator, Piece


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (operand(inference, 0, "input", STORABLE),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (x,) = required(arrays)
    return (x,)


def same_elements(context: MovementContext) -> tuple[Piece, ...]:
    """Return the one piece of an operator that only renames dimensions: the linear index stays."""
    return (Piece(0, identity(context.results[0].static)),)


OPERATOR = Operator(
    name="Identity",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(same_elements),
    source="ONNX 28, Identity-25",
)
