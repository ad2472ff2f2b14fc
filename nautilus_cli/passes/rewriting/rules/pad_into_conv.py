"""Conv(Pad(x)) = Conv(x) with more padding, where Pad adds zeros around the image: exports of frameworks that pad on one side have it."""

from __future__ import annotations

from dataclasses import replace

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.conv import ConvAttrs
from nautilus_cli.ops.pad import PadAttrs, amounts
from nautilus_cli.passes.rewriting.rule import Surroundings


class PadIntoConv:
    """Let the convolution step over the edge itself."""

    name = "pad_into_conv"
    pattern = "Conv(Pad(x), w)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where nothing else reads the padded image, and it is padded with zeros in height and width only."""
        if node.op != "Conv":
            return "not a convolution"
        pad = around.sole_producer(node.inputs[0], "Pad")
        if pad is None:
            return "the image is not padded for this convolution alone"
        attrs = pad.attrs
        assert isinstance(attrs, PadAttrs)
        if attrs.mode != "constant" or not _is_zero(pad, attrs):
            return "the padding is not of zeros"
        before, after = _amounts(pad)
        if any(before[:2]) or any(after[:2]):
            return "batch or channels are padded"
        if min(*before, *after) < 0:
            return "the padding crops"
        return pad, node

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Add both amounts of padding."""
        pad = around.sole_producer(node.inputs[0], "Pad")
        attrs = node.attrs
        assert pad is not None and isinstance(attrs, ConvAttrs)
        before, after = _amounts(pad)
        more = (*before[2:], *after[2:])
        pads = tuple(a + b for a, b in zip(attrs.pads or (0,) * len(more), more, strict=True))
        return emit.node("Conv", (pad.inputs[0], *node.inputs[1:]), replace(attrs, pads=pads))


def _is_zero(pad: Node, attrs: PadAttrs) -> bool:
    value = pad.inputs[2] if len(pad.inputs) > 2 else None
    if value is None:
        return attrs.value == 0
    return value.constant is not None and not value.constant.any()


def _amounts(pad: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
    attrs = pad.attrs
    assert isinstance(attrs, PadAttrs)
    constants = [None if v is None else v.constant for v in pad.inputs]
    types = [None if v is None else v.type for v in pad.inputs]
    return amounts(attrs, constants, types, len(next(pad.results()).type.shape))


RULE = PadIntoConv()
