"""TopK: the greatest or least elements along an axis, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.arg_key import ordered_bits
from nautilus_cli.ops.checks import contents, first_of, integers, normal_axis, operand, operand_count
from nautilus_cli.ops.element_types import NUMERIC
from nautilus_cli.ops.spec import Anchor, Inference, Operator


@dataclass(frozen=True, slots=True)
class TopKAttrs:
    """Attributes of TopK: before opset 10 the number was one. Results are sorted whether `sorted` asks for it or not."""

    axis: int = -1
    largest: int = 1
    sorted: int = 1
    k: int | None = None


def _count(attrs: TopKAttrs, constants: Sequence[np.ndarray | None], extent: int) -> int:
    """Return how many elements are asked for.

    Raises:
        ModelError: their number is not known, or more than there are.
    """
    given = (attrs.k,) if attrs.k is not None else integers(contents(constants, 1, "K"))
    if len(given) != 1 or not 0 <= given[0] <= upper(extent):
        raise ModelError(f"k is {list(given)}; the specification allows one number, 0 to {extent}")
    return given[0]


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 2)
    x = operand(inference, 0, "X", NUMERIC)
    if inference.attrs.k is None:
        operand(inference, 1, "K", (I64,))
    axis = normal_axis(inference.attrs.axis, len(x.shape))
    shape = list(x.static)
    count = _count(inference.attrs, inference.constants, shape[axis])
    inference.require(shape[axis] - count, 0, upper(shape[axis]), "how many elements are left of a line beyond the k")
    shape[axis] = count if upper(shape[axis]) else 0  # of lines of nothing, the run has made sure that nothing is asked for
    return (TensorType(x.dtype, tuple(shape)), TensorType(I64, tuple(shape)))


def _evaluate(attrs: TopKAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    """NaN is greater than everything, as in onnxruntime; the specification says nothing of it."""
    x = first_of(arrays)
    keys = ordered_bits(x)
    order = np.argsort(~keys if attrs.largest else keys, axis=attrs.axis, kind="stable")
    places = order.take(range(_count(attrs, arrays, x.shape[attrs.axis])), attrs.axis)
    return (np.take_along_axis(x, places, attrs.axis), places.astype(np.int64))


OPERATOR = Operator(
    name="TopK",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("top_k", prologue=(0,), results=2),
    source="ONNX 28, TopK-24",
    attributes=TopKAttrs,
)
