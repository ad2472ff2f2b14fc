"""Networks as onnxruntime's graph optimiser leaves them: imported, and the operators' truths held against onnxruntime."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from models import weightless
from models.exports import FOLDER
from nautilus_cli.frontend.load import load
from nautilus_cli.lowering.planner import plan
from nautilus_cli.numerics import compare
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import from_deviation
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target

NETWORKS = {
    "clip": {"FusedMatMul", "QuickGelu", "SkipLayerNormalization"},
    "depth_anything": {"FusedConv", "FusedMatMul", "Gelu", "SkipLayerNormalization"},
    "mobilevit": {"FusedMatMul", "QuickGelu", "SkipLayerNormalization"},
    "roberta": {"FusedMatMul", "Gelu", "SkipLayerNormalization"},
    "t5_encoder": {"FastGelu"},
    "wav2vec2": {"FusedMatMul", "Gelu", "SkipLayerNormalization"},
}
"""What the optimiser finds in exports of torch.jit."""


def session(path: Path, level: onnxruntime.GraphOptimizationLevel, optimised: Path | None = None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3  # it warns of a file that suits this machine only
    if optimised is not None:
        options.optimized_model_filepath = str(optimised)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", NETWORKS)
def test_the_truths_agree_with_onnxruntime(name: str, tmp_path: Path) -> None:
    exported, optimised = tmp_path / "exported.onnx", tmp_path / "optimised.onnx"
    onnx.save(weightless.fill(FOLDER / name / "torchscript.fp32.onnx.xz"), exported)
    run = session(exported, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, optimised)
    fused = Counter(node.op_type for node in onnx.load(optimised).graph.node if node.domain == "com.microsoft")
    assert fused.keys() == NETWORKS[name]
    graph = load(optimised).graph
    assert Counter(node.op for node in graph.nodes if "::" in node.op) == {f"com.microsoft::{op}": n for op, n in fused.items()}
    rng = np.random.default_rng(1)
    feeds = {
        input_: rng.standard_normal(value.type.static).astype(np.float32)
        if value.type.dtype.is_float
        else rng.integers(0, 2, value.type.static).astype(value.type.dtype.numpy)
        for input_, value in graph.inputs
    }
    names = [output for output, _ in graph.outputs]
    expected = dict(zip(names, run.run(names, feeds), strict=True))
    for (output, found), error in zip(evaluate(graph, feeds).items(), estimate(graph, fp32_mode="ffma"), strict=True):
        result = compare(found, expected[output], from_deviation(error.deviation, expected[output], absolute=error.absolute))
        assert result.is_match, f"{output}: {result}"


@pytest.mark.parametrize("name", ["clip", "mobilevit"])
def test_the_kernels_are_those_of_the_network_as_exported(name: str, tmp_path: Path) -> None:
    """What the optimiser fused is taken apart and fused anew."""
    exported, optimised = tmp_path / "exported.onnx", tmp_path / "optimised.onnx"
    onnx.save(weightless.fill(FOLDER / name / "torchscript.fp32.onnx.xz"), exported)
    session(exported, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, optimised)
    families = []
    for path in (exported, optimised):
        planned = plan(
            pipeline.run(load(path).graph),
            target("sm_90a"),
            lambda family, problem, machine: family.choose(problem, machine),
            fp32_mode="ffma",
        )
        families.append(Counter(planned.kernels[launch.kernel].request.family for launch in planned.launches))
    assert families[0] == families[1]
