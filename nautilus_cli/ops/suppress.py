"""Suppress: which boxes each class of each image keeps, the greatest score first; -1 behind the last. NonMaxSuppression is made of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, optional_operand, ranked, required, shaped
from nautilus_cli.ops.non_max_suppression import box_corners, kept_boxes
from nautilus_cli.ops.spec import Anchor, Inference, Operator

NAME = "nautilus::Suppress"


@dataclass(frozen=True, slots=True)
class SuppressAttrs:
    """Attributes of Suppress.

    Attributes:
        center_point_box: whether boxes are a centre and sizes, else two corners.
        slots: most boxes that a class can keep.
    """

    center_point_box: int = 0
    slots: int = 0


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 4, 5)
    boxes, scores = operand(inference, 0, "boxes", (F32,)), operand(inference, 1, "scores", (F32,))
    batch, count, _ = ranked(boxes, "boxes", 3)
    shaped(boxes, "boxes", (batch, count, 4))
    classes = ranked(scores, "scores", 3)[1]
    shaped(scores, "scores", (batch, classes, count))
    for index, (name, dtype) in enumerate((("most", I64), ("overlap", F32), ("least", F32)), 2):
        shaped(optional_operand(inference, index, name, (dtype,)), name, ())
    return (TensorType(I64, (batch, classes, inference.attrs.slots)),)


def _evaluate(attrs: SuppressAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    boxes, scores, most, overlap = required(arrays[:4])
    least = arrays[4] if len(arrays) > 4 else None
    found = np.full((*scores.shape[:2], attrs.slots), -1, np.int64)
    for image, number in np.ndindex(*scores.shape[:2]):
        limit = min(attrs.slots, int(most))
        kept = kept_boxes(box_corners(attrs, boxes[image]), scores[image, number], limit, np.float32(overlap), least)
        found[image, number, : len(kept)] = kept
    return (found,)


OPERATOR = Operator(
    name=NAME,
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("suppression", prologue=(0, 1, 2, 3, 4)),
    source="ONNX 28, NonMaxSuppression-11, for each class of each image by itself",
    attributes=SuppressAttrs,
)
