"""Expand: broadcast to a shape."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import broadcast
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import broadcast_shape, contents, first_of, integers, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, NoAttrs, Operator, Piece


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data = operand(inference, 0, "input", ALL)
    operand(inference, 1, "shape", (I64,))
    return (TensorType(data.dtype, broadcast_shape(data.static, integers(contents(inference.constants, 1, "shape")))),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, shape = required(arrays)
    return (np.broadcast_to(data, broadcast_shape(data.shape, integers(shape))),)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    data = first_of(context.types)
    return (Piece(0, broadcast(data.static, context.results[0].static)),)


OPERATOR = Operator(
    name="Expand",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Expand-13",
    since=8,
)
