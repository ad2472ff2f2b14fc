"""Other outputs than the model's: compiled, verified and run through the command line, on the emulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.e2e.commands import Caller
from tests.e2e.networks import BATCH, CLASSES, HIDDEN, WIDTH, perceptron, saved


def test_a_library_of_other_outputs(nautilus: Caller, tmp_path: Path) -> None:
    model, library = saved(perceptron(), tmp_path / "model.onnx"), tmp_path / "libcut.so"
    nautilus("compile", model, "-o", library, "--target", "emulated", "--outputs", "logits", "--outputs", "sum").done()
    manifest = json.loads(library.with_suffix(".json").read_text())
    assert [(port["name"], port["shape"]) for port in manifest["outputs"]] == [("logits", [BATCH, CLASSES]), ("sum", [BATCH, HIDDEN])]
    assert "softmax" not in [node for launch in manifest["launches"] for node in launch["nodes"]]
    again = nautilus("verify", model, library, "--seed", "3", "--save-outputs", tmp_path / "golden.npz").done()
    assert [line.split()[0] for line in again.out.splitlines()] == ["output", "logits", "sum"]
    nautilus("verify", model, library, "--seed", "3", "--golden", tmp_path / "golden.npz").done()

    x = np.ones((BATCH, WIDTH), np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    nautilus("run", library, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz").done()
    with np.load(tmp_path / "y.npz") as outputs:
        assert sorted(outputs.files) == ["logits", "sum"]


def test_dry_run(nautilus: Caller, tmp_path: Path) -> None:
    model = saved(perceptron(), tmp_path / "model.onnx")
    said = nautilus("compile", model, "--dry-run", "--target", "emulated").done().out
    for part in ("inputs: x: f32[2, 8]", "outputs: y: f32[2, 4], hidden: f32[2, 16]", "tile_m=", "first, bias, activation", "workspace"):
        assert part in said
    found = json.loads(nautilus("compile", model, "--dry-run", "--target", "emulated", "--json").done().out)
    assert [launch["nodes"] for launch in found["launches"]] == [["first", "bias", "activation"], ["second"], ["softmax"]]
    nautilus("compile", model, "-o", tmp_path / "libm.so", "--target", "emulated", "--max-memory", "1KiB").refused(2)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
