"""Windows: what slides over the rows of a matrix, as a view. STFT is written in it; no ONNX model has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.index_map import from_strides
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, ranked
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsAttrs:
    """Attributes of Windows.

    Attributes:
        length: elements of a window.
        step: from window to window; they overlap where it is less than the length.
    """

    length: int
    step: int


def _count(attrs: WindowsAttrs, size: int) -> int:
    """Return how many whole windows a row has.

    Raises:
        ModelError: there is none.
    """
    if attrs.step < 1 or not 1 <= attrs.length <= upper(size):
        raise ModelError(f"windows of {attrs.length} in steps of {attrs.step} over rows of {size}")
    return maximum(0, size - attrs.length) // attrs.step + 1  # whoever writes it has a run make sure that one fits


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", ALL)
    rows, size = ranked(x, "X", 2)
    return (TensorType(x.dtype, (rows, _count(inference.attrs, size), inference.attrs.length)),)


def _evaluate(attrs: WindowsAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = np.lib.stride_tricks.sliding_window_view(x, attrs.length, 1)[:, :: attrs.step]
    return (found[:, : _count(attrs, x.shape[1])],)


def _pieces(context: MovementContext) -> tuple[Piece, ...]:
    size = first_of(context.types).static[1]
    return (Piece(0, from_strides(context.results[0].static, (size, context.attrs.step, 1))),)


OPERATOR = Operator(
    name="nautilus::Windows",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Movement(_pieces),
    source="Nautilus's own: the frames of ONNX 28, STFT-17",
    attributes=WindowsAttrs,
)
