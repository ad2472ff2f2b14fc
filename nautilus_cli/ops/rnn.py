"""RNN: the plain recurrent network."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nautilus_cli.ops.recurrent import Layer, layer_of, layer_operator

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
    named = attrs if attrs.activations != _DEFAULT else replace(attrs, activations=())
    return layer_of(named, "rnn", _DEFAULT[:1], layout=attrs.layout)


OPERATOR = layer_operator("RNN", RNNAttrs, _layer, states=1, source="ONNX 28, RNN-22")
