"""Ill-conditioned models: what roundings do to them is measured, and a mistake stays a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from models.small import build
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.types import F32
from nautilus_cli.numerics import Tolerance
from nautilus_cli.numerics.propagation import estimate
from nautilus_cli.numerics.tolerance import unit_roundoff
from nautilus_cli.verify.check import Settings, verify
from nautilus_cli.verify.conditioning import amplification
from nautilus_cli.verify.simulation import Roundings, simulate
from tests.e2e import networks

FFMA = Settings(fp32_mode="ffma")

Arrays = Mapping[str, np.ndarray]

FAR = 4096.0
"""Added and taken away again: what is left has lost 12 of its bits."""

X = {"x": np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)}


def cancelling() -> ModelProto:
    nodes = [helper.make_node("Add", ["x", "far"], ["z"], "away"), helper.make_node("Sub", ["z", "far"], ["y"], "back")]
    return networks.model(nodes, [networks.port("x", 4, 64)], [networks.port("y", 4, 64)], {"far": np.float32(FAR)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return networks.saved(cancelling(), tmp_path / "model.onnx")


class Exactly:
    """A library that rounds nothing on the way, and may add an error to one element."""

    def __init__(self, error: float = 0.0) -> None:
        self.error = error

    def __call__(self, inputs: Arrays) -> dict[str, np.ndarray]:
        y = inputs["x"].copy()
        y[1, 2] += self.error
        return {"y": y}


def silent(*_: object) -> None:
    pass


def drawn(seed: int, fp32_mode: str = "ffma") -> Roundings:
    return Roundings(seed=seed, fp32_mode=fp32_mode)


def test_float64_rounds_nothing(path: Path):
    (y,) = simulate(load(path).graph, X).values()
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y.astype(np.float32), X["x"])


def test_drawn_roundings_are_those_of_the_types(path: Path):
    graph = load(path).graph
    errors = np.concatenate([simulate(graph, X, drawn(seed))["y"] - X["x"] for seed in range(20)])
    expected = FAR * unit_roundoff(F32) / np.sqrt(3)  # of storing the sum; the difference rounds far less
    assert np.std(errors) == pytest.approx(expected, rel=0.1)
    np.testing.assert_array_equal(simulate(graph, X, drawn(1))["y"], simulate(graph, X, drawn(1))["y"])


def test_products_round_as_the_library_multiplies(tmp_path: Path):
    weights = {"w": np.random.default_rng(1).standard_normal((64, 8)).astype(np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
    model = networks.model(nodes, [networks.port("x", 4, 64)], [networks.port("y", 4, 8)], weights)
    graph = load(networks.saved(model, tmp_path / "model.onnx")).graph
    exact = simulate(graph, X)["y"]
    exactly, rounded = (np.std(simulate(graph, X, drawn(1, mode))["y"] - exact) for mode in ("ffma", "tf32"))
    assert rounded > 100 * exactly  # of 11 bits in place of 24


def test_a_sum_errs_relative_to_its_terms():
    """The rows of a product differ in size a millionfold, and so do their errors."""
    weights = {"w": np.random.default_rng(1).standard_normal((64, 8)).astype(np.float32)}
    node = helper.make_node("MatMul", ["x", "w"], ["y"], "product")
    model = networks.model([node], [networks.port("x", 4, 64)], [networks.port("y", 4, 8)], weights)
    from nautilus_cli.frontend import load_model
    from nautilus_cli.frontend.external_data import ExternalData

    graph = load_model(model, ExternalData(None), "").graph
    x = X["x"] * np.array([[1e-6], [1], [1], [1]], np.float32)
    errors = np.stack([simulate(graph, {"x": x}, drawn(seed))["y"] for seed in range(20)]) - simulate(graph, {"x": x})["y"]
    small, *large = errors.std(axis=(0, 2))
    assert max(large) * 1e-6 * 0.5 < small < max(large) * 1e-6 * 2


def test_what_cancels_is_compared_as_closely_as_it_can_be(path: Path):
    graph = load(path).graph
    result = verify(path, graph, Exactly(), FFMA)
    assert result.is_match
    assert any("'y' is ill-conditioned on these inputs" in note for note in result.notes)
    tolerance = result.comparisons["y"].tolerance
    rounding = FAR * unit_roundoff(F32)
    assert rounding < tolerance.atol < 20 * rounding


def test_a_mistake_stays_one(path: Path):
    result = verify(path, load(path).graph, Exactly(error=0.05), FFMA)
    assert result.comparisons["y"].failures == 1
    assert result.comparisons["y"].worst == (1, 2)


def test_what_the_user_says_is_not_widened(path: Path):
    result = verify(path, load(path).graph, Exactly(), Settings(atol={None: 1e-6}, fp32_mode="ffma"))
    assert not result.is_match
    assert result.comparisons["y"].tolerance.atol == 1e-6
    assert result.notes == ()


def test_a_well_conditioned_network_is_compared_as_derived(tmp_path: Path):
    onnx.save(build("bert"), tmp_path / "bert.onnx")
    graph = load(tmp_path / "bert.onnx").graph
    result = verify(tmp_path / "bert.onnx", graph, _Reference(tmp_path / "bert.onnx", 1e-3), FFMA)
    assert not result.is_match
    assert not any("ill-conditioned" in note for note in result.notes)


class _Reference:
    def __init__(self, path: Path, error: float) -> None:
        from nautilus_cli.verify.oracle import Oracle

        self.oracle, self.error = Oracle(path), error

    def __call__(self, inputs: Arrays) -> dict[str, np.ndarray]:
        outputs = {name: array.copy() for name, array in self.oracle.run(inputs).items()}
        next(iter(outputs.values()))[0, 0, 0] += self.error
        return outputs


def test_only_outputs_that_are_asked_about(path: Path):
    graph = load(path).graph
    assert amplification(graph, X, {}, silent, fp32_mode="ffma") == {}
    found = amplification(graph, X, {"y": Tolerance(rtol=0.0, atol=1.0)}, silent, fp32_mode="ffma")
    assert found == {"y": 1.0}


def test_a_function_around_one_half_has_its_error_where_it_is_small(tmp_path: Path):
    """onnxruntime's sigmoid of -20 is wrong in every digit, and of a library in none."""
    names = ["x", "y"]
    nodes = [helper.make_node("Sigmoid", ["x"], ["z"], "gate"), helper.make_node("Transpose", ["z"], ["y"], "turn")]
    ports = [networks.port("x", 8, 8), networks.port("y", 8, 8)]
    path = networks.saved(networks.model(nodes, ports[:1], ports[1:]), tmp_path / "model.onnx")
    assert [p.name for p in ports] == names
    graph = load(path).graph
    assert 0 < estimate(graph, fp32_mode="ffma")[0].absolute < 1e-6
    x = -17 + np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)

    def right(inputs: Arrays) -> dict[str, np.ndarray]:
        return {"y": (1 / (1 + np.exp(-inputs["x"].astype(np.float64)))).T.astype(np.float32)}

    def wrong(inputs: Arrays) -> dict[str, np.ndarray]:
        return {"y": right(inputs)["y"] + np.float32(1e-4)}

    settings = Settings(inputs=tmp_path / "x.npz", fp32_mode="ffma")
    result = verify(path, graph, right, settings)
    assert result.is_match
    assert any("smaller than its tolerance: a match says little" in note for note in result.notes)
    assert not verify(
        path, graph, lambda inputs: {"y": right(inputs)["y"] + np.float32(1e-4)}, Settings(inputs=tmp_path / "x.npz", fp32_mode="ffma")
    ).is_match


def test_an_operator_that_float64_cannot_evaluate_leaves_the_first_verdict(path: Path, monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object, **__: object) -> None:
        raise TypeError("no float64 here")

    monkeypatch.setattr("nautilus_cli.verify.check.amplification", fails)
    result = verify(path, load(path).graph, Exactly(), FFMA)
    assert not result.is_match
    assert any("no float64 here" in note for note in result.notes)
