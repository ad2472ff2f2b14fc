"""Models from before opset 6: attributes that became operands, types by name, inputs that a result may overwrite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, defs, helper

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.early_variants import EARLY_VARIANTS
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.verifier import verify_graph
from tests.unit.frontend.models import imported, model, node, output, tensor_input

X = np.random.default_rng(3).standard_normal((1, 2, 4, 6)).astype(np.float32)


def run(op: str, *, opset: int = 1, initializers: dict[str, np.ndarray] | None = None, type_: int = TensorProto.FLOAT, **attributes: Any):
    """Return what one node gives for X and the initializers."""
    names = list(initializers or {})
    proto = model([node(op, ["x", *names], ["y"], **attributes)], [tensor_input("x", *X.shape)], [output("y")], initializers, opset=opset)
    proto.graph.output[0].type.tensor_type.elem_type = type_
    loaded = imported(proto)
    verify_graph(loaded.graph)
    return evaluate(loaded.graph, {"x": X})["y"]


@pytest.mark.parametrize(
    "op", sorted(name for name, variants in EARLY_VARIANTS.items() if variants[0][0] == 6 and name not in ("Cast", "Tile"))
)
def test_inputs_that_a_result_may_overwrite_mean_nothing(op: str) -> None:
    """Every operator with that attribute: one node with it gives what a node of opset 6 gives without it."""
    schema = defs.get_schema(op, 6, "")
    count = max(1, schema.min_input)
    vectors = {f"v{i}": np.abs(X[0, :, 0, i]) for i in range(count - 1)}
    if op in ("Add", "Sub", "Mul", "Div"):
        vectors = {"v0": X + 1}
    np.testing.assert_array_equal(run(op, initializers=vectors, consumed_inputs=[0] * count), run(op, opset=6, initializers=vectors))


def test_cast_by_name() -> None:
    np.testing.assert_array_equal(run("Cast", to="INT32", type_=TensorProto.INT32), X.astype(np.int32))
    with pytest.raises(ModelError, match="the name of a type"):
        run("Cast", to="INTEGER")


def test_concat_s_default_axis_was_the_second() -> None:
    np.testing.assert_array_equal(run("Concat", opset=3, initializers={"b": X}), np.concatenate([X, X], 1))
    np.testing.assert_array_equal(run("Concat", opset=3, initializers={"b": X}, axis=3), np.concatenate([X, X], 3))


def test_pad_s_attribute_had_another_name() -> None:
    found = run("Pad", paddings=[0, 0, 1, 2, 0, 0, 3, 4], value=2.0)
    np.testing.assert_array_equal(found, np.pad(X, ((0, 0), (0, 0), (1, 3), (2, 4)), constant_values=2))
    with pytest.raises(ModelError, match="'paddings' is missing"):
        run("Pad", pads=[0] * 8)


def test_reshape_by_an_attribute() -> None:
    np.testing.assert_array_equal(run("Reshape", shape=[0, -1, 3]), X.reshape(1, -1, 3))
    np.testing.assert_array_equal(run("Reshape"), X)


def test_split_by_an_operand() -> None:
    nodes = [node("Split", ["x", "s"], ["y", "z"], axis=3)]
    proto = model(nodes, [tensor_input("x", *X.shape)], [output("y"), output("z")], {"s": np.array([1, 5], np.int64)}, opset=1)
    found = evaluate(imported(proto).graph, {"x": X})
    np.testing.assert_array_equal(found["y"], X[..., :1])
    np.testing.assert_array_equal(found["z"], X[..., 1:])


def test_tile_along_one_axis() -> None:
    operands = {"tiles": np.array([3], np.int64), "axis": np.array([2], np.int64)}
    np.testing.assert_array_equal(run("Tile", initializers=operands), np.tile(X, (1, 1, 3, 1)))
    with pytest.raises(ModelError, match="tiles and axis are"):
        run("Tile", initializers={**operands, "axis": np.array([4], np.int64)})
    proto = model(
        [node("Tile", ["x", "t", "a"], ["y"])],
        [tensor_input("x", 2), *(helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in "ta")],
        [output("y")],
        opset=5,
    )
    with pytest.raises(ModelError, match="not known at compile time"):
        imported(proto)


def test_pools_of_a_whole_exponent() -> None:
    np.testing.assert_allclose(run("GlobalLpPool", p=2.0), np.sqrt(np.square(X).sum((2, 3), keepdims=True)), np.float32(1e-6))
    with pytest.raises(ModelError, match=r"p is 1\.5"):
        run("GlobalLpPool", p=1.5)


def test_upsample_by_two_scales() -> None:
    np.testing.assert_array_equal(run("Upsample", height_scale=2.0, width_scale=3.0), X.repeat(2, 2).repeat(3, 3))
    with pytest.raises(ModelError, match="'height_scale' and 'width_scale'"):
        run("Upsample", height_scale=2.0)
