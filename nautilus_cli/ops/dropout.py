"""Dropout at inference: the identity, and a mask of true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, optional_operand
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator


@dataclass(frozen=True, slots=True)
class DropoutAttrs:
    """Attributes of Dropout; `ratio` was one before opset 12."""

    seed: int | None = None
    ratio: float = 0.5


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 3)
    x = operand(inference, 0, "data", FLOATS)
    optional_operand(inference, 1, "ratio", FLOATS)
    if optional_operand(inference, 2, "training_mode", (BOOL,)) is not None:
        training = inference.constants[2]
        ratio = inference.constants[1]
        if (training is None or training.any()) and (ratio is None or ratio.any()):
            raise ModelError("training_mode is not known to be false; only inference is supported")
    return (x, TensorType(BOOL, x.shape))[: inference.outputs]


def _evaluate(_attrs: DropoutAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    return (x, np.ones(x.shape, bool))[:outputs]


def _build(emitter: Emitter, _attrs: DropoutAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    return (emitter.node("Identity", [x]), emitter.constant(np.ones(x.type.static, bool)))


OPERATOR = Operator(
    name="Dropout",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Dropout-22",
    attributes=DropoutAttrs,
    since=7,
)
