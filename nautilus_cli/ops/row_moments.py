"""RowMoments: statistics of parts of rows, left by the kernel that stores these. A pass makes it; no ONNX model has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import widened
from nautilus_cli.ops.spec import Anchor, Inference, Operator

FAMILY = "row_moments"
"""Of the groups of such nodes whose operand no product stores, which become row kernels."""

MOMENTS = 2
"""Numbers of a part: the mean, and the sum of squared deviations from it."""


@dataclass(frozen=True, slots=True)
class RowMomentsAttrs:
    """Attributes of RowMoments.

    Attributes:
        columns: neighbouring elements of a row that make a part.
    """

    columns: int


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", FLOATS)
    columns: int = inference.attrs.columns
    if not x.static or x.static[-1] % columns != 0:
        raise ModelError(f"takes moments of parts of {columns} columns of {list(x.static)}; whole parts are necessary")
    return (TensorType(F32, (*x.static[:-1], x.static[-1] // columns, MOMENTS)),)


def _evaluate(attrs: RowMomentsAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (x,) = required(arrays)
    parts = widened(x).reshape(*x.shape[:-1], x.shape[-1] // attrs.columns, attrs.columns)
    with np.errstate(all="ignore"):
        mean = parts.mean(-1, keepdims=True)
        squares = np.square(parts - mean).sum(-1)
    return (np.stack([mean[..., 0], squares], -1).astype(np.float32),)


OPERATOR = Operator(
    name="nautilus::RowMoments",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor(FAMILY, prologue=(), epilogue=False),
    source="Nautilus's own: partial sums of LayerNormalization-17",
    attributes=RowMomentsAttrs,
)
