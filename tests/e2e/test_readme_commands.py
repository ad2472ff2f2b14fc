"""What the README tells to type works: its shell commands in their order, and its Python example, on models small enough for a test."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from nautilus_cli.cli.main import SUBCOMMANDS
from tests.e2e import networks
from tests.e2e.commands import ROOT, Caller
from tests.e2e.decoders import decoder
from tests.e2e.networks import BATCH, WIDTH, perceptron, port, saved

README = (ROOT / "README.md").read_text()

SMALLER = {
    r"\b1x3x224x224\b": "1x3x8x8",
    r"\b1\.\.64x3x224x224\b": f"1..64x{WIDTH}",
    r"\bids=0\.\.30521\b": "ids=0..96",
    r"--trials \d+": "--trials 2",
    r"--dim past=0\.\.1023": "--dim past=0..20 --dim sequence=1..6 --dim batch=1..2",
    r"--tokens 20": "--tokens 4",
    # A library for other targets does not take the place of the one for this machine, which later commands go on with.
    r"-o libmodel\.so(?=.*--target )": "-o libother.so",
}
"""What is adapted: a pattern, and what stands in its place."""


def block(heading: str, language: str = "") -> str:
    """Return the first fenced block below a heading."""
    found = re.search(rf"^## {re.escape(heading)}\n.*?^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found, f"the README has no block of '{language}' below '{heading}'"
    return found[1]


def commands() -> list[str]:
    """Return the shell commands, without their comments."""
    lines = [line.split(" #")[0].strip() for line in block("From the shell").splitlines()]
    return [line for line in lines if line]


def captioner() -> ModelProto:
    """A network with the inputs that the README's commands speak of: input [1, 3, 8, 8] and ids [1, 4]; to scores [1, 4, 5]."""
    random = np.random.default_rng(0)
    weights = {"table": random.standard_normal((97, 3)), "w": random.standard_normal((3, 5))}
    nodes = [
        helper.make_node("GlobalAveragePool", ["input"], ["pooled"], "pool"),
        helper.make_node("Reshape", ["pooled", "shape"], ["image"], "flatten"),
        helper.make_node("Gather", ["table", "ids"], ["words"], "embed"),
        helper.make_node("Add", ["words", "image"], ["sum"], "add"),
        helper.make_node("MatMul", ["sum", "w"], ["scores"], "project"),
    ]
    inputs = [port("input", 1, 3, 8, 8), port("ids", 1, 4, dtype=TensorProto.INT64)]
    constants = {**{name: array.astype(np.float32) for name, array in weights.items()}, "shape": np.array([1, 1, 3])}
    return networks.model(nodes, inputs, [port("scores", 1, 4, 5)], constants)


def test_shell_commands(nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(captioner(), tmp_path / "model.onnx")
    saved(perceptron(batch="n"), tmp_path / "open.onnx")
    saved(decoder(), tmp_path / "decoder.onnx")
    np.savez(tmp_path / "x.npz", input=np.ones((1, 3, 8, 8), np.float32), ids=np.array([[0, 96, 5, 5]]))
    shown = commands()
    assert {line.split()[1] for line in shown} == set(SUBCOMMANDS)
    for line in shown:
        for pattern, replacement in SMALLER.items():
            line = re.sub(pattern, replacement, line)
        program, *arguments = shlex.split(line)
        assert program == "nautilus"
        done = nautilus(*arguments)
        assert done.code == 0, f"{line}: {done.err}"
        assert done.out, line
    with np.load(tmp_path / "y.npz") as outputs:
        assert outputs["scores"].shape == (1, 4, 5)


def test_python_example(nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(perceptron(), tmp_path / "model.onnx")
    nautilus("compile", "model.onnx", "-o", "libmodel.so", "--target", "emulated", "--no-verify").done()
    lines = block("From Python", "python").splitlines(keepends=True)
    on_a_gpu = [line for line in lines if "stream=" in line]
    assert len(on_a_gpu) == 1
    names: dict[str, Any] = {"array": np.ones((BATCH, WIDTH), np.float32)}
    exec("".join(line for line in lines if line not in on_a_gpu), names)
    np.testing.assert_allclose(names["result"]["y"].sum(axis=1), 1, rtol=1e-6)
