"""Expand: to a shape that only the run knows, where a declared output says what comes of it."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ops.evaluate import evaluate
from tests.unit.frontend.constructs.held import drawn, hold, parsed, refused
from tests.unit.frontend.models import imported


def text(x: str, sizes: int, y: str) -> str:
    return f"g (float[{x}] x, int64[{sizes}] shape) => (float[{y}] y) {{ y = Expand(x, shape) }}"


@pytest.mark.parametrize(
    ("x", "shapes", "y"),
    [
        ((3, 1), [(3, 4), (1, 4)], (3, 4)),
        ((3, 4), [(3, 4), (1, 4), (3, 1), (1, 1)], (3, 4)),
        ((1,), [(2, 5)], (2, 5)),
        ((2, 3, 1), [(1, 2), (3, 2)], (2, 3, 2)),
        ((1, 3), [(1,), (3,)], (1, 3)),
    ],
    ids=["column", "unchanged", "longer", "shorter", "vector"],
)
def test_declared_shape(x: tuple[int, ...], shapes: list[tuple[int, ...]], y: tuple[int, ...]) -> None:
    dims = [", ".join(map(str, shape)) for shape in (x, y)]
    hold(text(dims[0], len(shapes[0]), dims[1]), *({"x": drawn(*x), "shape": np.array(shape)} for shape in shapes))


@pytest.mark.parametrize("shape", [(3, 5), (2, 4), (3, 1), (-1, 4), (0, 4)])
def test_another_shape_is_an_error_of_the_run(shape: tuple[int, int]) -> None:
    loaded = imported(parsed(text("3, 1", 2, "3, 4")))
    with pytest.raises((ModelError, UsageError, IndexError)):
        evaluate(loaded.graph, {"x": drawn(3, 1), "shape": np.array(shape)})


def test_declaration_that_cannot_be() -> None:
    assert "cannot be expanded to that" in refused(text("3, 2", 2, "3, 4"))
    assert "cannot be expanded to that" in refused(text("3, 1", 1, "2, 4"))
    assert "cannot be expanded to that" in refused(text("3, 2", 1, "1, 3, 2"))


def test_unknown_shape() -> None:
    """Without a declared size each element of the shape decides one when the model runs."""
    (_, value), *_ = imported(parsed(text("3, 1", 2, "n, m"))).graph.outputs
    assert [substitute(size, {"shape[0]": 1, "shape[1]": 7}) for size in value.type.static] == [3, 7]
