"""Rewrite rules: where they apply, where not and why, and that they keep results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.ir.graph import Graph, Node
from nautilus_cli.passes.decompose import decompose
from nautilus_cli.passes.rewriting import all_rules, apply_rules, surroundings
from tests.unit.passes.sketches import Sketch, ops

Same = Callable[[Graph, Graph], None]


def reasons(graph: Graph, node: Node) -> dict[str, str]:
    """Return why each rule does not apply at NODE."""
    found = {rule.name: rule.check(node, surroundings(graph)) for rule in all_rules()}
    return {name: why for name, why in found.items() if isinstance(why, str)}


def biased(s: Sketch, shared: bool = False) -> Graph:
    """Conv with bias, then scale and bias again, as batch normalisation is written; SHARED: the convolution is an output too."""
    y = s.node("Conv", (s.x(1, 3, 6, 6), s.c(4, 3, 3, 3), s.c(4)), kernel_shape=(3, 3))
    z = s.node("Add", (s.node("Mul", (y, s.c(1, 4, 1, 1))), s.c(4, 1, 1)))
    return decompose(s.graph([("z", z), *([("y", y)] if shared else [])]))


def test_batch_normalisation_folds_into_the_convolution(sketch: Sketch, same_results: Same) -> None:
    """Scale goes into the weights, the two biases become one."""
    graph = biased(sketch)
    folded = apply_rules(graph)
    assert list(ops(folded)) == ["Conv", "Add"]
    same_results(graph, folded)
    assert apply_rules(folded) is folded


def test_the_operator_folds_too(sketch: Sketch, same_results: Same) -> None:
    """BatchNormalization in inference form behind a convolution leaves one bias."""
    y = sketch.node("Conv", (sketch.x(1, 3, 5, 5), sketch.c(4, 3, 1, 1)), kernel_shape=(1, 1))
    positive = sketch.constant(np.abs(sketch.c(4).constant) + np.float32(0.5))  # type: ignore[arg-type]
    z = sketch.node("BatchNormalization", (y, sketch.c(4), sketch.c(4), sketch.c(4), positive))
    graph = decompose(sketch.graph([("z", z)]))
    folded = apply_rules(graph)
    assert list(ops(folded)) == ["Conv", "Add"]
    same_results(graph, folded)


def test_a_convolution_with_another_reader_keeps_its_weights(sketch: Sketch, same_results: Same) -> None:
    """Folding would change the other reader's values."""
    graph = biased(sketch, shared=True)
    folded = apply_rules(graph)
    assert "Mul" in ops(folded)
    same_results(graph, folded)
    (mul,) = [n for n in folded.nodes if n.op == "Mul"]
    assert reasons(folded, mul)["scale_into_conv"] == "no operand is a convolution that nothing else reads"


def test_a_scale_of_another_shape_stays(sketch: Sketch) -> None:
    """A factor per column is no factor per channel."""
    y = sketch.node("Conv", (sketch.x(1, 3, 6, 6), sketch.c(4, 3, 3, 3)), kernel_shape=(3, 3))
    graph = decompose(sketch.graph([("z", sketch.node("Mul", (y, sketch.c(4))))]))
    folded = apply_rules(graph)
    assert list(ops(folded)) == list(ops(graph))
    assert reasons(folded, folded.nodes[-1])["scale_into_conv"] == "the factor is not a constant of one number a channel"


def test_constants_merge_only_where_the_sum_is_no_larger(sketch: Sketch) -> None:
    """[4, 1] + [1, 5] would be a larger constant than either."""
    x = sketch.x(4, 5)
    z = sketch.node("Add", (sketch.node("Add", (x, sketch.c(4, 1))), sketch.c(1, 5)))
    graph = sketch.graph([("z", z)])
    assert apply_rules(graph) is graph
    assert reasons(graph, graph.nodes[-1])["merge_biases"] == "the sum of the constants would be larger than either"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_every_rule_says_what_it_matches(rule: object) -> None:
    """Name, pattern and class documentation are there for `inspect --explain`."""
    assert getattr(rule, "pattern", "").count("(") >= 1
    assert type(rule).__doc__
