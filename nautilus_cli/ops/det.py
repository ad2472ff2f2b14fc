"""Det: determinants of square matrices."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, NoAttrs, Operator
from nautilus_cli.ops.square import require_square


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", FLOATS)
    require_square(x, "X")
    return (TensorType(x.dtype, x.shape[:-2]),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    return (stored(np.linalg.det(widened(x)), x),)


OPERATOR = Operator(
    name="Det",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("elimination", prologue=(0,)),
    source="ONNX 28, Det-22",
    since=11,
)
