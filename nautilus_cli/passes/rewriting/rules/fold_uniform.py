"""f(Slice(k), c) = Expand(c'), where f of the constants k and c is one number throughout: whatever part a run takes, it is known.

So is the causal mask of attention that is not causal: places of an open number of tokens, all of which are at least 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.movement import is_transparent, step_through
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Pointwise
from nautilus_cli.passes.rewriting.rule import Surroundings

MOST_ELEMENTS = 1 << 20
"""Of a constant that is looked at."""


@dataclass(frozen=True, slots=True)
class _Elements:
    """What an operand takes its elements from; one element where all are equal."""

    elements: np.ndarray
    is_part: bool


class FoldUniform:
    """Compute when compiling what does not depend on how much of a constant a run uses."""

    name = "fold_uniform"
    pattern = "GreaterOrEqual(Slice(k), c), or any other pointwise operator on parts of constants"

    def check(self, node: Node, around: Surroundings) -> tuple[Node, ...] | str:
        """Apply where all operands are constants or movement of constants, and the result is the same for all elements of those."""
        found = _value(node, around)
        return found if isinstance(found, str) else (node,)

    def rewrite(self, node: Node, around: Surroundings, emit: GraphBuilder) -> Value:
        """Repeat the value."""
        value = _value(node, around)
        assert not isinstance(value, str)
        return emit.node("Expand", (emit.constant(value), emit.sizes(next(node.results()).type.static)))


def _value(node: Node, around: Surroundings) -> np.ndarray | str:
    """Return the one element that the result of a node repeats, as a scalar; else why there is none."""
    operator = operators()[node.op]
    if not isinstance(operator.lowering, Pointwise | Cast) or len(list(node.results())) != 1:
        return "not a pointwise operator of one result"
    operands = [None if operand is None else _elements(operand, around) for operand in node.inputs]
    if any(operand is not None and found is None for operand, found in zip(node.inputs, operands, strict=True)):
        return "an operand is no constant, and no movement of one"
    found = [operand for operand in operands if operand is not None]
    if not any(operand.is_part for operand in found):
        return "nothing depends on the run"
    if sum(operand.elements.size > 1 for operand in found) > 1:
        return "two operands have elements that differ"
    arrays = [None if operand is None else operand.elements for operand in operands]
    (result,) = evaluate_operator(operator, node.attrs, arrays, 1)
    flat = result.reshape(-1)
    if not _are_equal(flat):
        return "the result is not the same for all elements"
    return flat[:1].reshape(())


def _elements(operand: Value, around: Surroundings) -> _Elements | None:
    source = operand
    while source.constant is None and (producer := around.producers.get(source)) is not None and is_transparent(producer):
        source, _ = step_through(producer, source)
    elements = source.constant
    if elements is None or elements.dtype == object or not 1 <= elements.size <= MOST_ELEMENTS:
        return None
    flat = elements.reshape(-1)
    return _Elements(flat[:1].reshape(()) if _are_equal(flat) else flat, operand.constant is None)


def _are_equal(flat: np.ndarray) -> bool:
    """Whether the elements of a vector have the same bits."""
    each = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    return bool((each == each[0]).all())


RULE = FoldUniform()
