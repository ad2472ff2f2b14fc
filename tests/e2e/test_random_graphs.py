"""Random graphs, compiled to libraries and run on the emulator, against numpy.

`pytest tests/e2e/test_random_graphs.py --graphs 600 --seed 1000` tries others. A failure names the seed of its graph, which alone is
`--graphs 1 --seed SEED`. `tests/unit/lowering/test_plans.py` runs many more of them without compiling.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.random_graphs.building import Batch
from tests.support.random_graphs.drawing import draw

GRAPHS_AN_IMAGE = 60


def test_random_graphs(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """One test, so that the kernels of many graphs are compiled together, and once."""
    first, count = request.config.getoption("--seed"), request.config.getoption("--graphs")
    wrong = []
    for begin in range(first, first + count, GRAPHS_AN_IMAGE):
        batch = Batch([draw(seed) for seed in range(begin, min(begin + GRAPHS_AN_IMAGE, first + count))], tmp_path)
        for one in batch.compiled:
            wrong += batch.failures(one)
    assert not wrong, "\n".join(wrong)
