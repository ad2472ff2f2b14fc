"""NonZero: of constants, and with as many places as a declared output says."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ops.evaluate import evaluate
from tests.unit.frontend.constructs.held import hold, parsed, refused
from tests.unit.frontend.models import imported, ops


def text(element: str, dims: str, rank: int, count: int | str) -> str:
    return f"g ({element}[{dims}] x) => (int64[{rank}, {count}] y) {{ y = NonZero(x) }}"


@pytest.mark.parametrize(
    ("x", "element"),
    [
        (np.array([[1, 0, 0], [0, np.nan, -2.5]], np.float32), "float"),
        (np.array([0, 0, 3, 0, -1], np.int64), "int64"),
        (np.array([[[True, False], [True, True]]]), "bool"),
        (np.array([[7]], np.uint8), "uint8"),
    ],
    ids=["matrix", "vector", "volume", "one"],
)
def test_declared_number_of_places(x: np.ndarray, element: str) -> None:
    dims = ", ".join(map(str, x.shape))
    hold(text(element, dims, x.ndim, int(np.count_nonzero(x))), {"x": x})


def test_another_number_of_places_is_an_error_of_the_run() -> None:
    loaded = imported(parsed(text("float", "4", 1, 2)))
    for x in ([1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]):
        with pytest.raises((ModelError, UsageError, IndexError)):
            evaluate(loaded.graph, {"x": np.array(x, np.float32)})


def test_more_places_than_elements() -> None:
    assert "declared with 5 places, but its operand has 4 elements" in refused(text("float", "4", 1, 5))


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 2, 2), (1, 1)])
def test_any_number_of_places(shape: tuple[int, ...]) -> None:
    """As many as there are, of one graph."""
    graph = imported(parsed(text("float", ", ".join(map(str, shape)), len(shape), "n"))).graph
    for x in (np.zeros(shape), np.ones(shape), np.arange(np.prod(shape)).reshape(shape) % 3):
        found = evaluate(graph, {"x": x.astype(np.float32)})["y"]
        np.testing.assert_array_equal(found, np.array(np.nonzero(x)))


def test_a_scalar_has_no_coordinate() -> None:
    graph = imported(parsed("g (float x) => (int64[0, n] y) { y = NonZero(x) }")).graph
    assert [evaluate(graph, {"x": np.array(x, np.float32)})["y"].shape for x in (0, 3)] == [(0, 0), (0, 1)]


def test_contents_that_are_known() -> None:
    loaded = hold(text("float", "4", 1, "n"), {"x": np.array([0, 2, 0, 3], np.float32)}, bindings={"x": "[0, 2, 0, 3]"})
    assert ops(loaded) == []


def test_masks_of_one_tensor_have_one_number_of_places() -> None:
    """So that what was selected by one mask fits together, however the mask was written."""
    body = "m = Greater(x, y) f = Cast<to=1>(m) i = NonZero(m) j = NonZero(f) a = Gather(x, i) b = Gather(y, j) z = Add(a, b)"
    graph = imported(parsed(f"g (float[6] x, float[6] y) => (float[1, n] z) {{ {body} }}")).graph
    assert len(graph.counts) == 1
    x, y = np.arange(6, dtype=np.float32), np.array([3, 0, 5, 0, 9, 1], np.float32)
    np.testing.assert_array_equal(evaluate(graph, {"x": x, "y": y})["z"], (x + y)[x > y][None])


def test_numbers_of_different_masks_are_not_taken_for_equal() -> None:
    body = "i = NonZero(x) j = NonZero(y) z = Add(i, j)"
    assert "count equals" in refused(f"g (float[6] x, float[6] y) => (int64[1, n] z) {{ {body} }}")
    body = "i = NonZero(x) j = Squeeze(i) z = Add(j, k)"
    assert "count" in refused(f"g (float[6] x, int64[n] k) => (int64[n] z) {{ {body} }}", shapes={"k": (DimRange(1, 6),)})
