from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds
from tests.unit.ops.oracle import check, onnxruntime_says


@given(st.data(), seeds(), st.integers(0, 1), st.booleans())
@settings(max_examples=80)
def test_agrees_with_onnxruntime(data: st.DataObject, rng: np.random.Generator, centred: int, thresholded: bool) -> None:
    batch, classes, count = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 30))
    boxes = rng.random((batch, count, 4)).astype(np.float32)
    # Equal scores and equal boxes: the first comes first.
    scores = (rng.integers(0, 8, (batch, classes, count)) / 8).astype(np.float32)
    boxes[:, count // 2 :] = boxes[:, : count - count // 2] if data.draw(st.booleans()) else boxes[:, count // 2 :]
    arrays = [boxes, scores, np.array([data.draw(st.integers(0, 9))]), np.array([data.draw(st.sampled_from([0, 0.3, 0.5, 1]))], np.float32)]
    if thresholded:
        arrays.append(np.array([0.4], np.float32))
    check("NonMaxSuppression", arrays, {"center_point_box": centred}, oracle=onnxruntime_says)


def test_nothing_is_asked_for_by_default() -> None:
    operator = operators()["NonMaxSuppression"]
    (found,) = operator.evaluate(operator.attributes(), (np.zeros((1, 3, 4), np.float32), np.ones((1, 1, 3), np.float32)), 1)
    assert found.shape == (0, 3)


BOXES, SCORES = np.zeros((1, 3, 4), np.float32), np.ones((1, 2, 3), np.float32)


@pytest.mark.parametrize(
    ("arrays", "known", "attrs", "message"),
    [
        ((BOXES[..., :3], SCORES), True, {}, r"'boxes' has shape \[1, 3, 3\]; the specification requires \[1, 3, 4\]"),
        ((BOXES, SCORES[..., :2]), True, {}, "'scores' has shape"),
        ((BOXES, SCORES, np.array([1, 2])), True, {}, "'max_output_boxes_per_class' has shape"),
        ((BOXES, SCORES, np.array(1), np.array(1.5, np.float32)), True, {}, "iou_threshold is 1.5"),
        ((BOXES, SCORES), True, {"center_point_box": 2}, "center_point_box is 2"),
        ((BOXES, SCORES), False, {}, "'boxes' decides the result's shape"),
        ((BOXES.astype(np.float16), SCORES), True, {}, "'boxes' has type f16"),
    ],
)
def test_refusals(arrays: tuple[np.ndarray, ...], known: bool, attrs: dict[str, Any], message: str) -> None:
    operator = operators()["NonMaxSuppression"]
    types = tuple(TensorType(dtype_of(a), a.shape) for a in arrays)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), types, arrays if known else (None,) * len(arrays), 1))
