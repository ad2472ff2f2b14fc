"""Copy: stores its operand anew. Passes insert it; no ONNX model has it."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import STORABLE
from nautilus_cli.ops.spec import Cast, Inference, NoAttrs, Operator


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    return (operand(inference, 0, "input", STORABLE),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    (x,) = required(arrays)
    return (x,)


OPERATOR = Operator(
    name="nautilus::Copy",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Cast(),  # to the type that it has: computes nothing, but unlike movement it is a kernel's work
    source="Nautilus's own: what passes put where a tensor must be in memory",
)
