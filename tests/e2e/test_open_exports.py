"""Exports whose images may have any size: one library each, held against onnxruntime at sizes that share little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models import weightless
from models.catalogue import Model, PackedGraph, catalogue
from models.exports import FOLDER
from nautilus_cli import driver
from tests.bench.open_sizes import ranges

EXPORTS = [
    pytest.param(model, graph, id=f"{model.name}/{graph.exporter}")
    for model in catalogue(FOLDER).values()
    for graph in model.graphs
    if graph.batch == 0
]

SHAPES = [(1, 3, 32, 32), (3, 3, 112, 112), (1, 3, 64, 64), (2, 3, 48, 112), (1, 3, 97, 35), (3, 3, 33, 80), (1, 3, 111, 64)]
"""The smallest, the largest, that of the table of positions, and others; not all are multiples of a patch's 16 pixels."""


@pytest.mark.parametrize(("model", "graph"), EXPORTS)
def test_one_library_for_all_sizes(model: Model, graph: PackedGraph, tmp_path: Path) -> None:
    path, library = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    weightless.save(weightless.fill(graph.path), path)
    driver.compile(driver.CompileOptions(model=path, output=library, target="emulated", shapes=ranges(model), verify=False, jobs=1))
    for shape in SHAPES:
        found = driver.verify(driver.VerifyOptions(model=path, library=library, shapes={"pixels": shape})).comparisons
        assert all(comparison.is_match for comparison in found.values()), (shape, found)
    families = {kernel["family"] for kernel in json.loads(library.with_suffix(".json").read_text())["kernels"]}
    assert "resize" in families and "conv" not in families  # patches are the rows of a product


def test_there_are_images_of_both_exporters() -> None:
    assert {export.values[1].exporter for export in EXPORTS} == {"dynamo", "torchscript"}
