"""Conv(x, w) · s = Conv(x, s · w): a scale per output channel folds into the weights; of a transposed convolution as well."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting.channels import per_channel, rounded
from nautilus_cli.passes.rewriting.rule import Surroundings

WIDE_BYTES = 4
"""Types of at least this size have room for any factor that a trained network has."""


class ScaleIntoConv:
    """Fold the multiplication, as batch normalisation leaves it behind a convolution."""

    name = "scale_into_conv"
    pattern = "Mul(Conv(x, w), s)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where the convolution has constant weights and no other reader, and s is constant with one number a channel."""
        if node.op != "Mul":
            return "not a multiplication"
        found = _parts(node, around)
        if found is None:
            return "no operand is a convolution that nothing else reads"
        conv, scale = found
        weights = conv.inputs[1]
        if weights is None or weights.constant is None:
            return "the convolution's weights are not constant"
        shape = next(conv.results()).type.static
        if per_channel(scale, shape[1], len(shape)) is None:
            return "the factor is not a constant of one number a channel"
        if weights.constant.itemsize < WIDE_BYTES and rounded(_scaled(conv, scale), weights.constant.dtype) is None:
            return f"{weights.type.dtype} cannot hold the scaled weights"
        return conv, node

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Scale the weights in float64 and round once."""
        found = _parts(node, around)
        assert found is not None
        conv, scale = found
        weights = conv.inputs[1]
        assert weights is not None
        return emit.node(conv.op, (conv.inputs[0], emit.constant(_scaled(conv, scale).astype(weights.type.dtype.numpy))), conv.attrs)


def _scaled(conv: Node, scale: Value | None) -> np.ndarray:
    weights = conv.inputs[1]
    shape = next(conv.results()).type.static
    factors = per_channel(scale, shape[1], len(shape))
    assert weights is not None and weights.constant is not None and factors is not None
    with np.errstate(invalid="ignore"):
        scaled: np.ndarray = weights.constant.astype(np.float64) * _as_weights(conv.op, factors, weights.type.static)
    return scaled


def _as_weights(op: str, factors: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return one factor an output channel shaped to multiply weights; ConvTranspose has [channels, out channels of a group, ...]."""
    taps = (1,) * (len(shape) - 2)
    if op == "Conv":
        return factors.reshape(-1, 1, *taps)
    groups = len(factors) // shape[1]
    return np.repeat(factors.reshape(groups, shape[1]), shape[0] // groups, axis=0).reshape(*shape[:2], *taps)


def _parts(node: Node, around: Surroundings) -> tuple[Node, Value | None] | None:
    for this, other in ((0, 1), (1, 0)):
        conv = around.sole_convolution(node.inputs[this])
        if conv is not None:
            return conv, node.inputs[other]
    return None


RULE = ScaleIntoConv()
