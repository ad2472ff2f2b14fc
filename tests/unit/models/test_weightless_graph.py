"""Graphs without weights: stripping, filling, and those that are committed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from models import weightless
from models.catalogue import catalogue
from models.halve import halve

RNG = np.random.default_rng(0)
TENSORS = {
    "large": (RNG.standard_normal((96, 64)) * 0.25 + 3).astype(np.float32),
    "half": RNG.standard_normal((96, 64)).astype(np.float16),
    "small": RNG.standard_normal(16).astype(np.float32),
    "mask": np.tril(np.ones((96, 64), np.float32)),
    "infinite": np.where(np.arange(6144) % 7 == 0, -np.inf, RNG.standard_normal(6144)).astype(np.float32),
    "indices": np.arange(6144, dtype=np.int64),
}


def model_with(tensors: dict[str, np.ndarray]) -> onnx.ModelProto:
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"], doc_string="a stack trace") for name in tensors]
    outputs = [helper.make_tensor_value_info(f"{n}_out", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in tensors.items()]
    graph = helper.make_graph(nodes, "g", [], outputs, [numpy_helper.from_array(a, n) for n, a in tensors.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def initializers(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    source, target = tmp_path / "model.onnx", tmp_path / "graph.onnx.xz"
    onnx.save(model_with(TENSORS), source)
    assert weightless.strip(source, target).tensors == 2
    return target


def test_large_tensors_come_back_with_their_statistics(packed: Path):
    filled = initializers(weightless.fill(packed))
    for name in ("large", "half"):
        assert filled[name].dtype == TENSORS[name].dtype
        assert filled[name].shape == TENSORS[name].shape
        assert not np.array_equal(filled[name], TENSORS[name])
        deviation = float(TENSORS[name].astype(np.float64).std())
        assert filled[name].astype(np.float64).mean() == pytest.approx(TENSORS[name].astype(np.float64).mean(), abs=deviation / 10)
        assert filled[name].astype(np.float64).std() == pytest.approx(deviation, rel=0.1)


def test_everything_else_stays(packed: Path):
    filled = initializers(weightless.fill(packed))
    for name in ("small", "mask", "infinite", "indices"):
        np.testing.assert_array_equal(filled[name], TENSORS[name])


@pytest.mark.parametrize(("keep", "dropped"), [(6143, 2), (6144, 0)])
def test_how_much_is_kept_can_be_said(keep: int, dropped: int, tmp_path: Path):
    source, target = tmp_path / "model.onnx", tmp_path / "graph.onnx.xz"
    onnx.save(model_with(TENSORS), source)
    assert weightless.strip(source, target, keep_elements=keep).tensors == dropped


def test_filling_is_seeded(packed: Path):
    first, again, other = (weightless.fill(packed, seed).SerializeToString(deterministic=True) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_filled_models_keep_no_trace_of_it(packed: Path):
    model = weightless.fill(packed)
    assert not model.metadata_props
    assert all(not node.doc_string for node in model.graph.node)
    onnx.checker.check_model(model, full_check=True)


def test_a_file_that_was_not_stripped_is_refused(tmp_path: Path):
    import lzma

    path = tmp_path / "graph.onnx.xz"
    path.write_bytes(lzma.compress(model_with({"small": TENSORS["small"]}).SerializeToString()))
    with pytest.raises(ValueError, match="no stripped graph"):
        weightless.fill(path)


def test_large_weights_go_beside_the_model(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(weightless, "EXTERNAL_BYTES", 1000)
    assert weightless.main(["fill", str(packed), str(tmp_path / "out.onnx"), "3"]) == 0
    assert (tmp_path / "out.onnx.data").is_file()
    loaded, expected = initializers(onnx.load(tmp_path / "out.onnx")), initializers(weightless.fill(packed, 3))
    np.testing.assert_array_equal(loaded["large"], expected["large"])


def test_small_weights_stay_inside(packed: Path, tmp_path: Path):
    assert weightless.main(["fill", str(packed), str(tmp_path / "out.onnx")]) == 0
    assert not (tmp_path / "out.onnx.data").exists()


def test_command_line_usage(capsys: pytest.CaptureFixture[str]):
    assert weightless.main(["empty"]) == 2
    assert "Usage" in capsys.readouterr().err


GRAPHS = [graph.path for model in catalogue().values() for graph in model.graphs]


@pytest.mark.parametrize("path", GRAPHS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_committed_graphs_are_whole(path: Path):
    """Every graph reads, and its operands are inputs, weights or results of earlier nodes."""
    model = weightless.read(path)
    known = {t.name for t in model.graph.initializer} | {i.name for i in model.graph.input} | {""}
    for node in model.graph.node:
        assert set(node.input) <= known
        known |= set(node.output)
    assert {o.name for o in model.graph.output} <= known


def test_catalogue_covers_the_benchmark_models():
    models = catalogue()
    assert {"resnet50", "mobilenet_v3", "vit_b16", "bert_base", "gpt2_s128"} <= set(models)
    for name in ("resnet50", "mobilenet_v3", "vit_b16", "bert_base", "gpt2_s128"):
        variants = {(g.exporter, g.dtype) for g in models[name].graphs if g.batch == 1}
        assert variants == {(e, d) for e in ("dynamo", "torchscript") for d in ("fp32", "fp16")}
    assert models["ppocr_cls"].is_fetched


@pytest.mark.parametrize("path", [p for p in GRAPHS if "torchscript.fp16" in p.name], ids=lambda p: p.parent.name)
def test_types_of_half_precision_exports_agree(path: Path):
    onnx.shape_inference.infer_shapes(weightless.read(path), check_type=True, strict_mode=True)


def test_halving_makes_mixed_attention_valid():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT16, [2, 3])
    mask = helper.make_node("Constant", [], ["mask"], value=numpy_helper.from_array(np.array(-1e4, np.float32)))
    cast = helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT)
    add = helper.make_node("Add", ["wide", "mask"], ["scores"])
    scale = helper.make_node("Mul", ["scores", "weight"], ["y"])
    graph = helper.make_graph([mask, cast, add, scale], "g", [x], [y], [numpy_helper.from_array(np.float16([1, 2, 3]), "weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    with pytest.raises(onnx.shape_inference.InferenceError):
        onnx.checker.check_model(model, full_check=True)
    onnx.checker.check_model(halve(model), full_check=True)
