"""Concat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.index_map import padded
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import normal_axis, operand, operand_count, same_dtype
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece


@dataclass(frozen=True, slots=True)
class ConcatAttrs:
    """Attributes of Concat."""

    axis: int


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, None)
    types = tuple(operand(inference, i, f"inputs_{i}", ALL) for i in range(len(inference.types)))
    shape = types[0].static
    axis = normal_axis(inference.attrs.axis, len(shape))
    for index, other in enumerate(types[1:], 1):
        same_dtype(types[0], other, f"inputs_{index}")
        if len(other.static) != len(shape) or any(a != axis and d != e for a, (d, e) in enumerate(zip(shape, other.static, strict=True))):
            shapes = ", ".join(str(list(t.static)) for t in types)
            raise ModelError(f"joins shapes {shapes} along axis {axis}; the specification requires them equal in every other dimension")
    return (TensorType(types[0].dtype, (*shape[:axis], sum(t.static[axis] for t in types), *shape[axis + 1 :])),)


def _evaluate(attrs: ConcatAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (np.concatenate([a for a in arrays if a is not None], attrs.axis),)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    """One guarded piece an operand that is not empty; the last one's guard always holds where the others' do not."""
    extents = context.results[0].static
    axis = normal_axis(context.attrs.axis, len(extents))
    pieces, before = [], 0
    for index, operand_type in enumerate(context.types):
        assert operand_type is not None
        shape = operand_type.static
        if not same(shape[axis], 0):
            pieces.append(Piece(index, padded(shape, [before if a == axis else 0 for a in range(len(shape))], extents)))
        before += shape[axis]
    return tuple(pieces) or (Piece(0, padded(extents, [0] * len(extents), extents)),)


OPERATOR = Operator(
    name="Concat",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Concat-13",
    attributes=ConcatAttrs,
    since=4,
)
