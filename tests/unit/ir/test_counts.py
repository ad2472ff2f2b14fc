"""Numbers that kernels give: bounds that the host knows, and graphs that hold them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import count, symbol
from nautilus_cli.ir.counts import ceiling, counts_in, counts_of, counts_of_value, linear, reads_in
from nautilus_cli.ir.dims import Symbolic, same, upper
from nautilus_cli.ir.functions import maximum, minimum, named
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.indicators import equal
from nautilus_cli.ir.quotients import divides, exact_divmod
from nautilus_cli.ir.requirement import Limit
from nautilus_cli.ir.rewrite import prune, sort
from nautilus_cli.ir.rewrite import substitute as rewritten
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ir.text import constants_by_key, print_graph
from nautilus_cli.ir.text_reader import parse_graph
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.count_bounds import CountBounds
from nautilus_cli.ops.places import places
from nautilus_cli.ops.registry import operators

ROWS = symbol("rows", 1, 8)
N = count("n", 3 * ROWS)
M = count("m", 5)

EXPRESSIONS = (
    N,
    3 * N + 1,
    N * M,
    N * ROWS - M,
    4 - M,
    N // 4,
    -(-N // 4),
    (N + 7) // maximum(1, M),
    maximum(N, M, 3),
    minimum(N, 2) * ROWS,
    named("long", N + M),
    equal(N, M) * N,
    ROWS + 2,
    minimum(N, ROWS + 2) * ROWS,
    N % 4 * ROWS,
    -((ROWS - 12) // maximum(1, N)),
    maximum(0, -((ROWS - 12) // maximum(1, M))) * ROWS,
    -ROWS * maximum(-N, -3) * symbol("more", 2, 2),
    ROWS * maximum(2 - N, -M) * minimum(M, 3),
    100 * ROWS - maximum(N - N // 2, M - M // 2) * maximum(N - N // 2, M - M // 2),
)


@pytest.mark.parametrize("value", EXPRESSIONS, ids=str)
def test_a_ceiling_is_an_expression_without_counts_that_is_never_exceeded(value: int) -> None:
    most = ceiling(value)
    assert not counts_in(most)
    for rows in (1, 3, 8):
        known = substitute(most, {"rows": rows})
        assert not isinstance(known, Symbolic)
        for n, m in product((0, 1, 2, 3 * rows), (0, 1, 5)):
            assert substitute(value, {"rows": rows, "n": n, "m": m}) <= known


def test_a_ceiling_of_a_size_is_that_of_its_bound() -> None:
    assert same(ceiling(4 * N), 12 * ROWS) and same(ceiling(N // 2), 3 * ROWS // 2)
    assert same(ceiling(count("any", (1 << 31) - 1) % 4), 3)
    assert same(ceiling(ROWS * minimum(N, 40)), 3 * ROWS * ROWS), "what it is multiplied with is known, and stays"


def test_nothing_to_count_is_a_number() -> None:
    assert count("none", 0) == 0


def test_a_count_may_be_zero() -> None:
    with pytest.raises(UndecidedError):
        bool(N == 0)
    assert exact_divmod(4 * N, N) == (4, 0) and exact_divmod(4 * N + 1, N) is None
    assert divides(N, N * M) and not divides(N, M) and same(N * M // N, M)


def test_expressions_of_one_hash_do_not_meet() -> None:
    """-1 and -2 hash alike in Python."""
    assert len({-N: 1, -2 * N: 2}) == 2


def counted() -> tuple[GraphBuilder, Value, Value]:
    """Return a builder with places of a mask, and what is made of their number alone."""
    builder = GraphBuilder()
    found = places(builder, builder.input("mask", TensorType(BOOL, (9,))), "n")
    (size,) = found.type.static
    return builder, found, builder.node("Expand", [builder.input("x", TensorType(F32, (1,))), builder.sizes([size])])


def test_what_has_a_count_in_its_shape_keeps_the_node_that_gives_it() -> None:
    builder, found, spread = counted()
    graph = builder.graph([("y", spread)])
    ((name, holder),) = graph.counts
    assert name == "n" and holder.type == TensorType(I64, ()) and {s.name for s in counts_of_value(found)} == {"n"}
    kept = prune(graph)
    assert kept.counts == graph.counts and [node.op for node in kept.nodes] == ["nautilus::Places", "Expand"]
    assert {s.name for s in counts_of(kept.nodes[1])} == {"n"}
    without = prune(builder.graph([("mask", builder.inputs()["mask"])]))
    assert without.nodes == () and without.counts == ()


def test_nodes_come_behind_the_counts_that_they_need() -> None:
    builder, _, spread = counted()
    graph = prune(builder.graph([("y", spread)]))
    assert sort(reversed(graph.nodes), graph.counts) == graph.nodes
    spread_node = replace(graph.nodes[1], inputs=(graph.nodes[0].outputs[0], graph.nodes[1].inputs[1]))
    circle = [replace(graph.nodes[0], inputs=graph.nodes[1].outputs), spread_node]
    with pytest.raises(InternalError, match="cyclic"):
        sort(circle, graph.counts)


def test_a_substitute_gives_the_count_too() -> None:
    builder, _, spread = counted()
    graph = prune(builder.graph([("y", spread)]))
    other = Value(TensorType(I64, ()), constant=np.array(3))
    assert rewritten(graph, values={graph.counts[0][1]: other}).counts == (("n", other),)


def test_what_is_bounded_is_cut_and_limited() -> None:
    """What a kernel finds has room for all there can be; the front of it has the bound, and the text of a graph tells the limit."""
    builder = GraphBuilder()
    builder.bounds = CountBounds(given={"n": 4, "m": 40})
    found = places(builder, builder.input("mask", TensorType(BOOL, (9,))), "n")
    (size,) = found.type.static
    assert str(size) == "n" and upper(size) == 4
    graph = prune(builder.graph([("y", found)]))
    assert graph.limits == (Limit(name="n", count="n (all)", most=4),)
    assert {name for name, _ in graph.counts} == {"n", "n (all)"}
    attributes = {name: operator.attributes for name, operator in operators().items()}
    text = print_graph(graph)
    assert "limit 'n' = 'n (all)' : 4" in text and print_graph(parse_graph(text, attributes, constants_by_key(graph))) == text
    assert upper(places(builder, builder.input("other", TensorType(BOOL, (9,))), "m").type.static[0]) == 9


def test_what_the_host_reads_is_no_count_of_kernels() -> None:
    builder = GraphBuilder()
    builder.bounds = CountBounds(read=frozenset({"n"}))
    found = places(builder, builder.input("mask", TensorType(BOOL, (9,))), "n")
    assert counts_in(found.type) == frozenset() and {s.name for s in reads_in(found.type)} == {"n"}
    assert {s.name for s in counts_of_value(found)} == {"n"}, "but what has it in its shape comes behind what gives it"
    assert ceiling(3 * found.type.static[0]) == 3 * found.type.static[0]
    assert linear(found.type.static[0]) is None


def test_names_are_made_different() -> None:
    builder = GraphBuilder()
    first, second = builder.count("n", 4), builder.count("n", 4)
    assert str(first) == "n" and str(second) == "n'2"
    assert isinstance(builder.graph([]), Graph)


@pytest.mark.parametrize(
    ("value", "form"),
    [(N, (1, 0)), (3 * N + 1, (3, 1)), (4 - M, (-1, 4)), (N * ROWS, None), (N + M, None), (N // 2, None), (ROWS, None), (7, None)],
    ids=str,
)
def test_multiples_of_a_count(value: int, form: tuple[int, int] | None) -> None:
    found = linear(value)
    assert (None if found is None else found[1:]) == form
