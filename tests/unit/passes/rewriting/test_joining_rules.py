"""Rules on Concat and Pad: joined once, and padding that a convolution does itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.ir.graph import Graph, Node
from nautilus_cli.passes.rewriting.apply_rules import all_rules, apply_rules
from nautilus_cli.passes.rewriting.decompose import decompose
from nautilus_cli.passes.rewriting.rule import surroundings
from tests.unit.passes.sketches import Sketch, ops

Same = Callable[[Graph, Graph], None]


def reason(graph: Graph, node: Node, name: str) -> tuple[Node, ...] | str:
    (rule,) = (rule for rule in all_rules() if rule.name == name)
    return rule.check(node, surroundings(graph))


def test_what_is_joined_bit_by_bit_is_joined_once(sketch: Sketch, same_results: Same) -> None:
    """Along one axis, however it is counted, and in order."""
    parts = [sketch.x(2, i + 1, name=f"x{i}") for i in range(9)]
    joined = parts[0]
    for number, part in enumerate(parts[1:]):
        joined = sketch.node("Concat", (part, joined) if number % 2 else (joined, part), axis=1 if number % 3 else -1)
    graph = sketch.graph([("y", joined)])
    flat = apply_rules(graph)
    assert list(ops(flat)) == ["Concat"]
    assert len(flat.nodes[0].inputs) == 9
    same_results(graph, flat)
    assert apply_rules(flat) is flat


def test_an_inner_concatenation_along_another_axis_stays(sketch: Sketch, same_results: Same) -> None:
    inner = sketch.node("Concat", (sketch.x(2, 3), sketch.x(2, 3, name="z")), axis=1)
    graph = sketch.graph([("y", sketch.node("Concat", (inner, sketch.x(1, 6, name="more")), axis=0))])
    assert apply_rules(graph) is graph
    assert reason(graph, graph.nodes[-1], "concat_of_concat") == "the inner concatenation is along another axis"


def test_an_inner_concatenation_that_is_read_twice_stays(sketch: Sketch, same_results: Same) -> None:
    inner = sketch.node("Concat", (sketch.x(2, 3), sketch.x(2, 3, name="z")), axis=0)
    graph = sketch.graph([("y", sketch.node("Concat", (inner, inner), axis=0))])
    assert apply_rules(graph) is graph
    assert reason(graph, graph.nodes[-1], "concat_of_concat") == "no operand is a concatenation that nothing else reads"


def padded(s: Sketch, pads: tuple[int, ...], value: float | None = 0.0, mode: str = "constant", shared: bool = False) -> Graph:
    image = s.x(1, 3, 6, 7)
    fill = () if value is None else (s.constant(np.float32(value)),)
    pad = s.node("Pad", (image, s.ints(*pads), *fill), mode=mode)
    y = s.node("Conv", (pad, s.c(4, pad.type.static[1], 3, 3)), kernel_shape=(3, 3), pads=(1, 0, 0, 2), strides=(2, 1))
    return decompose(s.graph([("y", y), *([("pad", pad)] if shared else [])]))


@pytest.mark.parametrize("value", [0.0, None])
def test_zeros_around_an_image_are_the_convolutions(value: float | None, sketch: Sketch, same_results: Same) -> None:
    graph = padded(sketch, (0, 0, 1, 2, 0, 0, 3, 0), value)
    result = apply_rules(graph)
    assert list(ops(result)) == ["Conv"]
    assert result.nodes[0].attrs.pads == (2, 2, 3, 2)  # type: ignore[attr-defined]
    same_results(graph, result)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"pads": (0, 0, 1, 1, 0, 0, 1, 1), "value": 1.0}, "the padding is not of zeros"),
        ({"pads": (0, 0, 1, 1, 0, 0, 1, 1), "mode": "edge"}, "the padding is not of zeros"),
        ({"pads": (0, 1, 1, 1, 0, 0, 1, 1)}, "batch or channels are padded"),
        ({"pads": (0, 0, -1, 1, 0, 0, 1, 1)}, "the padding crops"),
        ({"pads": (0, 0, 1, 1, 0, 0, 1, 1), "shared": True}, "the image is not padded for this convolution alone"),
    ],
)
def test_padding_that_stays(options: dict[str, object], why: str, sketch: Sketch) -> None:
    graph = padded(sketch, **options)  # type: ignore[arg-type]
    (conv,) = [node for node in graph.nodes if node.op == "Conv"]
    assert reason(graph, conv, "pad_into_conv") == why
    assert "Pad" in ops(apply_rules(graph))
