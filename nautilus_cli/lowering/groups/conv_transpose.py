"""Transposed convolution: implicit matrix products over channels-last images, one for each phase of the output."""

from __future__ import annotations

from functools import partial
from math import gcd

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, compose, padded, permuted, regroup
from nautilus_cli.kernels.conv_transpose import Problem
from nautilus_cli.lowering.building.convolutions import convolution
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.operands import weight_expression
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.conv_transpose import ConvTransposeAttrs


def lower(lowering: Lowering) -> Lowered:
    """The operator in its normal form: explicit numbers for two or three spatial dimensions."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, ConvTransposeAttrs)
    return convolution(lowering, "conv_transpose", Problem, attrs, partial(_weights, lowering, attrs))


def class_walk(shape: tuple[int, ...], groups: int, strides: tuple[int, ...], dilations: tuple[int, ...]) -> IndexMap:
    """Return the map from (output channel over all groups, first tap, k) to the linear index of weights.

    Along each dimension the taps are padded to whole steps; tap number · step + first is what the kernel asks for.

    Args:
        shape: of the weights: [channels, out channels of a group, taps ...].
        groups: that share no channels.
        strides: of each dimension.
        dilations: of each dimension.
    """
    channels, outputs, *kernel = shape
    steps = [s // gcd(s, d) for s, d in zip(strides, dilations, strict=True)]
    counts = [-(-k // step) for k, step in zip(kernel, steps, strict=True)]
    rank = len(kernel)
    whole = (channels, outputs, *(n * step for n, step in zip(counts, steps, strict=True)))
    split = (groups, channels // groups, outputs, *(d for pair in zip(counts, steps, strict=True) for d in pair))
    numbers, firsts = [3 + 2 * i for i in range(rank)], [4 + 2 * i for i in range(rank)]
    walk = permuted(split, (0, 2, *firsts, *numbers, 1))
    walk = regroup(walk, [[0, 1], list(range(2, 2 + rank)), list(range(2 + rank, 3 + 2 * rank))])
    return walk if whole == shape else compose(walk, padded(shape, (0,) * len(shape), whole))


def _weights(lowering: Lowering, attrs: ConvTransposeAttrs, slots: Slots, weights: Value) -> Expression:
    """Return the expression of the weights as `class_walk` has them."""
    assert attrs.strides and attrs.dilations
    walk = class_walk(weights.type.static, attrs.group, attrs.strides, attrs.dilations)
    return weight_expression(lowering, slots, weights, walk, "conv_transpose_classes")
