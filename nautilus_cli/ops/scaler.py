"""Scaler of ai.onnx.ml: what scikit-learn's StandardScaler and MinMaxScaler are exported as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, F64, I32, I64, TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, ranked
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.spec import Emitter, Inference
from nautilus_cli.ops.wide import cast


@dataclass(frozen=True, slots=True)
class ScalerAttrs:
    """Attributes of Scaler."""

    offset: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    x = operand(inference, 0, "X", (F32, F64, I32, I64))
    features = ranked(x, "X", 1, 2)[-1]
    for name, values in (("offset", inference.attrs.offset), ("scale", inference.attrs.scale)):
        if len(values) not in (0, 1, features):
            raise ModelError(
                f"attribute '{name}' has {len(values)} values; for {features} features the specification allows 1 or {features}"
            )
    return (TensorType(F32, x.shape),)


def _build(emitter: Emitter, attrs: ScalerAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x = first_of(operands)
    stage = F64 if x.type.dtype == F64 else F32
    result = cast(emitter, x, stage)
    for op, values in (("Sub", attrs.offset), ("Mul", attrs.scale)):
        if values:
            result = emitter.node(op, [result, emitter.constant(np.array(values, np.float32).astype(stage.numpy))])
    return (cast(emitter, result, F32),)


OPERATOR = composed("ai.onnx.ml::Scaler", _infer, _build, source="ONNX 28, ai.onnx.ml.Scaler-1", attributes=ScalerAttrs)
