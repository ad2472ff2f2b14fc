"""What a graph does with its inputs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from models.small import EXPORTERS, build
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import BOOL, F32, I32, I64, DType, TensorType
from nautilus_cli.verify.usage import Free, Indices, Mask, Positive, Use, uses


def value(*shape: int, dtype: DType = F32, constant: Any = None) -> Value:
    return Value(TensorType(dtype, shape), constant=None if constant is None else np.asarray(constant, dtype.numpy))


def node(op: str, inputs: list[Value], *outputs: Value, **attributes: Any) -> Node:
    return Node(op, tuple(inputs), outputs, SimpleNamespace(**attributes))


def use_of(x: Value, *nodes: Node) -> Use:
    return uses(Graph((("x", x),), (), nodes))["x"]


IDS = value(2, 3, dtype=I64)
TABLE = value(50, 8)


def test_indices_stay_inside_the_axis():
    assert use_of(IDS, node("Gather", [TABLE, IDS], value(2, 3, 8), axis=0)) == Indices(0, 49)
    assert use_of(IDS, node("Gather", [TABLE, IDS], value(50, 2, 3), axis=1)) == Indices(0, 7)
    assert use_of(IDS, node("Gather", [TABLE, IDS], value(50, 2, 3), axis=-1)) == Indices(0, 7)


@pytest.mark.parametrize(("layout", "steps"), [(0, 7), (1, 3)])
def test_lengths_stay_inside_the_sequence(layout: int, steps: int):
    lengths = value(3, dtype=I32)
    layer = node("GRU", [value(7, 3, 8), value(1, 12, 8), value(1, 12, 4), value(1, 24), lengths], value(7, 1, 3, 4), layout=layout)
    assert use_of(lengths, layer) == Indices(0, steps)


def test_the_smallest_table_rules():
    small = value(7, 8)
    nodes = [node("Gather", [t, IDS], value(2, 3, 8), axis=0) for t in (TABLE, small)]
    assert use_of(IDS, *nodes) == Indices(0, 6)


def test_rows_of_tables_of_other_operands():
    segments, positions, result = value(2, 3, dtype=I32), value(2, 3, dtype=I32), value(2, 3, 8)
    operands = [IDS, segments, TABLE, value(9, 8), value(2, 8), value(8), value(8)]
    for op in ("EmbedLayerNormalization", "QEmbedLayerNormalization"):
        embedded = node(f"com.microsoft::{op}", operands, result)
        assert (use_of(IDS, embedded), use_of(segments, embedded)) == (Indices(0, 49), Indices(0, 1))
    placed = node("com.microsoft::EmbedLayerNormalization", [*operands, value(2, 3, dtype=I32), positions], result)
    assert use_of(positions, placed) == Indices(0, 8)
    for axis, high in ((0, 49), (1, 7)):
        rows = node("com.microsoft::GatherBlockQuantized", [TABLE, IDS, value(50, 1)], result, gather_axis=axis)
        assert use_of(IDS, rows) == Indices(0, high)


def test_indices_are_followed_through_movement_and_integer_casts():
    narrow, flat, longer = value(2, 3, dtype=I32), value(6, dtype=I32), value(12, dtype=I32)
    nodes = [
        node("Cast", [IDS], narrow),
        node("Reshape", [narrow, value(1, dtype=I64, constant=[6])], flat),
        node("Concat", [flat, flat], longer, axis=0),
        node("Gather", [TABLE, longer], value(12, 8), axis=0),
    ]
    assert use_of(IDS, *nodes) == Indices(0, 49)


@pytest.mark.parametrize(
    ("op", "constant", "expected"),
    [("Add", [2], Indices(-2, 47)), ("Sub", [2], Indices(2, 51)), ("Add", [0, 10, 20], Indices(0, 29))],
)
def test_added_constants_shift_the_range(op: str, constant: list[int], expected: Use):
    shifted = value(2, 3, dtype=I64)
    offset = value(len(constant), dtype=I64, constant=constant)
    assert use_of(IDS, node(op, [IDS, offset], shifted), node("Gather", [TABLE, shifted], value(2, 3, 8), axis=0)) == expected


def test_subtracting_from_a_constant_ends_the_trace():
    shifted = value(2, 3, dtype=I64)
    offset = value(1, dtype=I64, constant=[2])
    assert use_of(IDS, node("Sub", [offset, IDS], shifted), node("Gather", [TABLE, shifted], value(2, 3, 8), axis=0)) == Free()


def test_the_table_itself_is_free():
    assert use_of(TABLE, node("Gather", [TABLE, IDS], value(2, 3, 8), axis=0)) == Free()


@pytest.mark.parametrize(
    ("op", "shape", "attributes", "high"),
    [
        ("GatherElements", (9, 8), {"axis": 1}, 7),
        ("GatherND", (9, 4, 8), {"batch_dims": 0}, 3),
        ("ScatterND", (9, 4, 8), {}, 3),
        ("ScatterElements", (9, 8), {"axis": 0}, 8),
        ("Scatter", (9, 8), {"axis": 1}, 7),
        ("ReverseSequence", (9, 8), {"time_axis": 0, "batch_axis": 1}, 9),
        ("ReverseSequence", (9, 8), {"time_axis": 1, "batch_axis": 0}, 8),
    ],
)
def test_other_indexing_operators(op: str, shape: tuple[int, ...], attributes: dict[str, int], high: int):
    indices = value(5, 2, dtype=I64)
    assert use_of(indices, node(op, [value(*shape), indices], value(5, 8), **attributes)) == Indices(0, high)


def test_regions_lie_in_images_of_the_batch():
    images = value(5, dtype=I64)
    assert use_of(images, node("RoiAlign", [value(3, 8, 9, 9), value(5, 4), images], value(5, 8, 1, 1))) == Indices(0, 2)


def test_one_hot_stays_below_its_depth():
    depth = value(dtype=I64, constant=12)
    assert use_of(IDS, node("OneHot", [IDS, depth, value(2)], value(2, 3, 12))) == Indices(0, 11)


def test_a_cast_to_bool_makes_a_mask():
    flags = value(2, 3, dtype=BOOL)
    assert use_of(IDS, node("Cast", [IDS], flags)) == Mask()


def test_a_boolean_that_chooses_is_a_mask():
    flags, moved = value(2, 3, dtype=BOOL), value(2, 1, 3, dtype=BOOL)
    nodes = [node("Unsqueeze", [flags, value(1, dtype=I64, constant=[1])], moved), node("Where", [moved, TABLE, TABLE], value(2, 1, 3))]
    assert use_of(flags, *nodes) == Mask()


def test_an_integer_taken_from_one_as_a_float_is_a_mask():
    moved, as_float = value(2, 1, 1, 3, dtype=I64), value(2, 1, 1, 3)
    one = value(constant=1.0)
    nodes = [
        node("Unsqueeze", [IDS, value(2, dtype=I64, constant=[1, 2])], moved),
        node("Cast", [moved], as_float),
        node("Sub", [one, as_float], value(2, 1, 1, 3)),
    ]
    assert use_of(IDS, *nodes) == Mask()


def test_an_integer_that_becomes_a_float_otherwise_is_free():
    as_float = value(2, 3)
    assert use_of(IDS, node("Cast", [IDS], as_float), node("Mul", [as_float, as_float], value(2, 3))) == Free()


def test_indices_outrank_a_comparison_with_padding():
    flags = value(2, 3, dtype=BOOL)
    nodes = [node("Cast", [IDS], flags), node("Gather", [TABLE, IDS], value(2, 3, 8), axis=0)]
    assert use_of(IDS, *nodes) == Indices(0, 49)


def test_logarithms_want_positive_numbers():
    x = value(4)
    assert use_of(x, node("Log", [x], value(4))) == Positive()


def test_floats_are_free_otherwise():
    x = value(4)
    assert use_of(x, node("Relu", [x], value(4))) == Free()


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_inputs_of_a_transformer(exporter: str, tmp_path: Path):
    path = tmp_path / "bert.onnx"
    onnx.save(build("bert", exporter), path)
    assert uses(load(path).graph) == {"ids": Indices(0, 96), "mask": Mask()}
