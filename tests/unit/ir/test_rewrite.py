"""Rewriting: substitution, order, pruning."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, retarget, sort, substitute
from nautilus_cli.ir.verifier import verify_structure
from tests.unit.ir.graphs import chain, node, value


def test_value_is_read_as_its_substitute_and_other_nodes_stay_the_same_objects() -> None:
    graph, values = chain(4)
    result = substitute(graph, values={values[2]: values[1]})
    assert result.nodes[2].inputs == (values[1], values[0])
    assert result.nodes[2].outputs == graph.nodes[2].outputs
    assert [a is b for a, b in zip(result.nodes, graph.nodes, strict=True)] == [True, True, False, True]


def test_substitutes_are_followed_to_their_end() -> None:
    graph, values = chain(4)
    result = substitute(graph, values={values[4]: values[3], values[3]: values[2]})
    assert result.outputs == (("y", values[2]),)
    assert result.nodes[3].inputs[0] is values[2]


def test_substitutes_in_a_circle_are_refused() -> None:
    graph, values = chain(4)
    with pytest.raises(InternalError, match="lead back to it"):
        substitute(graph, values={values[1]: values[2], values[2]: values[1]})


def test_a_value_is_no_substitute_for_itself() -> None:
    graph, values = chain(2)
    with pytest.raises(InternalError, match="lead back to it"):
        substitute(graph, values={values[1]: values[1]})


def test_node_is_replaced_in_its_place() -> None:
    graph, values = chain(3)
    middle = value(4)
    new = (node("Op", (values[1],), middle), node("Op", (middle,), values[2]))
    result = substitute(graph, nodes={graph.nodes[1]: new})
    assert result.nodes == (graph.nodes[0], *new, graph.nodes[2])
    verify_structure(result)


def test_node_is_removed_by_an_empty_sequence() -> None:
    graph, values = chain(3)
    result = substitute(graph, nodes={graph.nodes[1]: ()}, values={values[2]: values[1]})
    assert len(result.nodes) == 2
    verify_structure(result)


def test_order_is_restored_where_a_substitute_is_computed_later() -> None:
    graph, values = chain(3)
    late = value(4)
    nodes = (*graph.nodes, node("Op", (values[0],), late))
    result = substitute(Graph(graph.inputs, graph.outputs, nodes), values={values[1]: late})
    verify_structure(result)
    assert result.nodes.index(nodes[3]) < 2


def test_new_cycle_is_refused() -> None:
    graph, values = chain(3)
    with pytest.raises(InternalError, match="cyclic at Add"):
        substitute(graph, values={values[1]: values[3]})


def test_retarget_keeps_the_replaced_value() -> None:
    graph, values = chain(2)
    result = value(4)
    middle = value(4)
    new = retarget((node("Op", (values[0],), middle), node("Op", (middle,), result)), {result: values[1]})
    replaced = substitute(graph, nodes={graph.nodes[0]: new})
    assert replaced.nodes[1].outputs == (values[1],)
    assert replaced.nodes[2] is graph.nodes[1]
    verify_structure(replaced)


def test_prune_drops_what_nobody_reads() -> None:
    graph, values = chain(4)
    shorter = Graph(graph.inputs, (("y", values[2]),), graph.nodes)
    assert prune(shorter).nodes == graph.nodes[:2]


def test_prune_returns_the_graph_itself_where_nothing_is_dead() -> None:
    graph, _ = chain(4)
    assert prune(graph) is graph


def test_prune_clears_last_results_only() -> None:
    x = value(4, tensor="x")
    parts = (value(1), value(1), value(2))
    split = node("Split", (x,), *parts)
    graph = Graph((("x", x),), (("y", parts[1]),), (split,))
    assert prune(graph).nodes[0].outputs == (parts[0], parts[1], None)


def test_prune_keeps_unused_inputs() -> None:
    graph, values = chain(1)
    assert prune(Graph(graph.inputs, (("y", values[0]),), graph.nodes)).inputs == graph.inputs


@given(st.integers(0, 10_000))
def test_sort_finds_an_order_of_any_shuffled_graph(seed: int) -> None:
    random = Random(seed)
    values: list[Value] = [value(4) for _ in range(3)]
    free = set(values)
    nodes: list[Node] = []
    for _ in range(random.randint(1, 30)):
        result = value(4)
        nodes.append(node("Op", tuple(random.choice(values) for _ in range(random.randint(0, 3))), result))
        values.append(result)
    shuffled = random.sample(nodes, len(nodes))
    defined = set(free)
    for item in sort(shuffled):
        assert all(v in defined for v in item.operands())
        defined.update(item.results())
    assert len(defined) == len(values)


def test_sort_keeps_an_order_that_is_one() -> None:
    graph, _ = chain(10)
    assert sort(graph.nodes) == graph.nodes
