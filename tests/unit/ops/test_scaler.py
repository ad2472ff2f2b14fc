from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.scaler import ScalerAttrs
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.oracle import check, onnxruntime_says

SCALER = "ai.onnx.ml::Scaler"
RNG = np.random.default_rng(0)
OFFSET, SCALE = [0.5, -1.25, 3.0, 0.1], [2.0, 0.5, -0.75, 1.1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize(("shape", "count"), [((3, 4), 4), ((3, 4), 1), ((4,), 4), ((1, 4), 4)])
def test_features_are_shifted_and_scaled(dtype: type, shape: tuple[int, ...], count: int) -> None:
    x = (10 * RNG.standard_normal(shape)).astype(dtype)
    check(SCALER, [x], {"offset": OFFSET[:count], "scale": SCALE[:count]}, oracle=onnxruntime_says)


def test_doubles_are_rounded_once() -> None:
    x = np.array([[1e9 + 0.3, 1e9 + 0.6]])
    check(SCALER, [x], {"offset": [1e9, 1e9], "scale": [1.0, 1.0]}, oracle=onnxruntime_says)


def test_what_is_left_out_changes_nothing() -> None:
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    (found,) = operators()[SCALER].evaluate(ScalerAttrs(scale=(2.0,)), (x,), 1)
    np.testing.assert_array_equal(found, 2 * x)
    (found,) = operators()[SCALER].evaluate(ScalerAttrs(), (x,), 1)
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize(
    ("attrs", "shape", "message"),
    [
        (ScalerAttrs(offset=(1.0, 2.0)), (3, 4), "attribute 'offset' has 2 values; for 4 features the specification allows 1 or 4"),
        (ScalerAttrs(scale=(1.0,) * 5), (4,), "attribute 'scale' has 5 values"),
        (ScalerAttrs(), (2, 3, 4), "requires rank 1 or 2"),
    ],
)
def test_what_is_refused(attrs: ScalerAttrs, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        operators()[SCALER].infer(Inference(attrs, (TensorType(F32, shape),), (None,), 1))
