"""The structural verifier: one broken graph for every rule."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ir.verifier import describe, verify_structure
from tests.unit.ir.graphs import chain, constant, node, value

X, Y = value(4, tensor="x"), value(4, tensor="y")
ADD = node("Add", (X, X), Y, origin=("add",))
NUMBERS = constant(np.ones(4, np.float32))
WRONG_SHAPE = Value(TensorType(F32, (3,)), constant=np.ones(4, np.float32))
WRONG_TYPE = Value(TensorType(F32, (4,)), constant=np.ones(4, np.int64))
WRONG_ORDER = value(2, 2, order=(0, 0))
NEGATIVE = value(-1)

BROKEN = {
    "two inputs are called 'x'": Graph((("x", X), ("x", value(4))), (("y", X),), ()),
    "input 'b' is another input or a constant": Graph((("a", X), ("b", X)), (("y", X),), ()),
    "input 'c' is another input or a constant": Graph((("c", NUMBERS),), (("y", NUMBERS),), ()),
    "reads a value that no earlier node computes": Graph((("x", X),), (("y", Y),), (node("Add", (Y, X), value(4)), ADD)),
    "computes a value that is defined already": Graph((("x", X),), (("y", Y),), (ADD, node("Add", (X, X), Y))),
    "computes nothing": Graph((("x", X),), (("y", X),), (node("Add", (X, X), None),)),
    "computes a constant": Graph((("x", X),), (("y", X),), (node("Add", (X, X), NUMBERS),)),
    "two outputs have the same name": Graph((("x", X),), (("y", X), ("y", X)), ()),
    "output 'y' is a value that nothing computes": Graph((("x", X),), (("y", Y),), ()),
    "a constant of type f32\\[3\\] holds f32\\[4\\]": Graph((), (("y", Y),), (node("Op", (WRONG_SHAPE,), Y),)),
    "a constant of type f32\\[4\\] holds i64\\[4\\]": Graph((), (("y", Y),), (node("Op", (WRONG_TYPE,), Y),)),
    "a value of rank 2 is stored in the order \\(0, 0\\)": Graph((("x", WRONG_ORDER),), (("y", WRONG_ORDER),), ()),
    "a value has the type f32\\[-1\\]": Graph((("x", NEGATIVE),), (("y", NEGATIVE),), ()),
}


def test_sound_graph_passes() -> None:
    graph, _ = chain(5)
    verify_structure(graph)


@pytest.mark.parametrize("message", BROKEN)
def test_broken_graph_is_refused(message: str) -> None:
    with pytest.raises(InternalError, match=message):
        verify_structure(BROKEN[message])


def test_place_names_operator_and_origin() -> None:
    assert describe(ADD) == "Add ('add')"
    assert describe(node("Add", (X,), Y)) == "Add"
