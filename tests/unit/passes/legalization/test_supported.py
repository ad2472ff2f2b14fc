"""What no kernel can do is refused by name, not computed wrongly."""

from __future__ import annotations

import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.passes import pipeline
from nautilus_cli.passes.legalization.supported import unsupported
from nautilus_cli.passes.rewriting.decompose import decompose
from tests.unit.passes.sketches import Sketch


def refused(sketch: Sketch, *outputs: Value | None) -> str:
    """Return the message of a graph that cannot be compiled."""
    graph = sketch.graph([(f"y{i}", v) for i, v in enumerate(outputs) if v is not None])
    (found,) = unsupported(decompose(graph))
    with pytest.raises(ModelError) as caught:
        pipeline.run(graph)
    assert found.reason in str(caught.value) and "'n'" in str(caught.value)
    return found.reason


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_pools_of_four_dimensions(sketch: Sketch, op: str) -> None:
    assert refused(sketch, sketch.node(op, (sketch.x(1, 2, 3, 4, 5, 6),), kernel_shape=(2, 2, 2, 2))).startswith("4 spatial dimensions")


def test_convolution_of_four_dimensions(sketch: Sketch) -> None:
    assert refused(sketch, sketch.node("Conv", (sketch.x(1, 2, 3, 4, 5, 6), sketch.c(3, 2, 2, 2, 2, 2)))).startswith("4 spatial dimensions")


def test_a_second_result_that_nobody_reads_is_no_obstacle(sketch: Sketch) -> None:
    maximum, _ = sketch.apply("MaxPool", (sketch.x(1, 2, 4, 4),), outputs=(None, None), kernel_shape=(2, 2))
    assert maximum is not None
    assert len(pipeline.run(sketch.graph([("y", maximum)])).groups) == 1
