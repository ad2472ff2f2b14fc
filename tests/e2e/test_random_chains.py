"""Random chains of products with norms, prologues and epilogues, compiled to libraries and run on the emulator, against numpy.

Norms go into products wherever they can, whatever the estimates say of sizes as small as these. `--graphs` and `--seed` are as in
`test_random_graphs`; a tenth as many graphs are compiled, one at least, since kernels for tensor cores take longer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nautilus_cli.ir.graph import FusedGraph, Graph
from nautilus_cli.lowering.fusion import norms
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.passes import pipeline
from tests.support.random_chains.drawing import draw
from tests.support.random_graphs.building import Batch

GRAPHS_AN_IMAGE = 6
SHARE = 10


def fused(graph: Graph) -> FusedGraph:
    """Return the graph as drivers fuse it."""
    return choose_fusion(pipeline.simplify(graph), fp32_mode="ffma")


def test_random_chains(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, so that the kernels of many graphs are compiled together, and once."""
    monkeypatch.setattr(norms, "_difference_us", lambda *_: -1.0)
    first, count = request.config.getoption("--seed"), max(1, request.config.getoption("--graphs") // SHARE)
    wrong = []
    for begin in range(first, first + count, GRAPHS_AN_IMAGE):
        batch = Batch([draw(seed) for seed in range(begin, min(begin + GRAPHS_AN_IMAGE, first + count))], tmp_path, fused=fused)
        for one in batch.compiled:
            wrong += batch.failures(one)
    assert not wrong, "\n".join(wrong)
