from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.affine_grid import AffineGridAttrs, places
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says


@given(st.data(), st.integers(0, 1), st.integers(2, 3), seeds())
@settings(max_examples=60)
def test_affine_grid(data: st.DataObject, aligned: int, rank: int, rng: np.random.Generator) -> None:
    # Of one aligned place onnxruntime says that it is at 1.
    sizes = [data.draw(st.integers(1 + aligned, 6)) for _ in range(rank)]
    theta = values(rng, (2, rank, rank + 1), np.float32)
    check("AffineGrid", [theta, np.array([2, 3, *sizes])], {"align_corners": aligned}, oracle=onnxruntime_says, terms=rank + 1)


def test_places() -> None:
    assert places(AffineGridAttrs(0), (1, 4))[:, 0].tolist() == [-0.75, -0.25, 0.25, 0.75]
    assert places(AffineGridAttrs(1), (2, 3)).tolist() == [[-1, -1, 1], [0, -1, 1], [1, -1, 1], [-1, 1, 1], [0, 1, 1], [1, 1, 1]]
    assert places(AffineGridAttrs(1), (1, 2)).tolist() == [[-1, -1, 1], [1, -1, 1]]


@pytest.mark.parametrize(
    ("shape", "size", "message"),
    [
        ((2, 2, 3), [2, 1, 4], "requires"),
        ((2, 2, 3), [1, 1, 4, 4], "requires"),
        ((2, 2, 3), [2, 1, 4, 0], "requires"),
        ((2, 2, 3), [2, 1, 4, 4, 4], "requires"),
        ((2, 2, 3), None, "'size' decides the result's shape"),
    ],
)
def test_refusals(shape: tuple[int, ...], size: Any, message: str) -> None:
    operator = operators()["AffineGrid"]
    known = None if size is None else np.array(size)
    types = (TensorType(F32, shape), TensorType(I64, (4,) if known is None else known.shape))
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(), types, (None, known), 1))
