"""LSTM."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ops.recurrent import Layer, layer_operator


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


OPERATOR = layer_operator("LSTM", LSTMAttrs, _layer, states=2, source="ONNX 28, LSTM-22")
