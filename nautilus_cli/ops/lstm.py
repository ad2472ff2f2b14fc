"""LSTM."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ops.recurrent import Layer, layer_of, layer_operator

FUNCTIONS = ("Sigmoid", "Tanh", "Tanh")
"""Of the gates, the cell and the hidden state."""


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
    return layer_of(attrs, "lstm", FUNCTIONS, layout=attrs.layout, is_coupled=bool(attrs.input_forget))


OPERATOR = layer_operator("LSTM", LSTMAttrs, _layer, states=2, source="ONNX 28, LSTM-22")
