"""Products by the part of a constant table that a run chooses, as by relative positions, through the host code, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.types import F16
from tests.e2e.networks import model, port, saved
from tests.support.closeness import assert_close

WIDTH, MOST = 64, 100


def test_scores_of_relative_positions(tmp_path: Path) -> None:
    """Of n tokens, with the 2n rows in the middle of a table: as many columns as the run has tokens, from a place that they decide."""
    table = (np.random.default_rng(0).standard_normal((2 * MOST, WIDTH)) / 8).astype(np.float16)
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Slice", ["shape", "one", "two"], ["tokens"]),
        helper.make_node("Sub", ["middle", "tokens"], ["first"]),
        helper.make_node("Add", ["middle", "tokens"], ["end"]),
        helper.make_node("Slice", ["table", "first", "end", "zero"], ["part"]),
        helper.make_node("Transpose", ["part"], ["columns"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "columns"], ["y"]),
    ]
    constants = {"table": table, "one": np.array([1]), "two": np.array([2]), "zero": np.array([0]), "middle": np.array([MOST])}
    ports = [
        port("x", "batch", "tokens", WIDTH, dtype=TensorProto.FLOAT16),
        port("y", "batch", "tokens", "pairs", dtype=TensorProto.FLOAT16),
    ]
    path, output = saved(model(nodes, ports[:1], ports[1:], constants), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    dims = {"batch": DimRange(1, 2), "tokens": DimRange(1, MOST)}
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=dims, verify=False, jobs=1))
    random = np.random.default_rng(1)
    with nautilus_cli.load(output) as library:
        for batch, tokens in ((1, 1), (2, 37), (1, MOST)):
            x = random.standard_normal((batch, tokens, WIDTH)).astype(np.float16)
            expected = x.astype(np.float64) @ table[MOST - tokens : MOST + tokens].T.astype(np.float64)
            assert_close(library(x=x)["y"], expected, f"{tokens} tokens", terms=WIDTH, storage=F16)
