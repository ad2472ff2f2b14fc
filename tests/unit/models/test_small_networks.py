"""The small networks are valid, run, are alive, and hold the operators of what they stand for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from models import weightless
from models.catalogue import graph
from models.small import EXPORTERS, NETWORKS, TYPES, build

STANDS_FOR = {"resnet": "resnet50", "mobilenet_v3": "mobilenet_v3", "vit": "vit_b16", "bert": "bert_base", "gpt2": "gpt2_s128"}


def run(model: onnx.ModelProto, seed: int = 0) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(seed)
    feeds = {}
    for port in session.get_inputs():
        if port.type == "tensor(int64)":
            feeds[port.name] = np.ones(port.shape, np.int64) if port.name == "mask" else generator.integers(0, 97, port.shape)
        else:
            feeds[port.name] = generator.standard_normal(port.shape).astype(np.float16 if port.type == "tensor(float16)" else np.float32)
    (output,) = session.run(None, feeds)
    return output


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_runs_and_depends_on_its_input(name: str, exporter: str, dtype: str):
    model = build(name, exporter, dtype)
    output, other = run(model), run(model, seed=1)
    assert np.isfinite(output).all()
    assert 0.05 < float(output.astype(np.float64).std()) < 20
    assert not np.allclose(output, other)


@pytest.mark.parametrize("name", NETWORKS)
def test_both_exporters_write_the_same_shape_of_result(name: str):
    assert run(build(name, "dynamo", batch=2)).shape == run(build(name, "torchscript", batch=2)).shape


def test_rows_of_a_batch_do_not_meet():
    """The index arithmetic of the mask keeps each row's own."""
    for exporter in EXPORTERS:
        session = onnxruntime.InferenceSession(build("bert", exporter, batch=2).SerializeToString(), providers=["CPUExecutionProvider"])
        ids, mask = np.arange(32).reshape(2, 16), np.ones((2, 16), np.int64)
        before = session.run(None, {"ids": ids, "mask": mask})[0]
        mask[1, 8:] = 0
        after = session.run(None, {"ids": ids, "mask": mask})[0]
        np.testing.assert_array_equal(before[0], after[0])
        assert not np.array_equal(before[1], after[1])


def test_a_row_masked_as_a_whole_is_not_nan():
    for exporter in EXPORTERS:
        session = onnxruntime.InferenceSession(build("bert", exporter).SerializeToString(), providers=["CPUExecutionProvider"])
        output = session.run(None, {"ids": np.zeros((1, 16), np.int64), "mask": np.zeros((1, 16), np.int64)})[0]
        assert np.isfinite(output).all()


def test_gpt2_is_causal():
    for exporter in EXPORTERS:
        session = onnxruntime.InferenceSession(build("gpt2", exporter).SerializeToString(), providers=["CPUExecutionProvider"])
        ids = np.arange(16).reshape(1, 16)
        before = session.run(None, {"ids": ids})[0]
        ids[0, 10] = 50
        after = session.run(None, {"ids": ids})[0]
        np.testing.assert_array_equal(before[0, :10], after[0, :10])
        assert not np.array_equal(before[0, 10:], after[0, 10:])


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_holds_the_operators_of_the_whole_model(name: str, exporter: str):
    whole = {node.op_type for node in weightless.read(graph(STANDS_FOR[name], exporter, "fp32")).graph.node}
    small = {node.op_type for node in build(name, exporter).graph.node}
    assert whole - small <= {"Identity"}
    assert small <= whole | {"Constant"}


def test_is_seeded():
    first, again, other = (build("resnet", seed=seed).SerializeToString(deterministic=True) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_command_line(tmp_path: Path):
    command = [sys.executable, "-m", "models.small", "gpt2", "torchscript", "fp16", str(tmp_path / "m.onnx")]
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parents[3])
    assert onnx.load(tmp_path / "m.onnx").graph.name == "gpt2"
    assert (
        subprocess.run([*command[:3], "nothing"], check=False, capture_output=True, cwd=Path(__file__).resolve().parents[3]).returncode == 2
    )
