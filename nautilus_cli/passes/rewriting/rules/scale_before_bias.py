"""(Conv(x, w) + b) · s = Conv(x, w) · s + b · s: brings a scale next to the convolution, where it folds."""

from __future__ import annotations

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting.channels import as_channel_shape, is_overflow, per_channel
from nautilus_cli.passes.rewriting.rule import Surroundings


class ScaleBeforeBias:
    """Exchange a bias and the scale that follows it."""

    name = "scale_before_bias"
    pattern = "Mul(Add(Conv(x, w), b), s)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where b and s are constants of one number a channel, and nothing else reads what lies between."""
        if node.op != "Mul":
            return "not a multiplication"
        found = _parts(node, around)
        if found is None:
            return "no operand is a biased convolution that nothing else reads"
        conv, add, bias, scale = found
        shape = next(conv.results()).type.static
        offsets, factors = per_channel(bias, shape[1], len(shape)), per_channel(scale, shape[1], len(shape))
        if offsets is None or factors is None:
            return "bias or factor is not a constant of one number a channel"
        if is_overflow(offsets * factors, next(conv.results()).type.dtype.numpy):
            return "the scaled bias overflows"
        return conv, add, node

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Emit the convolution again, since its only reader goes."""
        found = _parts(node, around)
        assert found is not None
        conv, _, bias, scale = found
        result = next(conv.results())
        shape = result.type.static
        offsets, factors = per_channel(bias, shape[1], len(shape)), per_channel(scale, shape[1], len(shape))
        assert offsets is not None and factors is not None
        dtype = result.type.dtype.numpy
        scaled = emit.node(
            "Mul", (emit.node(conv.op, conv.inputs, conv.attrs), emit.constant(as_channel_shape(factors, len(shape), dtype)))
        )
        return emit.node("Add", (scaled, emit.constant(as_channel_shape(offsets * factors, len(shape), dtype))))


def _parts(node: Node, around: Surroundings) -> tuple[Node, Node, Value | None, Value | None] | None:
    for this, other in ((0, 1), (1, 0)):
        add = around.sole_producer(node.inputs[this], "Add")
        if add is None:
            continue
        for inner, bias in ((0, 1), (1, 0)):
            conv = around.sole_convolution(add.inputs[inner])
            if conv is not None:
                return conv, add, add.inputs[bias], node.inputs[other]
    return None


RULE = ScaleBeforeBias()
