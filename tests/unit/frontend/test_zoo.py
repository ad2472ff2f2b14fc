"""The committed graphs: both exporters' shape and mask arithmetic vanishes at import, and the numbers are right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from models import weightless
from nautilus_cli.frontend import load_model
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.ir.text import constants_by_key, print_graph
from nautilus_cli.ir.text_reader import parse_graph
from nautilus_cli.ir.types import I64
from nautilus_cli.numerics.comparison import compare
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import from_deviation
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.verifier import verify_graph
from tests.support.hollow import hollow

MODELS = Path(weightless.__file__).parent

NODES = {
    "resnet50/dynamo": 122,
    "resnet50/torchscript": 122,
    "mobilenet_v3/dynamo": 140,
    "mobilenet_v3/torchscript": 140,
    "efficientnet_b0/dynamo": 239,
    "efficientnet_b0/torchscript": 239,
    "convnext_tiny/dynamo": 222,
    "convnext_tiny/torchscript": 292,
    "vit_b16/dynamo": 476,
    "vit_b16/torchscript": 524,
    "bert_base/dynamo": 441,
    "bert_base/torchscript": 481,
    "gpt2_s128/dynamo": 524,
    "gpt2_s128/torchscript": 512,
    "llama1b_decode/torchscript": 1053,
}
"""Nodes after import: of the exports' 140 to 1774, what computes on run-time values."""

VANISHED = {"Shape", "Size", "Identity", "Constant", "ConstantOfShape", "Range", "Equal", "LessOrEqual", "GreaterOrEqual", "Mod", "Floor"}
"""What exporters spell shapes, positions and masks with; nothing of it depends on a run-time value in these models."""


@pytest.mark.parametrize("name", NODES)
def test_only_run_time_work_remains(name: str, tmp_path: Path) -> None:
    loaded = hollow(weightless.read(MODELS / f"{name}.fp32.onnx.xz"), tmp_path)
    verify_graph(loaded.graph)
    counts = Counter(n.op for n in loaded.graph.nodes)
    assert not counts.keys() & VANISHED
    assert counts.total() == NODES[name]
    assert all(v.type.shape for _, v in loaded.graph.inputs)
    shapes = [n for n in loaded.graph.nodes if n.op == "Concat" and any(v.type.dtype == I64 for v in n.results())]
    assert not shapes


@pytest.mark.parametrize("name", ["mobilenet_v3/dynamo", "convnext_tiny/torchscript"])
def test_text_of_a_real_model_parses_back(name: str, tmp_path: Path) -> None:
    graph = hollow(weightless.read(MODELS / f"{name}.fp32.onnx.xz"), tmp_path).graph
    text = print_graph(graph)
    parsed = parse_graph(text, {key: operator.attributes for key, operator in operators().items()}, constants_by_key(graph))
    verify_graph(parsed)
    assert print_graph(parsed) == text


@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
def test_evaluation_agrees_with_onnxruntime(exporter: str) -> None:
    proto = weightless.fill(MODELS / f"mobilenet_v3/{exporter}.fp32.onnx.xz")
    graph = load_model(proto, ExternalData(None), "").graph
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal(v.type.static).astype(v.type.dtype.numpy) for name, v in graph.inputs}
    found = evaluate(graph, feeds)
    wanted = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, feeds)
    for (name, actual), expected, error in zip(found.items(), wanted, estimate(graph, fp32_mode="ffma"), strict=True):
        result = compare(actual, expected, from_deviation(error.deviation, expected))
        assert result.is_match, f"{name}: {result}"
