"""Random graphs with one to three open dimensions, compiled once each and run on the emulator at five sizes, against numpy.

`pytest tests/e2e/test_open_graphs.py --graphs 300 --seed 1000` tries others. A failure names the seed of its graph, which alone is
`--graphs 1 --seed SEED`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nautilus_cli
from nautilus_cli.errors import ModelError, NautilusError
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.numerics import compare
from tests.support.open_graphs.drawing import OpenGraph, draw
from tests.support.random_graphs.building import Batch, compiled, modes

GRAPHS_AN_IMAGE = 30

SHARE = 3
"""Of the graphs that --graphs asks for: each is run at five sizes."""


def failures(batch: Batch, one: Any, drawn: OpenGraph) -> list[str]:
    """Run the library of a graph at all its sizes; return what is wrong."""
    path = batch.write(one)
    found = []
    order, other = modes(drawn.seed)
    with nautilus_cli.load(path, emulator=order, launch=("graph", "stream")[drawn.seed % 2]) as library:
        for number, sizes in enumerate(drawn.cases()):
            feeds = drawn.feeds(sizes, drawn.seed + number)
            library.configure_emulator((order, other)[number % 2])
            try:
                results = library(feeds)
            except NautilusError as error:
                found.append(f"graph {drawn.seed} at {sizes}: {error}")
                continue
            for name, (expected, tolerance) in drawn.truth(sizes, feeds).items():
                if results[name].shape != expected.shape:
                    found.append(f"graph {drawn.seed} at {sizes}, {name}: shape {results[name].shape}, not {expected.shape}")
                elif not (result := compare(results[name], expected, tolerance)).is_match:
                    found.append(f"graph {drawn.seed} at {sizes}, {name}: {result}")
    path.unlink()
    return found


def test_open_graphs(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """One test, so that the kernels of many graphs are compiled together, and once."""
    first, count = request.config.getoption("--seed"), max(1, request.config.getoption("--graphs") // SHARE)
    wrong, refused = [], []
    for begin in range(first, first + count, GRAPHS_AN_IMAGE):
        graphs = []
        for seed in range(begin, min(begin + GRAPHS_AN_IMAGE, first + count)):
            drawn = draw(seed)
            try:
                compiled(drawn)  # type: ignore[arg-type]
            except ModelError as error:
                refused.append(f"graph {seed}: {error}")
                continue
            graphs.append(drawn)
        batch = Batch(graphs, tmp_path)  # type: ignore[arg-type]
        for one, drawn in zip(batch.compiled, graphs, strict=True):
            wrong += failures(batch, one, drawn)
    assert not wrong, "\n".join(wrong)
    assert not refused, "\n".join(refused)


def test_what_is_drawn() -> None:
    """The graphs are what they are meant to be: most have an open dimension in a result, and some of its own making."""
    graphs = [draw(seed) for seed in range(40)]
    results = [[dim for _, value in drawn.graph.outputs for dim in value.type.static] for drawn in graphs]
    assert sum(any(map(is_symbolic, dims)) for dims in results) >= 30
    assert sum(any(is_symbolic(dim) and any(c in str(dim) for c in "+*/-") for dim in dims) for dims in results) >= 12
    operators = {node.op for drawn in graphs for node in drawn.graph.nodes}
    assert operators >= {"MatMul", "Reshape", "Transpose", "Concat", "Slice", "Gather", "Expand", "ReduceSum", "Softmax", "Pad"}
    assert {dim.low for drawn in graphs for dim in drawn.dims} >= {0, 1, 2}
    assert 10 <= sum(drawn.is_exact for drawn in graphs) <= 36
