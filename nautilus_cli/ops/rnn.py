"""RNN: the plain recurrent network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops import recurrent
from nautilus_cli.ops.recurrent import Layer
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator

_STATES = 1
_DEFAULT = ("Tanh", "Tanh")


@dataclass(frozen=True, slots=True)
class RNNAttrs:
    """Attributes of RNN; the default names two functions even where there is one direction."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] = _DEFAULT
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None
    layout: int = 0


def _layer(attrs: RNNAttrs) -> Layer:
    directions = 2 if attrs.direction == "bidirectional" else 1
    return Layer(
        cell="rnn",
        direction=attrs.direction,
        names=_DEFAULT[:directions] if attrs.activations == _DEFAULT else attrs.activations,
        alphas=attrs.activation_alpha,
        betas=attrs.activation_beta,
        clip=attrs.clip,
        layout=attrs.layout,
        hidden_size=attrs.hidden_size,
    )


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    return recurrent.infer(_layer(inference.attrs), inference, _STATES)


def _evaluate(attrs: RNNAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    return recurrent.evaluate(_layer(attrs), arrays, outputs)


def _build(emitter: Emitter, attrs: RNNAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    return recurrent.build(_layer(attrs), emitter, operands, _STATES)


OPERATOR = Operator(
    name="RNN",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, RNN-22",
    attributes=RNNAttrs,
    since=7,
)
