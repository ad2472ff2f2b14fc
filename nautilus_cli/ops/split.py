"""Split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.ir.functions import minimum
from nautilus_cli.ir.index_map import sliced
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import first_of, integers, normal_axis, operand, operand_count, optional_contents, optional_operand
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece


@dataclass(frozen=True, slots=True)
class SplitAttrs:
    """Attributes of Split; before opset 13 the sizes were one."""

    axis: int = 0
    num_outputs: int | None = None
    split: tuple[int, ...] | None = None


def _sizes(attrs: SplitAttrs, given: np.ndarray | None, size: int, outputs: int) -> tuple[int, ...]:
    """Return the extent of each result along the axis; without sizes, equal ones, the last smaller where they do not divide."""
    sizes = attrs.split if given is None else integers(given)
    if sizes is None:
        count = attrs.num_outputs or outputs
        if count != outputs:
            raise ModelError(f"num_outputs is {count}, but the node has {outputs} results")
        chunk = -(-size // count)
        if attrs.num_outputs is None and size % count:
            raise ModelError(
                f"splits a dimension of {size} into {count} equal results; the specification requires num_outputs or sizes for that"
            )
        if (count - 1) * chunk > size:
            raise ModelError(f"splits a dimension of {size} into {count} results of {chunk}; the last has less than nothing left")
        return tuple(minimum(chunk, size - i * chunk) for i in range(count))
    is_open = given is not None and any(map(is_symbolic, (*sizes, size)))
    if len(sizes) != outputs or any(part < 0 or (is_open and part > upper(size)) for part in sizes) or (not is_open and sum(sizes) != size):
        raise ModelError(
            f"splits a dimension of {size} into {list(sizes)} for {outputs} results; "
            "the specification requires one size a result, none negative, that add up to the dimension"
        )
    return sizes


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 2)
    data = operand(inference, 0, "input", ALL)
    optional_operand(inference, 1, "split", (I64,))
    shape = data.static
    axis = normal_axis(inference.attrs.axis, len(shape))
    given = optional_contents(inference.constants, inference.types, 1, "split")
    sizes = _sizes(inference.attrs, given, shape[axis], inference.outputs)
    inference.require(sum(sizes), shape[axis], shape[axis], f"the sum of the {len(sizes)} sizes")
    return tuple(TensorType(data.dtype, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes)


def _evaluate(attrs: SplitAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    data = first_of(arrays)
    axis = normal_axis(attrs.axis, data.ndim)
    sizes = _sizes(attrs, arrays[1] if len(arrays) > 1 else None, data.shape[axis], outputs)
    return tuple(np.split(data, np.cumsum(sizes)[:-1], axis))


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    data = first_of(context.types)
    rank = len(data.shape)
    axis = normal_axis(context.attrs.axis, rank)
    starts = [sum(r.static[axis] for r in context.results[: context.output]) if a == axis else 0 for a in range(rank)]
    return (Piece(0, sliced(data.static, starts, [1] * rank, context.results[context.output].static)),)


OPERATOR = Operator(
    name="Split",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="ONNX 28, Split-18",
    attributes=SplitAttrs,
    since=2,
)
