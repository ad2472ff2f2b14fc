"""Recurrent layers from file to library, held against onnxruntime; options that only a whole graph shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from tests.e2e.networks import model, port, saved

STEPS, BATCH, INPUTS, HIDDEN = 6, 3, 5, 12
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Network:
    """Collects layers, their weights and the outputs that are read."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(0)

    def weight(self, name: str, *shape: int) -> str:
        self.weights[name] = (0.4 * self.random.standard_normal(shape)).astype(np.float32)
        return name

    def layer(
        self,
        op: str,
        name: str,
        x: str,
        inputs: int,
        results: Sequence[str],
        *,
        lengths: str = "",
        states: Sequence[str] = (),
        **attrs: Any,
    ) -> None:
        directions = 2 if attrs.get("direction") == "bidirectional" else 1
        g = GATES[op]
        operands = [
            x,
            self.weight(f"{name}.w", directions, g * HIDDEN, inputs),
            self.weight(f"{name}.r", directions, g * HIDDEN, HIDDEN),
            self.weight(f"{name}.b", directions, 2 * g * HIDDEN),
            lengths,
            *states,
        ]
        self.nodes.append(helper.make_node(op, operands, results, name, hidden_size=HIDDEN, **attrs))

    def node(self, op: str, inputs: Sequence[str], output: str, **attrs: Any) -> None:
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attrs))


def stacked() -> ModelProto:
    """Two directions into one, lengths at run time, a state that comes in and goes out, work after a layer."""
    n = Network()
    n.layer("LSTM", "first", "x", INPUTS, ["y1", "", "c1"], lengths="lengths", direction="bidirectional")
    n.weights["turned"] = np.array([STEPS, BATCH, 2 * HIDDEN])
    n.node("Transpose", ["y1"], "y1t", perm=[0, 2, 1, 3])
    n.node("Reshape", ["y1t", "turned"], "joined")
    n.layer("GRU", "second", "joined", 2 * HIDDEN, ["y2", "h2"], states=["h0"], linear_before_reset=1)
    n.weights["axis"] = np.array([1])
    n.node("Squeeze", ["y2", "axis"], "flat")
    n.node("Relu", ["flat"], "active")
    n.layer("RNN", "third", "active", HIDDEN, ["", "h3"], direction="reverse", activations=["Softsign"])
    lengths = port("lengths", BATCH, dtype=TensorProto.INT32)
    outputs = [
        port("active", STEPS, BATCH, HIDDEN),
        port("c1", 2, BATCH, HIDDEN),
        port("h2", 1, BATCH, HIDDEN),
        port("h3", 1, BATCH, HIDDEN),
    ]
    return model(n.nodes, [port("x", STEPS, BATCH, INPUTS), lengths, port("h0", 1, BATCH, HIDDEN)], outputs, n.weights)


def streaming() -> ModelProto:
    """One time step, whose results all have the same elements: work that reads several of them is part of the kernel."""
    n = Network()
    n.layer("LSTM", "step", "x", INPUTS, ["y", "h", "c"], states=["h0", "c0"])
    n.weights["axis"] = np.array([0])
    n.node("Squeeze", ["y", "axis"], "squeezed")
    n.node("Add", ["squeezed", "c"], "sum")
    n.node("Tanh", ["sum"], "mixed")
    state = (1, BATCH, HIDDEN)
    inputs = [port("x", 1, BATCH, INPUTS), port("h0", *state), port("c0", *state)]
    return model(n.nodes, inputs, [port(name, *state) for name in ("mixed", "h", "c")], n.weights)


def families(library: Path) -> list[str]:
    manifest = json.loads(library.with_suffix(".json").read_text())
    return [manifest["kernels"][launch["kernel"]]["family"] for launch in manifest["launches"]]


@pytest.mark.parametrize(
    ("make", "expected"),
    [(stacked, ["gemm", "recurrent"] * 3), (streaming, ["gemm_skinny", "recurrent"])],
    ids=["stacked", "streaming"],
)
def test_agrees_with_onnxruntime(tmp_path: Path, make: Any, expected: list[str]) -> None:
    path, output = saved(make(), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    result = driver.compile(driver.CompileOptions(model=path, output=output, target="emulated"))
    assert result.verification is not None
    assert all(found.is_match for found in result.verification.comparisons.values()), result.verification.comparisons
    assert families(output) == expected


def test_a_length_outside_the_sequence_is_an_error(tmp_path: Path) -> None:
    path, output = saved(stacked(), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    inputs = {p: np.zeros(s, np.float32) for p, s in (("x", (STEPS, BATCH, INPUTS)), ("h0", (1, BATCH, HIDDEN)))}
    with nautilus_cli.load(output) as library:
        library({**inputs, "lengths": np.array([0, STEPS, 1], np.int32)})
        with pytest.raises(UsageError, match="index outside"):
            library({**inputs, "lengths": np.array([0, STEPS + 1, 1], np.int32)})
