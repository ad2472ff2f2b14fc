"""Networks of models/exports, from torch's two exporters, jax2onnx and tf2onnx: compiled, run on the emulator and held against onnxruntime.

A third of them, chosen by hash, is compiled each time, and all of them with `pytest --exports`; the others are checked for what they need.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest

from models import weightless
from models.catalogue import Model, PackedGraph, catalogue
from models.exports import FOLDER
from nautilus_cli import driver

ALL = [pytest.param(model, graph, id=f"{model.name}/{graph.exporter}") for model in catalogue(FOLDER).values() for graph in model.graphs]
EXPORTS = [export for export in ALL if export.values[1].batch]
"""Those of fixed sizes: test_open_exports.py has the others."""

THIRDS = 3


def is_chosen(name: str) -> bool:
    """Whether a network is compiled even without being asked for."""
    return sha256(name.encode()).digest()[0] % THIRDS == 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function in (test_it_compiles_and_verifies, test_it_will_compile):
        is_all = bool(metafunc.config.getoption("--exports"))
        is_compiled = metafunc.function is test_it_compiles_and_verifies
        chosen = [export for export in EXPORTS if (is_all or is_chosen(str(export.id))) == is_compiled]
        metafunc.parametrize(("model", "graph"), chosen)


def filled(graph: PackedGraph, folder: Path) -> Path:
    path = folder / "model.onnx"
    weightless.save(weightless.fill(graph.path), path)
    return path


def test_it_compiles_and_verifies(model: Model, graph: PackedGraph, tmp_path: Path) -> None:
    path, library, outputs = filled(graph, tmp_path), tmp_path / "libmodel.so", tmp_path / "outputs.npz"
    driver.compile(driver.CompileOptions(model=path, output=library, target="emulated", verify=False))
    result = driver.verify(driver.VerifyOptions(model=path, library=library, save_outputs=outputs))
    assert all(found.is_match for found in result.comparisons.values()), result.comparisons
    with np.load(outputs) as arrays:
        for name, array in arrays.items():
            assert np.isfinite(array).all(), f"{name}: the drawn weights do not suit {model.title}"
            assert array.std() > 1e-3 * np.abs(array).max() > 0, f"{name} does not depend on anything"


def test_it_will_compile(model: Model, graph: PackedGraph, tmp_path: Path) -> None:
    result = driver.check(driver.CheckOptions(model=filled(graph, tmp_path), target="sm_90a,emulated"))
    assert result.obstacles == (), model.title


def test_there_are_twenty_and_more() -> None:
    exporters = [export.values[1].exporter for export in EXPORTS]
    assert exporters.count("dynamo") == exporters.count("torchscript") >= 10
    assert exporters.count("jax2onnx") == exporters.count("tf2onnx") == 2
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 1_000_000
    compiled = [export.id for export in EXPORTS if is_chosen(str(export.id))]
    assert len(EXPORTS) / 4 < len(compiled) < len(EXPORTS) / 2


@pytest.mark.parametrize(("model", "graph"), ALL)
def test_committed_graphs_are_whole(model: Model, graph: PackedGraph) -> None:
    """Every graph reads, is valid, and of the opset that its exporter was asked for."""
    proto = weightless.read(graph.path)
    onnx.checker.check_model(weightless.fill(graph.path))
    opset = next(entry.version for entry in proto.opset_import if entry.domain == "")
    assert opset == {"dynamo": 18, "torchscript": 17, "dynamo24": 24, "jax2onnx": 23, "tf2onnx": 18}[graph.exporter]
    assert ("Attention" in {node.op_type for node in proto.graph.node}) == (graph.exporter == "dynamo24")
