"""GRU."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ops.recurrent import Layer, layer_of, layer_operator


@dataclass(frozen=True, slots=True)
class GRUAttrs:
    """Attributes of GRU."""

    activation_alpha: tuple[float, ...] | None = None
    activation_beta: tuple[float, ...] | None = None
    activations: tuple[str, ...] | None = None
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None
    layout: int = 0
    linear_before_reset: int = 0


def _layer(attrs: GRUAttrs) -> Layer:
    return layer_of(attrs, "linear_gru" if attrs.linear_before_reset else "gru", ("Sigmoid", "Tanh"), layout=attrs.layout)


OPERATOR = layer_operator("GRU", GRUAttrs, _layer, states=1, source="ONNX 28, GRU-22")
