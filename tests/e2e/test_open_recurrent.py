"""Recurrences of open batch and length: one library for all of them, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.runtime.description import EmulatorOptions
from tests.e2e.networks import model
from tests.e2e.sketch import Sketch

INPUT, HIDDEN = 5, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIMS = {"steps": DimRange(0, 7), "batch": DimRange(1, 5)}
CASES = [(1, 1), (7, 5), (3, 2), (5, 3), (0, 4), (2, 1)]
"""Of steps and batch."""


def network(op: str, direction: str) -> ModelProto:
    """A recurrence with lengths and a first state, all of its results, and what follows them."""
    s = Sketch()
    d, g = 2 if direction == "bidirectional" else 1, GATES[op]
    weights = s.weight(d, g * HIDDEN, INPUT), s.weight(d, g * HIDDEN, HIDDEN), s.weight(d, 2 * g * HIDDEN)
    states = ["h", "c"] if op == "LSTM" else ["h"]
    results = ["every", "last", "carry"][: 1 + len(states)]
    s.nodes.append(helper.make_node(op, ["x", *weights, "lengths", *states], results, hidden_size=HIDDEN, direction=direction))
    s.nodes.append(helper.make_node("Relu", ["every"], ["y"]))
    s.nodes.append(helper.make_node("Neg", ["last"], ["z"]))
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", "batch", INPUT]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"]),
        *(helper.make_tensor_value_info(name, TensorProto.FLOAT, [d, "batch", HIDDEN]) for name in states),
    ]
    names = ["y", "z", *results[1:]]
    return model(s.nodes, inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names], s.weights, opset=14)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_recurrences(op: str, direction: str, tmp_path: Path) -> None:
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(network(op, direction), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=DIMS, verify=False, jobs=1))
    random = np.random.default_rng(5)
    with nautilus_cli.load(output) as library:
        for number, (steps, batch) in enumerate(CASES):
            feeds = {
                "x": random.standard_normal((steps, batch, INPUT)).astype(np.float32),
                "lengths": random.integers(0, steps + 1, batch).astype(np.int32),
            }
            shape = (2 if direction == "bidirectional" else 1, batch, HIDDEN)
            feeds |= {
                name: random.standard_normal(shape).astype(np.float32) for name in ("h", "c") if name in {t.name for t in library.inputs}
            }
            expected = evaluate(load(path, shapes={name: array.shape for name, array in feeds.items()}).graph, feeds)
            library.configure_emulator(EmulatorOptions(order=("fifo", "reverse", "random")[number % 3], poison=True))
            found = library(feeds)
            for name, truth in expected.items():
                assert found[name].shape == truth.shape
                result = compare(found[name], truth, derived(truth, terms=40, depth=4 * steps + 4, scale=1.0))
                assert result.is_match, f"{name} at {steps} steps of {batch}: {result}"
