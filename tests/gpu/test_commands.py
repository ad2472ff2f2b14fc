"""Every command on a device: a fat library of a small network, compiled, verified in each way, run, measured and tuned."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import nautilus_cli
from models import small
from nautilus_cli.targets.base import Target
from tests.e2e.commands import ROOT, Caller
from tests.gpu.on_device import skip_without_device
from tests.support import fake_library

pytestmark = pytest.mark.gpu

skip_without_device()


@pytest.fixture
def nautilus(capfd: pytest.CaptureFixture[str]) -> Caller:
    return Caller(capfd)


@pytest.fixture(scope="module")
def target(architecture: Target) -> str:
    return architecture.name


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(small.build("resnet", "dynamo", "fp32"), path)
    return path


@pytest.fixture
def library(model: Path, target: str, nautilus: Caller, tmp_path: Path) -> Path:
    path = tmp_path / "libmodel.so"
    nautilus("compile", model, "-o", path, "--target", f"sm_80,{target},emulated", "--no-verify").done()
    return path


def test_compile_chooses_the_device_and_verifies(model: Path, target: str, nautilus: Caller, tmp_path: Path) -> None:
    said = json.loads(nautilus("compile", model, "-o", tmp_path / "libm.so", "--json").done().out)
    assert [found["target"] for found in said["targets"]] == [target]
    assert json.loads((tmp_path / "libm.verify.json").read_text())["match"] is True


def test_a_fat_library_runs_on_the_device_and_on_the_emulator(library: Path, model: Path, target: str, nautilus: Caller) -> None:
    with nautilus_cli.load(library) as loaded:
        assert loaded.info.target == target
        assert not loaded.is_emulated
    assert "runs here" in nautilus("doctor", library).done().out
    nautilus("verify", model, library).done()
    nautilus("verify", model, library, "--emulated").done()


def test_verify_in_every_way(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    inputs, golden = tmp_path / "x.npz", tmp_path / "y.npz"
    nautilus("verify", model, library, "--save-inputs", inputs, "--save-outputs", golden).done()
    nautilus("verify", model, library, "--inputs", inputs, "--golden", golden).done()
    nautilus("verify", model, library, "--per-node").done()
    folder = tmp_path / "dataset"
    folder.mkdir()
    for seed in ("1", "2"):
        nautilus("verify", model, library, "--seed", seed, "--save-inputs", folder / f"{seed}.npz").done()
    nautilus("verify", model, library, "--dataset", folder).done()


def test_run_and_bench(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    inputs = tmp_path / "x.npz"
    nautilus("verify", model, library, "--save-inputs", inputs).done()
    outputs = []
    for options in ((), ("--emulated",)):
        nautilus("run", library, "--inputs", inputs, "--outputs", tmp_path / "y.npz", *options).done()
        with np.load(tmp_path / "y.npz") as found:
            outputs.append({name: found[name] for name in found})
    for name, array in outputs[0].items():
        np.testing.assert_allclose(array, outputs[1][name], rtol=1e-3, atol=1e-4)
    quick = ("--iterations", "20", "--warmup", "2", "--duration", "0", "--json")
    for options in ((), ("--no-graph",), ("--include-transfers",), ("--contexts", "2"), ("--against", model), ("--percentile", "50,99.9")):
        said = json.loads(nautilus("bench", library, *quick, *options).done().out)
        assert said["emulated"] is False
        assert all(series["samples"] >= 20 for series in said["series"])
    assert len(said["series"]) == 1


def test_weights_beside_it_and_another_output(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    nautilus("compile", model, "-o", tmp_path / "libm.so", "--weights", "external").done()
    assert (tmp_path / "libm.weights.safetensors").exists()
    inner = next(name for node in onnx.load(model).graph.node[3:] for name in node.output)
    nautilus("compile", model, "-o", tmp_path / "libinner.so", "--outputs", inner).done()


def test_tune_then_compile(target: str, nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna", reason="tune needs optuna")
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "cache"))
    model = tmp_path / "model.onnx"
    onnx.save(small.build("bert", "dynamo", "fp32"), model)
    found = json.loads(nautilus("tune", model, "--trials", "6", "--json").done().out)
    assert found["target"] == target
    assert found["problems"]
    for problem in found["problems"]:
        assert problem["latency_us"] <= problem["baseline_us"]
    nautilus("compile", model, "-o", tmp_path / "libm.so").done()


def test_too_little_memory_is_an_error(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    assert "memory" in nautilus("compile", model, "-o", tmp_path / "libm.so", "--max-memory", "1KiB").refused(2)


def test_the_example_in_c(library: Path, target: str, tmp_path: Path) -> None:
    program = tmp_path / "example"
    fake_library.compile_c(program, "-std=c99", "-pedantic", ROOT / "tests" / "e2e" / "example.c", library)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"target {target}, device NVIDIA")
