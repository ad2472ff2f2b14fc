"""What the command line shows, checks and compares of models with open dimensions."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.text import constants_by_key, parse_graph, print_graph
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from tests.e2e.commands import Caller
from tests.e2e.decoders import DIMS, decoder
from tests.e2e.networks import perceptron, saved

RANGE = ("--dim", "batch=1..40@16")
EMULATED = ("--target", "emulated")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(perceptron(batch="batch"), tmp_path / "model.onnx")


def test_a_plan_is_shown_without_being_built(nautilus: Caller, model: Path) -> None:
    shown = nautilus("compile", model, "--dry-run", *EMULATED, *RANGE).done().out
    assert "batch: 1..40" in shown and "x: f32[batch, 8]" in shown
    data = json.loads(nautilus("compile", model, "--dry-run", *EMULATED, *RANGE, "--json").done().out)
    assert [port["shape"] for port in data["outputs"]] == [["batch", 4], ["batch", 16]]
    assert [buffer["bytes"] for buffer in data["buffers"]] == ["16*batch"]
    assert data["arena_bytes"] == -(-16 * 40 // 256) * 256, "the most that any size needs"
    assert "the model needs" in nautilus("compile", model, "--dry-run", *EMULATED, *RANGE, "--max-memory", "1kB").refused(2)
    assert not model.with_name("libmodel.so").exists()


def test_a_cache_in_place_is_shown(nautilus: Caller, tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    onnx.save(decoder(), path)
    ranges = ("--dim", "batch=1..2", "--dim", "sequence=1..6", "--dim", "past=0..20")
    shown = nautilus("compile", path, "--dry-run", *EMULATED, *ranges, "--inplace-cache").done().out
    assert "past.1.key in the memory of present.1.key, with room for 26 along dimension 2" in shown
    data = json.loads(nautilus("compile", path, "--dry-run", *EMULATED, *ranges, "--inplace-cache", "--json").done().out)
    assert data["inputs"][1]["shared"] == {"port": 1, "axis": 2, "capacity": 26}
    plain = json.loads(nautilus("compile", path, "--dry-run", *EMULATED, *ranges, "--json").done().out)
    assert len(data["launches"]) < len(plain["launches"]) and "shared" not in plain["inputs"][1]
    assert data["memory_bytes"] < plain["memory_bytes"]


def test_a_model_is_looked_into(nautilus: Caller, model: Path) -> None:
    shown = nautilus("inspect", model, *EMULATED, *RANGE).done().out
    assert "input 'x' = %x : f32[batch, 8]" in shown and "m=batch" in shown
    data = json.loads(nautilus("inspect", model, *EMULATED, *RANGE, "--json").done().out)
    assert "m=batch" in data["kernels"][0]["problem"]
    assert "launch 0: gemm" in nautilus("inspect", model, *EMULATED, *RANGE, "--explain", "first").done().out
    assert "leaves open" in nautilus("inspect", model, *EMULATED).refused(3)


@pytest.mark.parametrize("has_mask", [False, True])
def test_the_text_of_a_model_parses_back(has_mask: bool, tmp_path: Path) -> None:
    """Of a decoder, before and after the passes, with its caches in place: shapes that nodes compute, and attributes that are sizes."""
    path = saved(decoder(has_mask=has_mask), tmp_path / "decoder.onnx")
    graph = load(path, dims={**DIMS, "total": DimRange(1, 26)} if has_mask else DIMS).graph
    attributes = {name: operator.attributes for name, operator in operators().items()}
    for each in (graph, pipeline.simplify(graph, inplace_cache=True)):
        text = print_graph(each)
        parsed = parse_graph(text, attributes, constants_by_key(each))
        assert print_graph(parsed) == text
        verify_graph(parsed)
    assert "{axis=2, position=size('past')}" in text and "dim 'past' = 0..20" in text


def test_a_model_is_checked(nautilus: Caller, model: Path) -> None:
    for more in ((), ("--fp32-mode", "3xtf32")):
        assert "launches" in nautilus("check", model, "--target", "sm_90a,emulated", *RANGE, *more).done().out
    assert "leaves open" in nautilus("check", model, *EMULATED).out
