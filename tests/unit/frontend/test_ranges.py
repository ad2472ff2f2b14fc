"""Dimensions with a range, and inputs whose values the model's declarations give away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from nautilus_cli.driver.open_dimensions import points_of
from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.inputs import resolve_inputs
from nautilus_cli.frontend.load import LoadedModel, load_model
from nautilus_cli.ir.dims import Element, lower, same, upper
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.verifier import verify_graph
from tests.unit.frontend.models import INT64, graph, tensor_input

IMAGE = tensor_input("x", "N", 3, None, "w")
IDS = tensor_input("ids", "batch", "seq", dtype=INT64)
MASK = tensor_input("mask", "batch", "seq", dtype=INT64)


def names(shape: Sequence[int]) -> list[str]:
    return [s.name for dim in shape for s in sorted(symbols(dim), key=lambda s: s.name)]


def test_a_range_in_a_shape_leaves_a_dimension_open() -> None:
    (type_,) = resolve_inputs(graph([], [IMAGE], []), {"x": (DimRange(1, 16), 3, DimRange(32, 64, 32), 192)}, {}).types.values()
    assert names(type_.shape) == ["N", "x[2]"]
    assert type_.shape[1] == 3 and type_.shape[3] == 192 and type_.shape[2] >= 32


def test_a_named_dimension_is_one_in_every_input() -> None:
    found = resolve_inputs(graph([], [IDS, MASK], []), {}, {}, {"batch": DimRange(1, 8), "seq": DimRange(8, 512, 8)})
    assert same(found.types["ids"].shape, found.types["mask"].shape)
    by_shape = resolve_inputs(graph([], [IDS, MASK], []), {"ids": (4, DimRange(1, 128))}, {})
    assert same(by_shape.types["mask"].shape, by_shape.types["ids"].shape) and by_shape.types["mask"].shape[0] == 4


def test_other_open_dimensions_get_default_ranges_with_a_note() -> None:
    found = resolve_inputs(graph([], [IDS, MASK, IMAGE], []), {}, {}, {"seq": DimRange(8, 64)})
    ids, mask, image = (found.types[name].static for name in ("ids", "mask", "x"))
    assert same(ids, mask) and names(image) == ["N", "x[2]", "w"]
    (batch,) = symbols(ids[0])
    assert (batch.low, batch.high) == (1, 64)
    assert [(s.low, s.high) for dim in image[2:] for s in symbols(dim)] == [(1, 512), (1, 512)]
    assert found.notes[0] == "dimension batch has no size or range: 1..64 is taken; --dim or --shape sets another."
    assert len(found.notes) == 4


def test_without_a_range_open_dimensions_stay_an_error() -> None:
    with pytest.raises(ModelError, match="leaves open"):
        resolve_inputs(graph([], [IDS, MASK], []), {}, {})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"dims": {"bach": DimRange(1, 8)}}, r"--dim 'bach': no input has a dimension of this name.*batch"),
        ({"shapes": {"ids": (DimRange(9, 8), 3)}}, r"dimension 'batch': no size lies in 9\.\.8"),
        ({"shapes": {"ids": (DimRange(5, 7, 8), 3)}}, r"no size lies in 5\.\.7 \(multiples of 8\)"),
        ({"shapes": {"ids": (2, 3), "mask": (DimRange(1, 4), 3)}}, "makes dimension 'batch' 1..4; input 'ids' makes it 2"),
        ({"shapes": {"ids": (9, 3)}, "dims": {"batch": DimRange(1, 8)}}, "makes dimension 'batch' 9; --dim 'batch' makes it 1..8"),
    ],
)
def test_ranges_that_cannot_be_meant(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        resolve_inputs(graph([], [IDS, MASK], []), given.get("shapes", {}), {}, given.get("dims", {}))


def test_a_declared_size_has_no_range() -> None:
    with pytest.raises(UsageError, match="the model declares 3"):
        resolve_inputs(graph([], [IMAGE], []), {"x": (1, DimRange(1, 3), 4, 4)}, {})


def loaded(
    nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto], **constants: np.ndarray
) -> LoadedModel:
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    model: ModelProto = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs, initializers), opset_imports=[helper.make_opsetid("", 20)], ir_version=9
    )
    return load_model(model, ExternalData(None), "0")


ONE = np.array(1, np.int64)


def progression(declared: int | str) -> LoadedModel:
    """0, 1, 2, ... up to an input, of which the model says how many there are."""
    return loaded(
        [helper.make_node("Range", ["zero", "n", "one"], ["r"]), helper.make_node("Mul", ["r", "n"], ["y"])],
        [helper.make_tensor_value_info("n", TensorProto.INT64, [])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [declared])],
        zero=np.array(0, np.int64),
        one=ONE,
    )


def test_a_declared_output_gives_the_value_of_an_input() -> None:
    found = progression(5).graph
    verify_graph(found)
    assert [(name, v.type.static) for name, v in found.outputs] == [("y", (5,))]
    assert [name for name, _ in found.inputs] == ["n"], "it stays an input"
    assert evaluate(found, {"n": np.array(5)})["y"].tolist() == [0, 5, 10, 15, 20]
    with pytest.raises(ModelError, match="index"):
        evaluate(found, {"n": np.array(6)})


def test_without_a_declared_size_the_run_reads_the_value() -> None:
    (size,) = progression("k").graph.outputs[0][1].type.static
    assert [(s.source.input, s.source.index) for s in symbols(size) if isinstance(s.source, Element)] == [("n", 0)]


def test_some_elements_of_an_input_may_stay_unknown() -> None:
    """Only the first element decides a shape; the second one is read when the model runs."""
    found = loaded(
        [
            helper.make_node("Slice", ["pair", "zero", "one"], ["count"]),
            helper.make_node("ConstantOfShape", ["count"], ["y"]),
        ],
        [helper.make_tensor_value_info("pair", TensorProto.INT64, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        zero=np.array([0], np.int64),
        one=np.array([1], np.int64),
    ).graph
    assert evaluate(found, {"pair": np.array([3, 99])})["y"].tolist() == [0, 0, 0]
    with pytest.raises(ModelError, match="index"):
        evaluate(found, {"pair": np.array([4, 99])})


def test_a_declaration_that_no_value_gives_is_no_help() -> None:
    found = loaded(
        [helper.make_node("Mul", ["n", "two"], ["even"]), helper.make_node("ConstantOfShape", ["even"], ["y"])],
        [helper.make_tensor_value_info("n", TensorProto.INT64, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [7])],
        two=np.array([2], np.int64),
    )
    (size,) = found.graph.outputs[0][1].type.static
    assert substitute(size, {"n[0]": 5}) == 10


def added(first: DimRange, second: DimRange) -> LoadedModel:
    """The sum of two inputs whose dimensions have different names."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Add", ["a", "b"], ["y"])],
            "g",
            [tensor_input("a", "N", 3), tensor_input("b", None, 3)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    return load_model(model, ExternalData(None), "0", shapes={"a": (first, 3), "b": (second, 3)})


def test_dimensions_that_must_be_equal_become_one() -> None:
    found = added(DimRange(1, 64), DimRange(4, 128, 4))
    (a, b), ((_, y),) = (v.type.static[0] for _, v in found.graph.inputs), found.graph.outputs
    assert same(a, b) and same(a, y.type.static[0])
    (one,) = symbols(a)
    assert (one.name, one.low, one.high, one.divisor) == ("N", 4, 64, 4)
    assert found.notes == ("node '#0 Add' (Add): dimensions N and b[0] must be equal; the library takes them as N.",)


def test_dimensions_that_cannot_be_equal_are_refused() -> None:
    with pytest.raises(ModelError, match=r"dimension N has no size in 70\.\.64|do not broadcast"):
        added(DimRange(1, 64), DimRange(70, 128))


def masked(total: DimRange) -> LoadedModel:
    """A past and new rows, joined, and a mask over all of them whose dimension has a name of its own."""
    shapes = {"past": ("past", 4), "new": ("rows", 4), "mask": ("total", 1)}
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Concat", ["past", "new"], ["all"], axis=0), helper.make_node("Mul", ["all", "mask"], ["y"])],
            "masked",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    dims = {"past": DimRange(0, 20), "rows": DimRange(1, 6), "total": total}
    return load_model(model, ExternalData(None), "0", dims=dims)


def test_a_dimension_that_must_be_a_sum_becomes_it() -> None:
    found = masked(DimRange(1, 512))
    past, rows, mask = (v.type.static[0] for _, v in found.graph.inputs)
    assert same(mask, past + rows) and names([mask]) == ["past", "rows"]
    assert found.notes == ("node '#1 Mul' (Mul): dimension total must be past + rows; the library takes it as that.",)


def test_a_sum_outside_the_range_is_refused() -> None:
    with pytest.raises(ModelError, match=r"dimensions \[past \+ rows, total\] meet"):
        masked(DimRange(30, 40))


def expanded(**dims: DimRange) -> LoadedModel:
    """A number repeated to a shape of two sizes that the run says."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Expand", ["x", "shape"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, []), helper.make_tensor_value_info("shape", TensorProto.INT64, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    return load_model(model, ExternalData(None), "0", dims=dims)


def bounds(found: LoadedModel) -> list[tuple[int, int]]:
    ((_, value),) = found.graph.outputs
    return [(lower(size), upper(size)) for size in value.type.static]


def test_a_size_that_nothing_bounds_has_a_default_and_a_note() -> None:
    found = expanded()
    assert bounds(found) == [(0, 4096)] * 2
    assert found.notes == (
        "values of inputs are sizes without a bound: shape[0] up to 4096, shape[1] up to 4096; --dim sets other ranges.",
    )


def test_the_user_may_give_an_element_a_range() -> None:
    found = expanded(**{"shape[0]": DimRange(1, 7), "shape[1]": DimRange(2, 100_000)})
    assert bounds(found) == [(1, 7), (2, 100_000)] and not found.notes


@pytest.mark.parametrize("name", ["shape[2]", "x[0]", "shape"])
def test_a_range_of_what_decides_nothing_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="decides no shape|no input has a dimension of this name"):
        expanded(**{name: DimRange(1, 7)})


def product(a: DimRange, b: DimRange) -> LoadedModel:
    """A product whose inner dimension the model gives two names."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [2, "b"]), ("y", ["a", 3])))
    nodes, output = [helper.make_node("MatMul", ["x", "y"], ["z"])], helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3])
    model = helper.make_model(helper.make_graph(nodes, "g", [x, y], [output]), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return load_model(model, ExternalData(None), "0", dims={"a": a, "b": b})


def test_sizes_to_optimise_for_follow_a_dimension_that_becomes_one_with_another() -> None:
    dims = {"a": DimRange(1, 64, points=(5,)), "b": DimRange(4, 80, points=(16, 5))}
    found = product(**dims)
    assert found.renamed == {"b": "a"}
    assert points_of({}, dims, found) == {"a": (5, 16)}


def test_dimensions_that_must_be_equal_and_cannot_be() -> None:
    told = r"node '#0 MatMul' \(MatMul\): dimensions a of 8 to 16 \(multiples of 8\) and b of 12 to 30 \(multiples of 6\) must be equal"
    with pytest.raises(ModelError, match=told):
        product(DimRange(8, 16, 8), DimRange(12, 30, 6))
