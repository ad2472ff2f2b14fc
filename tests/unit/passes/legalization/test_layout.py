"""Where channels-last begins, spreads and ends."""

from __future__ import annotations

from collections.abc import Callable

from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.passes.legalization.layout import layout
from nautilus_cli.passes.rewriting.decompose import decompose
from tests.unit.passes.sketches import Sketch

CHANNELS_LAST = (0, 2, 3, 1)


def orders(graph: Graph) -> dict[str, tuple[int, ...] | None]:
    """Return the order of the only result of each operator."""
    return {node.op: next(node.results()).order for node in layout(decompose(graph)).nodes}


def resized(s: Sketch, x: Value) -> Value:
    return s.node("Relu", [s.node("Resize", [x, None, None, s.ints(1, 4, 7, 9)], mode="linear")])


def test_resize_keeps_the_order_of_its_operand() -> None:
    s = Sketch()
    found = orders(s.graph([("y", s.node("Relu", [resized(s, s.node("Conv", [s.x(1, 3, 8, 8), s.c(4, 3, 3, 3)]))]))]))
    assert found["Conv"] == found["nautilus::Interpolate"] == CHANNELS_LAST
    s = Sketch()
    found = orders(s.graph([("y", s.node("Relu", [resized(s, s.x(1, 4, 8, 8))]))]))
    assert found["nautilus::Interpolate"] is None


def test_outputs_of_the_graph_lie_as_onnx_has_them() -> None:
    s = Sketch()
    assert orders(s.graph([("y", s.node("Conv", [s.x(1, 3, 8, 8), s.c(4, 3, 3, 3)]))]))["Conv"] is None


def heads(s: Sketch, perm: tuple[int, ...], shape: tuple[int, ...], more: bool = False) -> Graph:
    product = s.node("MatMul", [s.x(2, 3, 4, 5), s.c(2, 3, 5, 8)])
    joined = s.node("Reshape", [s.node("Transpose", [product], perm=perm), s.ints(*shape)])
    y = s.node("MatMul", [joined, s.c(shape[-1], 6)])
    return s.graph([("y", y), *([("z", s.node("Neg", [product]))] if more else [])])


def orders_of_products(graph: Graph) -> list[tuple[int, ...] | None]:
    return [next(node.results()).order for node in layout(decompose(graph)).nodes if node.op == "MatMul"]


def test_a_product_that_is_only_transposed_lies_so(same_results: Callable[[Graph, Graph], None]) -> None:
    """Where its rows stay rows."""
    assert orders_of_products(heads(Sketch(), (0, 2, 1, 3), (2, 4, 24))) == [(0, 2, 1, 3), None]
    assert orders_of_products(heads(Sketch(), (0, 1, 3, 2), (2, 24, 4))) == [None, None]
    assert orders_of_products(heads(Sketch(), (0, 2, 1, 3), (2, 4, 24), more=True)) == [None, None]
    graph = heads(Sketch(), (0, 2, 1, 3), (2, 4, 24))
    same_results(graph, layout(graph))
