"""Fixtures: empty graphs, and what every pass must keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nautilus_cli.ir.graph import Graph
from nautilus_cli.ops.evaluate import evaluate
from tests.unit.passes.sketches import Sketch, seeded_inputs


@pytest.fixture
def sketch() -> Sketch:
    """An empty fp32 graph."""
    return Sketch()


@pytest.fixture
def same_results() -> Callable[[Graph, Graph], None]:
    """Assert that two graphs compute the same, up to a few roundings of fp32."""

    def check(before: Graph, after: Graph) -> None:
        inputs = seeded_inputs(before)
        expected, got = evaluate(before, inputs), evaluate(after, inputs)
        assert expected.keys() == got.keys()
        for name in expected:
            assert expected[name].dtype == got[name].dtype
            unit = float(np.finfo(expected[name].dtype).eps)
            scale = float(np.abs(expected[name].astype(np.float64)).max(initial=0))
            assert np.abs(expected[name].astype(np.float64) - got[name].astype(np.float64)).max(initial=0) <= 32 * unit * scale

    return check
