"""Opsets: which are accepted, and that older forms of operators keep their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import IR_VERSION, ModelProto, TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend import importer
from nautilus_cli.frontend.opsets import OLDEST, newest
from nautilus_cli.frontend.variants import VARIANTS
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.verifier import verify_graph
from tests.unit.frontend.models import imported, model, node, ops, output, tensor_input, told, unary
from tests.unit.ops.oracle import onnxruntime_says, same

RANDOM = np.random.default_rng(1)


def refused(proto: ModelProto) -> str:
    with pytest.raises(ModelError) as caught:
        imported(proto)
    return told(caught.value)


@pytest.mark.parametrize("opset", range(OLDEST, newest() + 1))
def test_every_opset_is_accepted(opset: int) -> None:
    assert ops(imported(model([node("Relu", ["x"], ["y"])], [tensor_input("x", 2)], [output("y")], opset=opset))) == ["Relu"]


@pytest.mark.parametrize("opset", [-1, 0, OLDEST - 1, newest() + 1, 2**40])
def test_other_opsets_are_refused(opset: int) -> None:
    message = refused(model([node("Relu", ["x"], ["y"])], [tensor_input("x", 2)], [output("y")], opset=opset))
    assert message == (
        f"the model: opset {opset} is not supported | Supported are opsets {OLDEST} to {newest()}; export the model for one of them."
    )


def test_model_without_an_opset() -> None:
    proto = unary("Relu")
    del proto.opset_import[:]
    assert refused(proto) == "the model: does not say which opset it is written in | Its opset_import needs the domain ai.onnx."


def test_domain_in_two_versions() -> None:
    proto = unary("Relu")
    proto.opset_import.append(helper.make_opsetid("ai.onnx", 19))
    assert refused(proto) == "the model: imports the domain 'ai.onnx' in two versions"


def test_newer_format() -> None:
    proto = unary("Relu")
    proto.ir_version = IR_VERSION + 1
    assert f"the model: IR version {IR_VERSION + 1} is newer than {IR_VERSION}" in refused(proto)


def test_default_domain_has_two_spellings() -> None:
    proto = unary("Relu")
    proto.graph.node[0].domain = "ai.onnx"
    proto.opset_import[0].domain = "ai.onnx"
    assert ops(imported(proto)) == ["Relu"]


def same_as_onnx(opset: int, op: str, *arrays: np.ndarray, **attributes: Any) -> list[str]:
    """Import one node of an older opset and compare it with onnx's reference on seeded inputs; return the operators it became."""
    names = [f"i{n}" for n in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, arrays, strict=True)
    ]
    proto = model([node(op, names, ["y"], **attributes)], inputs, [helper.make_empty_tensor_value_info("y")], opset=opset)
    loaded = imported(proto)
    verify_graph(loaded.graph)
    feeds = dict(zip(names, arrays, strict=True))
    (wanted,) = ReferenceEvaluator(proto).run(None, feeds)
    found = evaluate(loaded.graph, feeds)["y"]
    assert found.shape == wanted.shape
    np.testing.assert_array_almost_equal_nulp(found, np.asarray(wanted, found.dtype), 8)
    return ops(loaded)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("axis", [-2, 0, 1, 2, 3])
@pytest.mark.parametrize(("opset", "op"), [(6, "Softmax"), (11, "Softmax"), (12, "LogSoftmax")])
def test_softmax_over_flattened_dimensions(opset: int, op: str, axis: int) -> None:
    """Checked against the definition, since onnx's reference only knows the newer one."""
    x = normal(2, 3, 4, 5)
    loaded = imported(model([node(op, ["x"], ["y"], axis=axis)], [tensor_input("x", *x.shape)], [output("y")], opset=opset))
    verify_graph(loaded.graph)
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(np.float64)
    wanted = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    wanted = (np.log(wanted) if op == "LogSoftmax" else wanted).reshape(x.shape)
    np.testing.assert_array_almost_equal_nulp(evaluate(loaded.graph, {"x": x})["y"], wanted.astype(np.float32), 64)
    assert ops(loaded) == ([op] if axis == 3 else ["Reshape", op, "Reshape"])


def test_softmax_s_default_axis_was_the_second() -> None:
    loaded = imported(model([node("Softmax", ["x"], ["y"])], [tensor_input("x", 2, 3, 4)], [output("y")], opset=12))
    assert ops(loaded) == ["Reshape", "Softmax", "Reshape"]
    assert loaded.graph.nodes[-1].outputs[0].tensor == "y"  # type: ignore[union-attr]


def test_softmax_axis_out_of_range() -> None:
    assert "node '#0 Softmax' (Softmax): axis is 4; for a tensor of rank 2 the specification allows -2 to 2" in refused(
        model([node("Softmax", ["x"], ["y"], axis=4)], [tensor_input("x", 2, 3)], [output("y")], opset=12)
    )


@pytest.mark.parametrize(
    ("shape", "attributes", "aligned"),
    [
        ((2, 3, 4), {}, (2, 3, 4)),
        ((4,), {"broadcast": 1}, (4,)),
        ((3, 4), {"broadcast": 1}, (3, 4)),
        ((3,), {"broadcast": 1, "axis": 1}, (3, 1)),
        ((2, 3), {"broadcast": 1, "axis": 0}, (2, 3, 1)),
        ((3,), {"broadcast": 1, "axis": -2}, (3, 1)),
    ],
)
def test_broadcasting_by_axis(shape: tuple[int, ...], attributes: dict[str, int], aligned: tuple[int, ...]) -> None:
    a, b = normal(2, 3, 4), normal(*shape)
    inputs = [tensor_input("a", *a.shape), tensor_input("b", *b.shape)]
    loaded = imported(model([node("Sub", ["a", "b"], ["y"], **attributes)], inputs, [output("y")], opset=6))
    np.testing.assert_array_equal(evaluate(loaded.graph, {"a": a, "b": b})["y"], a - b.reshape(aligned))


@pytest.mark.parametrize(
    ("shape", "attributes", "message"),
    [
        ((4,), {}, "without broadcast=1 the specification requires equal shapes"),
        ((3,), {"broadcast": 1, "axis": 3}, "axis is 3; operands of rank 3 and 1 allow 0 to 2"),
    ],
)
def test_broadcasting_that_does_not_fit(shape: tuple[int, ...], attributes: dict[str, int], message: str) -> None:
    inputs = [tensor_input("a", 2, 3, 4), tensor_input("b", *shape)]
    assert message in refused(model([node("Add", ["a", "b"], ["y"], **attributes)], inputs, [output("y")], opset=6))


def test_prelu_with_a_slope_a_channel() -> None:
    x, slope = normal(2, 3, 4), normal(3)
    inputs = [tensor_input("x", *x.shape), tensor_input("s", 3)]
    loaded = imported(model([node("PRelu", ["x", "s"], ["y"])], inputs, [output("y")], opset=6))
    np.testing.assert_array_equal(evaluate(loaded.graph, {"x": x, "s": slope})["y"], np.where(x < 0, x * slope.reshape(3, 1), x))


def test_older_attributes_that_mean_nothing_at_inference_are_dropped() -> None:
    vectors = {name: normal(3) for name in ("scale", "bias", "mean")} | {"var": np.abs(normal(3))}
    nodes = [
        node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], ["b"], is_test=1),
        node("Dropout", ["b"], ["d"], is_test=1),
        node("Gemm", ["d", "w", "c"], ["y"], broadcast=1),
    ]
    initializers = {**vectors, "w": normal(3, 5), "c": normal(5)}
    loaded = imported(model(nodes, [tensor_input("x", 2, 3)], [output("y")], initializers, opset=6))
    assert ops(loaded) == ["BatchNormalization", "Dropout", "Gemm"]


@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Mean"])
def test_variadic_operators_before_broadcasting(op: str) -> None:
    assert same_as_onnx(7, op, normal(2, 3), normal(2, 3)) == [op]


@pytest.mark.parametrize(
    ("opset", "op", "shape", "attributes"),
    [
        (7, "Clip", (2, 3), {"min": -0.5, "max": 0.5}),
        (9, "Slice", (4, 5), {"starts": [1, -3], "ends": [3, 100], "axes": [0, 1]}),
        (11, "Squeeze", (1, 3, 1), {"axes": [0]}),
        (12, "Unsqueeze", (3,), {"axes": [0, 2]}),
        (12, "ReduceSum", (2, 3, 4), {"axes": [1], "keepdims": 0}),
        (17, "ReduceMean", (2, 3, 4), {"axes": [-1], "keepdims": 1}),
        (17, "ReduceMax", (2, 3, 4), {"keepdims": 0}),
    ],
)
def test_attributes_that_became_operands(opset: int, op: str, shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    assert same_as_onnx(opset, op, normal(*shape), **attributes) == [op]


def test_hardmax_over_flattened_dimensions() -> None:
    x = normal(2, 3, 4)
    loaded = imported(model([node("Hardmax", ["x"], ["y"])], [tensor_input("x", *x.shape)], [output("y")], opset=11))
    verify_graph(loaded.graph)
    found = evaluate(loaded.graph, {"x": x})["y"].reshape(2, 12)
    np.testing.assert_array_equal(found.argmax(1), x.reshape(2, 12).argmax(1))
    np.testing.assert_array_equal(found.sum(1), 1)


def test_scatter_before_it_had_its_name() -> None:
    loaded = imported(
        model(
            [node("Scatter", ["x", "i", "u"], ["y"], axis=1)],
            [tensor_input("x", 2, 3), helper.make_tensor_value_info("i", TensorProto.INT64, [2, 2]), tensor_input("u", 2, 2)],
            [output("y")],
            opset=10,
        )
    )
    feeds = {"x": normal(2, 3), "i": np.array([[2, 0], [-2, 2]]), "u": normal(2, 2)}
    wanted = feeds["x"].copy()
    np.put_along_axis(wanted, feeds["i"], feeds["u"], 1)
    np.testing.assert_array_equal(evaluate(loaded.graph, feeds)["y"], wanted)


def test_top_k_with_its_number_as_an_attribute() -> None:
    proto = model([node("TopK", ["x"], ["v", "y"], k=2, axis=0)], [tensor_input("x", 5, 3)], [output("v"), output("y")], opset=9)
    proto.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    x = normal(5, 3)
    found = evaluate(imported(proto).graph, {"x": x})
    np.testing.assert_array_equal(found["y"], np.argsort(-x, 0)[:2])
    np.testing.assert_array_equal(found["v"], np.take_along_axis(x, found["y"], 0))


def test_group_normalization_with_a_scale_a_group() -> None:
    x, scale, bias = normal(2, 4, 3), normal(2), normal(2)
    inputs = [tensor_input("x", 2, 4, 3), tensor_input("scale", 2), tensor_input("bias", 2)]
    proto = model([node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=2)], inputs, [output("y")], opset=18)
    loaded = imported(proto)
    verify_graph(loaded.graph)
    groups = x.reshape(2, 2, -1).astype(np.float64)
    normed = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    wanted = (normed * scale[None, :, None] + bias[None, :, None]).reshape(x.shape)
    found = evaluate(loaded.graph, {"x": x, "scale": scale, "bias": bias})["y"]
    np.testing.assert_array_almost_equal_nulp(found, wanted.astype(np.float32), 256)


def test_onnx_s_converter_translates_what_has_no_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normal(2, 3, 4)
    proto = model([node("Softmax", ["x"], ["y"], "soft", axis=1)], [tensor_input("x", *x.shape)], [output("y")], opset=11)
    by_variant = imported(proto)
    monkeypatch.setattr(importer, "VARIANTS", {})
    loaded = imported(proto)
    verify_graph(loaded.graph)
    assert ops(by_variant) != ops(loaded)
    assert all(n.origin[0].startswith("soft/") for n in loaded.graph.nodes)
    assert dict(loaded.graph.outputs)["y"].tensor == "y"
    np.testing.assert_array_equal(evaluate(loaded.graph, {"x": x})["y"], evaluate(by_variant.graph, {"x": x})["y"])


def test_what_the_converter_cannot_translate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "VARIANTS", {})
    nodes = [node("Add", ["x", "b"], ["y"], broadcast=1, axis=1)]
    proto = model(nodes, [tensor_input("x", 2, 3, 4)], [output("y")], {"b": normal(3)}, opset=6)
    message = refused(proto)
    assert "node '#0 Add' (Add): has another meaning in opset 6 than from opset 7 on, and ONNX's converter cannot translate it" in message
    assert "| Export the model for opset 7 or later." in message


def test_every_older_form_has_a_variant() -> None:
    """An operator whose rules do not cover an older form is in the table: ONNX's converter leaves some as they are without a word."""
    history = defs.get_all_schemas_with_history()
    uncovered = set()
    for name, operator in operators().items():
        if "::" in name or not defs.has(name):  # onnxruntime's own, whichever domain they are in
            continue
        versions = sorted(s.since_version for s in history if s.name == name and s.domain == "")
        reachable = [v for v, following in zip(versions, [*versions[1:], newest() + 1], strict=True) if following > OLDEST]
        if any(v < operator.since for v in reachable) and name not in VARIANTS:
            uncovered.add(name)
    assert uncovered == set()


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("opset", "op", "scales"),
    [
        (10, "Resize", (1, 1, 2, 1.3)),
        (10, "Resize", (1, 1, 0.6, 0.3)),
        (10, "Resize", (1, 1, 0.6, 1.3)),
        (9, "Upsample", (1, 1, 2, 1.3)),
        (8, "Upsample", (1, 1, 1.7, 3)),
    ],
)
def test_resize_without_coordinates(opset: int, op: str, scales: tuple[float, ...], mode: str) -> None:
    """Checked against onnxruntime: the specification says not which element is nearest, and onnx has no reference for it."""
    # Of one sign, so that nothing cancels and units in the last place say how near two results are.
    x, numbers = np.random.default_rng(0).uniform(1, 2, (1, 2, 7, 5)).astype(np.float32), np.array(scales, np.float32)
    is_attribute = opset < 9
    attributes = {"mode": mode, **({"scales": [float(s) for s in scales]} if is_attribute else {})}
    operands = [] if is_attribute else [numbers]
    (wanted,) = onnxruntime_says(op, [x, *operands], attributes, 1, opset)
    initializers = {} if is_attribute else {"s": numbers}
    nodes = [node(op, ["x", *(["s"] if operands else [])], ["y"], **attributes)]
    loaded = imported(model(nodes, [tensor_input("x", *x.shape)], [output("y")], initializers, opset=opset))
    verify_graph(loaded.graph)
    assert set(ops(loaded)) == {"Resize"}
    np.testing.assert_array_almost_equal_nulp(evaluate(loaded.graph, {"x": x})["y"], wanted, 0 if mode == "nearest" else 64)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic", None])
def test_modes_of_grids_had_other_names(mode: str | None) -> None:
    x, grid = normal(1, 2, 4, 5), normal(1, 3, 3, 2)
    attributes = {} if mode is None else {"mode": mode}
    (wanted,) = onnxruntime_says("GridSample", [x, grid], attributes, 1, 16)
    inputs = [tensor_input("x", *x.shape), tensor_input("g", *grid.shape)]
    loaded = imported(model([node("GridSample", ["x", "g"], ["y"], **attributes)], inputs, [output("y")], opset=16))
    same(evaluate(loaded.graph, {"x": x, "g": grid})["y"], wanted, terms=64, depth=32)
