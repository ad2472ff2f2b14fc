"""Where: choose between two operands by a third."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, TensorType
from nautilus_cli.ops.checks import broadcast_shape, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, NoAttrs, Operator, Pointwise


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    condition = operand(inference, 0, "condition", (BOOL,))
    x, y = operand(inference, 1, "X", ALL), operand(inference, 2, "Y", ALL)
    if x.dtype != y.dtype:
        raise ModelError(f"operands 'X' and 'Y' have types {x.dtype} and {y.dtype}; the specification requires one type")
    return (TensorType(x.dtype, broadcast_shape(condition.static, x.static, y.static, inference=inference)),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    condition, x, y = required(arrays)
    return (np.where(condition, x, y),)


OPERATOR = Operator(
    name="Where",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Pointwise("where"),
    source="ONNX 28, Where-16",
    since=9,
)
