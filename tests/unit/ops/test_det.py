from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.microsoft.contrib import agrees, refuses
from tests.unit.ops.oracle import check, onnxruntime_says, reference

RNG = np.random.default_rng(1)


def matrices(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Return matrices far from singular."""
    return (RNG.standard_normal(shape) / shape[-1] ** 0.5 + 2 * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5, 5), (2, 3, 4, 4), (0, 2, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_det(shape: tuple[int, ...], dtype: Any) -> None:
    oracle = onnxruntime_says if dtype is np.float32 else reference  # onnxruntime has no other type
    check("Det", [matrices(*shape, dtype=dtype)], oracle=oracle, terms=shape[-1] ** 2, depth=8)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_computed_in_single(dtype: Any) -> None:
    x = matrices(3, 4, 4, dtype=dtype)
    (found,) = operators()["Det"].evaluate(None, (x,), 1)
    (wanted,) = operators()["Det"].evaluate(None, (x.astype(np.float32),), 1)
    assert np.array_equal(found, wanted.astype(dtype))


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5, 5), (2, 3, 4, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inverse(shape: tuple[int, ...], dtype: Any) -> None:
    agrees("Inverse", [matrices(*shape, dtype=dtype)], terms=shape[-1] ** 2)


def test_a_singular_matrix_among_others() -> None:
    x = np.stack([np.zeros((2, 2)), np.eye(2)]).astype(np.float32)
    (found,) = operators()["com.microsoft::Inverse"].evaluate(None, (x,), 1)
    assert not np.isfinite(found[0]).any()
    assert np.array_equal(found[1], np.eye(2))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2)])
def test_refusals(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="requires square matrices"):
        operators()["Det"].infer(Inference(None, (TensorType(F32, shape),), (None,), 1))
    refuses("Inverse", [np.zeros(shape, np.float32)], {}, "requires square matrices")
