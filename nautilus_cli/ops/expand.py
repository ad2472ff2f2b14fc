"""Expand: broadcast to a shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.index_map import broadcast
from nautilus_cli.ir.indicators import chosen, equal
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import broadcast_shape, contents, first_of, integers, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.operands import depends_on_values
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, NoAttrs, Operator, Piece


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    data = operand(inference, 0, "input", ALL)
    operand(inference, 1, "shape", (I64,))
    wanted = integers(contents(inference.constants, 1, "shape"))
    if any(map(depends_on_values, wanted)):
        return (TensorType(data.dtype, _open_shape(inference, data.static, wanted)),)
    return (TensorType(data.dtype, broadcast_shape(data.static, wanted)),)


def _open_shape(inference: Inference, shape: tuple[int, ...], wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the result where only the run knows what is wanted: of a size that is not 1, that is 1 or the size itself."""
    rank = max(len(shape), len(wanted))
    result = []
    for place, (size, asked) in enumerate(
        zip((1,) * (rank - len(shape)) + shape, (1,) * (rank - len(wanted)) + tuple(wanted), strict=True)
    ):
        if asked < 0:
            raise ModelError(f"the shape asks for {asked}: a size is not negative")
        is_one = equal(size, 1)
        unfit = (1 - is_one) * (1 - equal(asked, 1)) * (1 - equal(asked, size))
        inference.require(unfit, 0, 0, f"whether another size than 1 and that of the operand is asked for in dimension {place}")
        result.append(chosen(is_one, asked, size))
    return tuple(result)


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
