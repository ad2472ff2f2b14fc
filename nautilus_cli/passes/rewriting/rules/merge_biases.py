"""(x + b) + c = x + (b + c) for constants b and c."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.passes.rewriting.channels import is_overflow
from nautilus_cli.passes.rewriting.rule import Surroundings


class MergeBiases:
    """Add two constants at compile time."""

    name = "merge_biases"
    pattern = "Add(Add(x, b), c)"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply to floating-point sums whose inner sum nothing else reads."""
        if node.op != "Add" or not next(node.results()).type.dtype.is_float:
            return "not a floating-point addition"
        found = _parts(node, around)
        if found is None:
            return "not two additions of constants in a row"
        add, _x, b, c = found
        assert b.constant is not None and c.constant is not None
        if np.broadcast_shapes(b.constant.shape, c.constant.shape) not in (b.constant.shape, c.constant.shape):
            return "the sum of the constants would be larger than either"
        if is_overflow(_total(b, c), b.constant.dtype):
            return "the sum of the constants overflows"
        return add, node

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Add in float64 and round once."""
        found = _parts(node, around)
        assert found is not None
        _, x, b, c = found
        assert b.constant is not None and c.constant is not None
        return emit.node("Add", (x, emit.constant(_total(b, c).astype(b.constant.dtype))))


def _total(b: Value, c: Value) -> np.ndarray:
    assert b.constant is not None and c.constant is not None
    with np.errstate(invalid="ignore"):
        total: np.ndarray = b.constant.astype(np.float64) + c.constant.astype(np.float64)
    return total


def _parts(node: Node, around: Surroundings) -> tuple[Node, Value, Value, Value] | None:
    for this, other in ((0, 1), (1, 0)):
        c = node.inputs[other]
        add = around.sole_producer(node.inputs[this], "Add")
        if add is None or c is None or c.constant is None:
            continue
        for inner, bias in ((0, 1), (1, 0)):
            x, b = add.inputs[inner], add.inputs[bias]
            if x is not None and b is not None and b.constant is not None and x.constant is None:
                return add, x, b, c
    return None


RULE = MergeBiases()
