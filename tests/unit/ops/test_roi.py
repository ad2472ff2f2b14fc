from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F16, F32, I64, TensorType
from nautilus_cli.ops.region_pool import RegionPoolAttrs, pooled
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says

SCALES = (1.0, 0.5, 0.75)


def corners(rng: np.random.Generator, count: int, *, has_ties: bool) -> np.ndarray:
    """Regions inside, across and beyond an image of up to 9 pixels."""
    found = np.sort(rng.uniform(-3, 12, (count, 2, 2)), 1).reshape(count, 4)
    return (np.round(found * 2) / 2 if has_ties else found).astype(np.float32)


@given(st.data(), st.integers(1, 3), st.booleans(), seeds())
@settings(max_examples=100)
def test_roi_align(data: st.DataObject, count: int, has_ties: bool, rng: np.random.Generator) -> None:
    attrs = {
        "mode": data.draw(st.sampled_from(["avg", "max"])),
        "sampling_ratio": data.draw(st.integers(0, 2)),
        "coordinate_transformation_mode": data.draw(st.sampled_from(["half_pixel", "output_half_pixel"])),
        "output_height": data.draw(st.integers(1, 3)),
        "output_width": data.draw(st.integers(1, 3)),
        "spatial_scale": data.draw(st.sampled_from(SCALES)),
    }
    x = values(rng, (2, 3, data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))), np.float32)
    operands = [x, corners(rng, count, has_ties=has_ties), rng.integers(0, 2, count)]
    check("RoiAlign", operands, attrs, terms=256, oracle=onnxruntime_says, opset=16)


@given(st.data(), st.integers(1, 3), st.booleans(), seeds())
@settings(max_examples=60)
def test_max_roi_pool(data: st.DataObject, count: int, has_ties: bool, rng: np.random.Generator) -> None:
    attrs = {"pooled_shape": [data.draw(st.integers(1, 3)) for _ in "hw"], "spatial_scale": data.draw(st.sampled_from(SCALES))}
    x = values(rng, (2, 3, data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))), np.float32)
    rois = np.concatenate([rng.integers(0, 2, (count, 1)), corners(rng, count, has_ties=has_ties)], 1).astype(np.float32)
    check("MaxRoiPool", [x, rois], attrs, oracle=onnxruntime_says, opset=16)


def test_regions_of_nothing() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    backwards, inside = np.array([[3, 3, 1, 1]], np.float32), np.array([[0, 0, 2, 2]], np.float32)
    here, nowhere = np.array([0]), np.array([1])
    for mode in ("mean", "max"):
        attrs = RegionPoolAttrs(1, 1, mode)
        assert pooled(attrs, x, backwards, here).tolist() == [[[[0]]]], "no sample fits"
        assert pooled(attrs, x, inside, nowhere).tolist() == [[[[0]]]]
    assert pooled(RegionPoolAttrs(1, 1, "mean", is_bounded=True), x, backwards, here).tolist() == [[[[1]]]]


@pytest.mark.parametrize(
    ("name", "types", "attrs", "message"),
    [
        ("RoiAlign", [TensorType(F32, (1, 2, 3)), TensorType(F32, (2, 4)), TensorType(I64, (2,))], {}, r"requires \[batch, channels"),
        ("RoiAlign", [TensorType(F32, (1, 2, 3, 0)), TensorType(F32, (2, 4)), TensorType(I64, (2,))], {}, r"requires \[batch, channels"),
        ("RoiAlign", [TensorType(F32, (1, 2, 3, 3)), TensorType(F32, (2, 5)), TensorType(I64, (2,))], {}, r"requires \[regions, 4\]"),
        ("RoiAlign", [TensorType(F32, (1, 2, 3, 3)), TensorType(F32, (2, 4)), TensorType(I64, (3,))], {}, r"requires \[regions, 4\]"),
        ("RoiAlign", [TensorType(F32, (1, 2, 3, 3)), TensorType(F16, (2, 4)), TensorType(I64, (2,))], {}, "'rois' has type f16"),
        ("RoiAlign", [TensorType(F32, (1, 2, 3, 3)), TensorType(F32, (2, 4)), TensorType(I64, (2,))], {"mode": "min"}, "mode is 'min'"),
        ("RoiAlign", [TensorType(F32, (1, 2, 3, 3)), TensorType(F32, (2, 4)), TensorType(I64, (2,))], {"output_width": 0}, "one cell"),
        ("MaxRoiPool", [TensorType(F32, (1, 2, 3, 3)), TensorType(F32, (2, 4))], {"pooled_shape": (1, 1)}, r"requires \[regions, 5\]"),
        ("MaxRoiPool", [TensorType(F32, (1, 2, 3, 3)), TensorType(F32, (2, 5))], {"pooled_shape": (1, 0)}, "two positive numbers"),
    ],
)
def test_refusals(name: str, types: list[TensorType], attrs: dict[str, Any], message: str) -> None:
    operator = operators()[name]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), tuple(types), (None,) * len(types), 1))
