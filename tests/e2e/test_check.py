"""nautilus check, from the command line: it says of every model what compile does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from models import small
from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from tests.e2e import networks
from tests.e2e.commands import Caller
from tests.e2e.networks import perceptron, port, saved

USAGE, MODEL, FILES = 2, 3, 7
"""Exit codes."""


def node(op: str, inputs: str, outputs: str, name: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), name, **attributes)


def two_obstacles() -> ModelProto:
    """A convolution of four spatial dimensions, found by a pass, and an operator that does not exist, found at import."""
    nodes = [
        node("Conv", "x w", "a", "conv"),
        node("Frobnicate", "a", "b", "frob"),
        node("Relu", "b", "c", "behind"),
        node("Sum", "a c", "y", "sum"),
    ]
    return networks.model(nodes, [port("x", 1, 2, 3, 3, 3, 3)], [port("y")], {"w": np.ones((2, 2, 2, 2, 2, 2), np.float32)})


@pytest.mark.parametrize("name", small.NETWORKS)
def test_networks_compile(name: str, tmp_path: Path, nautilus: Caller) -> None:
    path = saved(small.build(name, "dynamo"), tmp_path / "model.onnx")
    data = json.loads(nautilus("check", path, "--target", "sm_80,sm_90a,emulated", "--json").done().out)
    assert data["compiles"] and data["obstacles"] == []
    assert data["targets"] == ["sm_80", "sm_90a", "emulated"]
    planned = json.loads(nautilus("compile", path, "--dry-run", "--target", "emulated", "--json").done().out)
    assert data["launches"] == len(planned["launches"])
    assert list(tmp_path.iterdir()) == [path], "nothing is written"


def test_everything_is_listed_whoever_finds_it(tmp_path: Path, nautilus: Caller) -> None:
    path = saved(two_obstacles(), tmp_path / "model.onnx")
    outcome = nautilus("check", path, "--target", "emulated", "--json")
    assert outcome.code == MODEL
    data = json.loads(outcome.out)
    assert {(o["node"], o["op"]) for o in data["obstacles"]} == {("conv", "Conv"), ("frob", "Frobnicate")}
    assert data["unexamined"] == 2
    assert not data["compiles"] and data["launches"] is None

    text = nautilus("check", path, "--target", "emulated")
    assert text.code == MODEL
    assert "conv " in text.out and "frob " in text.out and "at most 3 are supported" in text.out
    assert "2 nodes read what these compute" in text.out
    assert text.err.endswith("2 things keep it from being compiled for emulated.\n")


def test_an_option_that_helps_is_named_and_helps(tmp_path: Path, nautilus: Caller) -> None:
    path = saved(perceptron(batch="batch"), tmp_path / "open.onnx")
    outcome = nautilus("check", path, "--target", "emulated")
    assert outcome.code == MODEL
    assert "--shape x=1x8" in outcome.out
    nautilus("check", path, "--target", "emulated", "--shape", "x=1x8").done()


def test_ranges_of_dimensions_are_checked(tmp_path: Path) -> None:
    path = saved(perceptron(batch="batch"), tmp_path / "open.onnx")
    result = driver.check(driver.CheckOptions(model=path, target="sm_90a,emulated", dims={"batch": DimRange(1, 64)}))
    assert result.obstacles == ()
    assert result.launches == 3


@pytest.mark.parametrize(
    "proto",
    [
        perceptron(),
        two_obstacles(),
        networks.resampled(),
        networks.model([node("Relu", "x", "y", "relu")], [port("x", 3, 0)], [port("y", 3, 0)]),
        networks.model([node("Softmax", "x", "y", "softmax", axis=4)], [port("x", 3)], [port("y", 3)]),
        networks.model([node("Relu", "x", "y", "relu")], [port("x", 3)], [port("z", 3)]),
        networks.model([node("Cast", "x", "y", "cast", to=TensorProto.STRING)], [port("x", 3)], [port("y")]),
        networks.model([node("StringNormalizer", "x", "y", "text")], [port("x", 3, dtype=TensorProto.STRING)], [port("y")]),
        networks.model([node("MatMul", "x x", "y", "huge")], [port("x", 1 << 20, 1 << 20)], [port("y")]),
        networks.model([node("Expand", "x shape", "y", "endless")], [port("x", 1)], [port("y")], {"shape": np.array([1 << 40])}),
    ],
    ids=lambda proto: proto.graph.node[0].op_type,
)
def test_compile_says_the_same(proto: ModelProto, tmp_path: Path, nautilus: Caller) -> None:
    path = saved(proto, tmp_path / "model.onnx")
    planned = nautilus("compile", path, "--dry-run", "--target", "sm_90a", "--quiet")
    checked = nautilus("check", path, "--target", "sm_90a", "--json", "--quiet")
    assert checked.code == planned.code
    obstacles = json.loads(checked.out)["obstacles"]
    assert bool(obstacles) == (planned.code != 0)
    if planned.code != 0:
        assert any(o["reason"] in planned.err for o in obstacles), (obstacles, planned.err)


# --- bad input: an error, and no answer


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"import torch\n" * 20, "a text file"), (perceptron().SerializeToString()[:300], "is cut off")],
    ids=["empty", "text", "truncated"],
)
def test_not_a_model(content: bytes, message: str, tmp_path: Path, nautilus: Caller) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert message in nautilus("check", path).refused(MODEL)


def test_no_file(tmp_path: Path, nautilus: Caller) -> None:
    assert "there is no such file" in nautilus("check", tmp_path / "model.onnx", "--quiet").refused(FILES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "sm_91"], "sm_90a"),
        (["--shape", "z=1x8"], "no input of this name"),
        (["--shape", "x=1x2x8"], "the model declares 2"),
        (["--bind", "x=a"], "is not a number"),
        (["--outputs", "nothing"], "nothing"),
        (["--explain", "first"], "--explain"),
    ],
)
def test_options_that_do_not_fit(options: list[str], message: str, tmp_path: Path, nautilus: Caller) -> None:
    path = saved(perceptron(), tmp_path / "model.onnx")
    assert message in nautilus("check", path, *options, "--quiet").refused(USAGE)
