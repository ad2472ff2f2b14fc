"""LSTM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops import recurrent
from nautilus_cli.ops.recurrent import Layer
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator

_STATES = 2


@dataclass(frozen=True, slots=True)
class LSTMAttrs:
    """Attributes of LSTM. As in onnxruntime, `clip` limits what the gates' activations take, not what the last function, h, takes."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] | None = None
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None
    input_forget: int = 0
    layout: int = 0


def _layer(attrs: LSTMAttrs) -> Layer:
    directions = 2 if attrs.direction == "bidirectional" else 1
    return Layer(
        cell="lstm",
        direction=attrs.direction,
        names=attrs.activations or ("Sigmoid", "Tanh", "Tanh") * directions,
        alphas=attrs.activation_alpha,
        betas=attrs.activation_beta,
        clip=attrs.clip,
        is_coupled=bool(attrs.input_forget),
        layout=attrs.layout,
        hidden_size=attrs.hidden_size,
    )


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    return recurrent.infer(_layer(inference.attrs), inference, _STATES)


def _evaluate(attrs: LSTMAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    return recurrent.evaluate(_layer(attrs), arrays, outputs)


def _build(emitter: Emitter, attrs: LSTMAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return recurrent.build(_layer(attrs), emitter, operands, _STATES)


OPERATOR = Operator(
    name="LSTM",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, LSTM-22",
    attributes=LSTMAttrs,
    since=7,
)
