"""NonMaxSuppression: the boxes of greatest score that do not overlap a chosen one too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.checks import contents, operand, operand_count, optional_operand, ranked, required, shaped
from nautilus_cli.ops.spec import HostOnly, Inference, Operator


@dataclass(frozen=True, slots=True)
class NonMaxSuppressionAttrs:
    """Attributes of NonMaxSuppression; boxes are two corners, or a centre and sizes where center_point_box is 1."""

    center_point_box: int = 0


def box_corners(attrs: Any, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest corner of each box, [..., boxes, 2]."""
    if attrs.center_point_box:
        centre, half = boxes[..., :2], boxes[..., 2:] / boxes.dtype.type(2)
        return centre - half, centre + half
    return np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])


def _overlap(low: np.ndarray, high: np.ndarray, box: int, chosen: list[int]) -> np.ndarray:
    """Return by how much a box overlaps the chosen ones: intersection over union, 0 where one of them is empty."""
    sides = np.minimum(high[box], high[chosen]) - np.maximum(low[box], low[chosen])
    shared = np.where((sides > 0).all(-1), sides.prod(-1), 0)
    own, theirs = (high[box] - low[box]).prod(), (high[chosen] - low[chosen]).prod(-1)
    union = own + theirs - shared
    return np.where((shared > 0) & (own > 0) & (theirs > 0) & (union > 0), shared / np.where(union > 0, union, 1), 0)


def _selected(attrs: NonMaxSuppressionAttrs, arrays: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return image, class and number of each chosen box, in order of image, class and score; of equal scores the first box comes first."""
    boxes, scores, most, overlap, least = (*arrays, None, None, None)[:5]
    assert boxes is not None and scores is not None, "the shape rule has refused this"
    limit = 0 if most is None else int(most.reshape(()))
    allowed = np.float32(0 if overlap is None else overlap.reshape(()))
    found: list[tuple[int, int, int]] = []
    for image in range(len(scores)):
        corners = box_corners(attrs, boxes[image])
        for number, row in enumerate(scores[image]):
            found += [(image, number, box) for box in kept_boxes(corners, row, limit, allowed, least)]
    return np.array(found, np.int64).reshape(-1, 3)


def kept_boxes(
    corners: tuple[np.ndarray, np.ndarray], scores: np.ndarray, limit: int, allowed: np.floating[Any], least: np.ndarray | None
) -> list[int]:
    """Return the boxes of one image that a class keeps, the greatest score first.

    Args:
        corners: the least and the greatest corner of each box.
        scores: of each box; NaN is none.
        limit: most boxes that are kept.
        allowed: overlap up to which a box is kept beside one of a greater score.
        least: score that a box must be above.
    """
    low, high = corners
    order = [int(b) for b in np.argsort(-scores, kind="stable") if scores[b] == scores[b]]
    chosen: list[int] = []
    for box in (b for b in order if least is None or scores[b] > least.reshape(())):
        if len(chosen) >= limit:
            break
        if not (_overlap(low, high, box, chosen) > allowed).any():
            chosen.append(box)
    return chosen


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 5)
    attrs = inference.attrs
    boxes, scores = operand(inference, 0, "boxes", (F32,)), operand(inference, 1, "scores", (F32,))
    batch, count, _ = ranked(boxes, "boxes", 3)
    shaped(boxes, "boxes", (batch, count, 4))
    classes = ranked(scores, "scores", 3)[1]
    shaped(scores, "scores", (batch, classes, count))
    names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    for index, name in enumerate(names, 2):
        found = optional_operand(inference, index, name, (I64,) if index == 2 else (F32,))
        if found is not None and found.elements != 1:
            raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires a scalar")
    if attrs.center_point_box not in (0, 1):
        raise ModelError(f"center_point_box is {attrs.center_point_box}; the specification allows 0 and 1")
    known = [contents(inference.constants, i, n) if t is not None else None for i, (n, t) in enumerate(_operands(inference, names))]
    threshold = known[3]
    if threshold is not None and not 0 <= float(threshold.reshape(())) <= 1:
        raise ModelError(f"iou_threshold is {float(threshold.reshape(()))}; the specification allows 0 to 1")
    return (TensorType(I64, _selected(attrs, known).shape),)


def _operands(inference: Inference, names: tuple[str, ...]) -> list[tuple[str, TensorType | None]]:
    """Return the name and type of each operand."""
    types = (*inference.types, None, None, None)[:5]
    return list(zip(("boxes", "scores", *names), types, strict=True))


def _evaluate(attrs: NonMaxSuppressionAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    required(arrays[:2])
    return (_selected(attrs, arrays),)


OPERATOR = Operator(
    name="NonMaxSuppression",
    infer=_infer,
    evaluate=_evaluate,
    lowering=HostOnly("the size of its result depends on its operands' contents, which must be known at compile time"),
    source="ONNX 28, NonMaxSuppression-11",
    attributes=NonMaxSuppressionAttrs,
    since=10,
)
