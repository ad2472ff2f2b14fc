"""Tile: repeat a tensor along its dimensions."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.index_map import IndexMap, simplify
from nautilus_cli.ir.stages import Axis, Stage, row_major
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import contents, first_of, integers, operand, operand_count, required, vector
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, NoAttrs, Operator, Piece


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data = operand(inference, 0, "input", ALL)
    operand(inference, 1, "repeats", (I64,))
    repeats = vector(contents(inference.constants, 1, "repeats"), "repeats")
    shape = data.static
    if len(repeats) != len(shape) or any(repeat < 0 for repeat in repeats):
        raise ModelError(f"repeats are {list(repeats)} for shape {list(shape)}; the specification requires one a dimension, none negative")
    return (TensorType(data.dtype, tuple(d * r for d, r in zip(shape, repeats, strict=True))),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    data, repeats = required(arrays)
    return (np.tile(data, integers(repeats)),)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    """A dimension becomes two digits: which repetition, with stride 0, and the place inside it."""
    data = first_of(context.types)
    repeats = vector(contents(context.constants, 1, "repeats"), "repeats")
    digits = tuple((Axis(r, 0), Axis(d, s)) for d, r, s in zip(data.static, repeats, row_major(data.static), strict=True))
    return (Piece(0, simplify(IndexMap((Stage(digits),)))),)


OPERATOR = Operator(
    name="Tile",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Tile-13",
    since=6,
)
