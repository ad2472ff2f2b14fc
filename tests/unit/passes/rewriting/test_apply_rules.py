"""Rewrite rules: where they apply, where not and why, and that they keep results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.ir.graph import Graph, Node
from nautilus_cli.ir.types import F16
from nautilus_cli.passes.rewriting.apply_rules import all_rules, apply_rules
from nautilus_cli.passes.rewriting.decompose import decompose
from nautilus_cli.passes.rewriting.rule import surroundings
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


@pytest.mark.parametrize("group", [1, 2])
def test_a_transposed_convolution_folds_too(sketch: Sketch, same_results: Same, group: int) -> None:
    """Its weights have the channels that it reads first, and its out channels a group at a time."""
    y = sketch.node("ConvTranspose", (sketch.x(1, 4, 3, 5), sketch.c(4, 3, 3, 3), sketch.c(3 * group)), strides=(2, 2), group=group)
    z = sketch.node("Add", (sketch.node("Mul", (y, sketch.c(1, 3 * group, 1, 1))), sketch.c(3 * group, 1, 1)))
    graph = decompose(sketch.graph([("z", z)]))
    folded = apply_rules(graph)
    assert list(ops(folded)) == ["ConvTranspose", "Add"]
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


def half(*numbers: float) -> np.ndarray:
    """Return fp16 numbers, one a channel."""
    return np.array(numbers, np.float16).reshape(-1, 1, 1)


@pytest.mark.parametrize(("weight", "factor"), [(3e-4, 3e-4), (300.0, 300.0)])
def test_a_scale_stays_where_half_precision_cannot_hold_the_scaled_weights(weight: float, factor: float) -> None:
    """Numbers below the normal range have few digits, and those above it none."""
    s = Sketch(F16)
    weights = s.constant((s.random.standard_normal((2, 3, 1, 1)) * weight).astype(np.float16))
    y = s.node("Mul", (s.node("Conv", (s.x(1, 3, 4, 4), weights)), s.constant(half(factor, factor))))
    graph = decompose(s.graph([("y", y)]))
    folded = apply_rules(graph)
    assert list(ops(folded)) == ["Conv", "Mul"]
    assert reasons(folded, folded.nodes[-1])["scale_into_conv"] == "f16 cannot hold the scaled weights"


def test_constants_stay_where_together_they_overflow() -> None:
    """(x + 60000) + 60000 is finite where x is -60000, and so is (conv(x) + 60000) · 2 where conv(x) is."""
    s = Sketch(F16)
    large = s.constant(half(6e4, 1))
    twice = s.node("Add", (s.node("Add", (s.x(2, 4, 4), large)), large))
    biased = s.node("Add", (s.node("Conv", (s.x(1, 3, 4, 4, name="image"), s.c(2, 3, 1, 1))), large))
    graph = decompose(s.graph([("twice", twice), ("scaled", s.node("Mul", (biased, s.constant(half(2, 1)))))]))
    kept = apply_rules(graph)
    assert list(ops(kept)) == ["Add", "Add", "Conv", "Add", "Mul"]
    assert reasons(kept, kept.nodes[1])["merge_biases"] == "the sum of the constants overflows"
    assert reasons(kept, kept.nodes[-1])["scale_before_bias"] == "the scaled bias overflows"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_every_rule_says_what_it_matches(rule: object) -> None:
    """Name, pattern and class documentation are there for `inspect --explain`."""
    assert getattr(rule, "pattern", "").count("(") >= 1
    assert type(rule).__doc__
