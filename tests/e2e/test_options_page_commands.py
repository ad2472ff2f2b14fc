"""Every command of ours on docs/options.md runs, with what it leaves out filled in, on a network small enough for a test."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from nautilus_cli.cli.main import SUBCOMMANDS
from tests.e2e import networks
from tests.e2e.commands import Caller
from tests.e2e.decoders import decoder
from tests.e2e.networks import port, saved
from tests.unit.test_options_page import SPANS

COMMANDS = [span for span in SPANS if span.split()[0] in SUBCOMMANDS]

WORDS = {
    "M": "model.onnx",
    "MODEL": "model.onnx",
    "LIB.so": "libmodel.so",
    "DECODER.so": "libdecoder.so",
    "X.npz": "x.npz",
    "Y.npz": "y.npz",
    "F.json": "times.json",
    "FOLDER": "cases",
    "DIR": "temps",
    "N": "2",
    "S": "0.01",
    "SEED": "7",
    "T": "inner",
    "NODE": "activation",
}
"""What stands in for the page's placeholders; the network has a tensor and a node of these names."""

SHAPE = ["--shape", "x=1x3x8x8"]
QUICK = ["--iterations", "2", "--warmup", "1", "--duration", "0.01"]


@pytest.fixture
def folder(tmp_path: Path, nautilus: Caller, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, its library, inputs, and the outputs for them."""
    monkeypatch.chdir(tmp_path)
    nodes = [
        helper.make_node("Relu", ["x"], ["inner"], "activation"),
        helper.make_node("GlobalAveragePool", ["inner"], ["y"], "pool"),
    ]
    saved(networks.model(nodes, [port("x", "batch", 3, 8, 8)], [port("y", "batch", 3, 1, 1)]), tmp_path / "model.onnx")
    nautilus("compile", "model.onnx", "-o", "libmodel.so", *SHAPE, "--target", "emulated", "--no-verify").done()
    (tmp_path / "cases").mkdir()
    for path in (tmp_path / "x.npz", tmp_path / "cases/case.npz"):
        np.savez(path, x=np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32))
    nautilus("run", "libmodel.so", "--inputs", "x.npz", "--outputs", "y.npz").done()
    return tmp_path


def filled(span: str) -> list[str]:
    """Return a span's words with values for placeholders, and with the arguments and options that it takes for granted."""
    words = [WORDS.get(word, word) for word in re.sub(r"\bNx3", "1x3", span).replace("224x224", "8x8").split()]
    words = ["0" if before == "--device" else word for before, word in zip(["", *words], words, strict=False)]
    command, rest = words[0], words[1:]
    if command in ("compile", "tune") and "model.onnx" not in rest:
        rest.insert(0, "model.onnx")
    if command in ("run", "bench") and "libmodel.so" not in rest:
        rest.insert(0, "libmodel.so")
    if command == "verify" and "libmodel.so" not in rest:
        rest = ["model.onnx", "libmodel.so", *rest]
    if command == "compile":
        rest = [word for word in rest if word not in ("-o", "libmodel.so")] + ["-o", "libother.so"]
    if command == "run" and "--inputs" not in rest:
        rest += ["--inputs", "x.npz"]
    if command == "verify" and "--golden" in rest:
        rest += ["--inputs", "x.npz"]
    if command == "bench":
        rest += [word for pair in zip(QUICK[::2], QUICK[1::2], strict=True) if pair[0] not in rest for word in pair]
    if command in ("compile", "tune", "inspect", "check") and "model.onnx" in rest and not {"--shape", "--dim"} & set(rest):
        rest += SHAPE
    if command in ("compile", "tune") and "--target" not in rest:
        rest += ["--target", "emulated"]
    return [command, *rest]


@pytest.mark.parametrize("command", sorted(SUBCOMMANDS))
def test_commands_run(command: str, folder: Path, nautilus: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = [span for span in COMMANDS if span.split()[0] == command]
    assert spans
    if command == "cache":
        monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(folder / "cache"))  # which may be cleared
    if command == "generate":
        saved(decoder(), folder / "decoder.onnx")
        ranges = ("--dim", "batch=1..2", "--dim", "sequence=1..6", "--dim", "past=0..20")
        nautilus("compile", "decoder.onnx", "-o", "libdecoder.so", *ranges, "--inplace-cache", "--target", "emulated", "--no-verify").done()
    for span in spans:
        done = nautilus(*filled(span))
        assert done.code == 0, f"{span}: {done.err}"
        assert done.out, span
