"""Networks of run-time inputs, held against numpy in whatever order the emulator runs their blocks and threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.runtime.description import EmulatorOptions
from tests.e2e.networks import model

ORDERS = (EmulatorOptions(order="fifo"), EmulatorOptions(order="reverse", poison=True, threads=1), EmulatorOptions(order="random", seed=3))


class Sketch:
    """Collects nodes whose operands are run-time inputs, made where they are used; every result that nothing reads is an output."""

    def __init__(self) -> None:
        self.feeds: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.nodes: list[onnx.NodeProto] = []
        self._random = np.random.default_rng(7)

    def input(self, array: np.ndarray) -> str:
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return name

    def floats(self, *shape: int, dtype: Any = np.float32) -> str:
        return self.input(self._random.standard_normal(shape).astype(dtype))

    def integers(self, low: int, high: int, *shape: int, dtype: Any = np.int64) -> str:
        return self.input(self._random.integers(low, high, shape).astype(dtype))

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def node(self, op: str, *operands: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node and return its first result."""
        names = [f"n{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        return names[0]

    def untyped(self, opset: int = 26) -> onnx.ModelProto:
        """Return the model whose outputs have no types."""
        read = {name for node in self.nodes for name in node.input}
        left = [name for node in self.nodes for name in node.output if name and name not in read]
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in self.feeds.items()]
        return model(self.nodes, inputs, [helper.make_empty_tensor_value_info(name) for name in left], self.constants, opset=opset)

    def model(self) -> onnx.ModelProto:
        return onnx.shape_inference.infer_shapes(self.untyped())


def check_every_order(sketch: Sketch, folder: Path, *, terms: int, depth: int) -> None:
    """Compile a sketch for the emulator; its results are numpy's in every order, and the same in all.

    Args:
        sketch: the network.
        folder: for the model and the library.
        terms: of the longest sum.
        depth: operations in a row that round.
    """
    path, output = folder / "model.onnx", folder / "libmodel.so"
    onnx.save(sketch.model(), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    expected = evaluate(load(path).graph, sketch.feeds)
    with nautilus_cli.load(output) as library:
        before: dict[str, np.ndarray] = {}
        for options in ORDERS:
            library.configure_emulator(options)
            found = {name: np.asarray(array) for name, array in library(sketch.feeds).items()}
            for name, truth in expected.items():
                scale = float(np.abs(truth).max()) if truth.dtype.kind == "f" else None
                result = compare(found[name], truth, derived(truth, terms=terms, depth=depth, scale=scale))
                assert result.is_match, f"{name} with {options}: {result}"
            for name, array in before.items():
                np.testing.assert_array_equal(found[name], array, err_msg=f"{name} with {options}")
            before = found
