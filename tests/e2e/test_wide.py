"""Nodes of five hundred operands or results: compiled in seconds, since no kernel grows with them, and right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, helper

from tests.e2e import networks
from tests.e2e.commands import Caller
from tests.e2e.networks import port, saved

COUNT = 500


def added() -> ModelProto:
    names = [f"x{i}" for i in range(COUNT)]
    return networks.model([helper.make_node("Sum", names, ["y"], "sum")], [port(name, 4, 8) for name in names], [port("y", 4, 8)])


def joined() -> ModelProto:
    names = [f"x{i}" for i in range(COUNT)]
    node = helper.make_node("Concat", names, ["y"], "join", axis=1)
    return networks.model([node], [port(name, 2, 3) for name in names], [port("y", 2, 3 * COUNT)])


def divided() -> ModelProto:
    names = [f"y{i}" for i in range(COUNT)]
    node = helper.make_node("Split", ["x", "sizes"], names, "divide", axis=1)
    return networks.model([node], [port("x", 2, 3 * COUNT)], [port(name, 2, 3) for name in names], {"sizes": np.full(COUNT, 3)})


@pytest.mark.parametrize(
    ("proto", "launches", "kernels"), [(added(), 5, 2), (joined(), 17, 3), (divided(), 32, 32)], ids=["sum", "concat", "split"]
)
def test_wide(proto: ModelProto, launches: int, kernels: int, nautilus: Caller, tmp_path: Path) -> None:
    saved(proto, tmp_path / "model.onnx")
    done = nautilus("compile", tmp_path / "model.onnx", "-o", tmp_path / "libmodel.so", "--target", "emulated", "--json").done()
    found = json.loads(done.out)
    assert found["verification"]["match"]
    (target,) = found["targets"]
    assert target["launches"] <= launches
    assert target["kernels"] <= kernels
