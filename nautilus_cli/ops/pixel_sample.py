"""PixelSample: elements at places counted in elements, interpolated linearly. DeformConv is written in it; no ONNX model has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.grid_sample import GridSampleAttrs, sampled, sampled_type
from nautilus_cli.ops.spec import Anchor, Inference, NoAttrs, Operator


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    """Operands as those of GridSample: the last dimension's coordinate comes first."""
    operand_count(inference, 2, 2)
    return (sampled_type(operand(inference, 0, "X", FLOATS), operand(inference, 1, "places", FLOATS)),)


def _evaluate(_attrs: NoAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x, places = required(arrays)
    return (sampled(GridSampleAttrs(), x, places, are_pixels=True),)


OPERATOR = Operator(
    name="nautilus::PixelSample",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("grid_sample", prologue=(0, 1), keeps_order=True),
    source="Nautilus's own: linear GridSample whose places count elements; beyond the image there is zero",
)
