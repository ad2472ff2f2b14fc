"""A one-stage detector of images of any number and size, from pixels to the boxes that suppression keeps: one library, at several sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nautilus_cli.ir.ranges import DimRange
from tests.e2e.test_counts import Network, hold

CLASSES = 3
STRIDES = (8, 16, 32)


class Detector(Network):
    """Layers as exports of the YOLO family have them."""

    def __init__(self) -> None:
        super().__init__()
        self.random = np.random.default_rng(7)

    def conv(self, x: str, inside: int, outside: int, kernel: int = 1, stride: int = 1) -> str:
        weights = self.random.standard_normal((outside, inside, kernel, kernel)) * 1.5 / np.sqrt(inside * kernel**2)
        bias = self.constant(self.random.standard_normal(outside) / 4, np.float32)
        pads = [(kernel - 1) // 2] * 4
        return self.node("Conv", x, self.constant(weights, np.float32), bias, pads=pads, strides=[stride] * 2)

    def unit(self, x: str, inside: int, outside: int, kernel: int = 1, stride: int = 1) -> str:
        y = self.conv(x, inside, outside, kernel, stride)
        return self.node("Mul", y, self.node("Sigmoid", y))

    def block(self, x: str, channels: int) -> str:
        """Two halves, of which one goes through a residual unit; all three are joined."""
        first, second = self.nodes_of("Split", self.unit(x, channels, channels), outputs=2, axis=1, num_outputs=2)
        third = self.node("Add", second, self.unit(second, channels // 2, channels // 2, 3))
        return self.unit(self.node("Concat", first, second, third, axis=1), channels * 3 // 2, channels)

    def pyramid(self, x: str, channels: int) -> str:
        half = self.unit(x, channels, channels // 2)
        pooled = [half]
        for _ in range(2):
            pooled.append(self.node("MaxPool", pooled[-1], kernel_shape=[5, 5], pads=[2] * 4))
        return self.unit(self.node("Concat", *pooled, axis=1), channels // 2 * 3, channels)

    def doubled(self, x: str) -> str:
        scales = self.constant([1, 1, 2, 2], np.float32)
        return self.node("Resize", x, "", scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor", mode="nearest")

    def size(self, x: str, axis: int) -> str:
        return self.node("Gather", self.node("Shape", x), self.constant(axis), axis=0)

    def number(self, value: float | list[float]) -> str:
        return self.constant(value, np.float32)

    def centres(self, x: str, axis: int) -> str:
        """Return the middles of cells along an axis of a level, in cells."""
        steps = self.node("Range", self.constant(0), self.size(x, axis), self.constant(1))
        return self.node("Add", self.node("Cast", steps, to=1), self.number(0.5))

    def level(self, x: str, channels: int, stride: int) -> tuple[str, str]:
        """Return the boxes of a level, [batch, 4, cells], and the scores, [batch, classes, cells]."""
        said = self.conv(x, channels, 4 + CLASSES)
        far, scores = self.nodes_of("Split", said, self.constant([4, CLASSES]), outputs=2, axis=1)
        far = self.node("Mul", self.node("Softplus", far), self.number(1.5))  # from a cell's middle to the four sides, in cells
        left, right = self.nodes_of("Split", far, self.constant([2, 2]), outputs=2, axis=1)
        rows = self.node("Unsqueeze", self.centres(x, 2), self.constant([0, 2]))
        columns = self.node("Unsqueeze", self.centres(x, 3), self.constant([0, 1]))
        area = self.node("Shape", self.node("Add", rows, columns))
        middle = self.node("Concat", self.node("Expand", rows, area), self.node("Expand", columns, area), axis=0)
        corners = self.node("Concat", self.node("Sub", middle, left), self.node("Add", middle, right), axis=1)
        boxes = self.node("Mul", corners, self.number(stride))
        flat = self.constant([0, 4, -1]), self.constant([0, CLASSES, -1])
        return self.node("Reshape", boxes, flat[0]), self.node("Reshape", self.node("Sigmoid", scores), flat[1])


def detector() -> Detector:
    s = Detector()
    x = s.unit(s.input("images", np.float32, "batch", 3, "height", "width"), 3, 8, 3, 2)
    x = s.block(s.unit(x, 8, 8, 3, 2), 8)
    fine = s.block(s.unit(x, 8, 16, 3, 2), 16)
    middle = s.block(s.unit(fine, 16, 16, 3, 2), 16)
    coarse = s.pyramid(s.unit(middle, 16, 32, 3, 2), 32)
    middle = s.block(s.unit(s.node("Concat", s.doubled(coarse), middle, axis=1), 48, 16), 16)
    fine = s.block(s.unit(s.node("Concat", s.doubled(middle), fine, axis=1), 32, 16), 16)
    levels = zip((fine, middle, coarse), (16, 16, 32), STRIDES, strict=True)
    boxes, scores = zip(*(s.level(x, channels, stride) for x, channels, stride in levels), strict=True)
    all_boxes = s.node("Transpose", s.node("Concat", *boxes, axis=2), perm=[0, 2, 1])
    all_scores = s.node("Concat", *scores, axis=2)
    kept = s.node("NonMaxSuppression", all_boxes, all_scores, s.constant([20]), s.number([0.5]), s.number([0.6]))
    s.node("GatherND", all_boxes, s.node("Gather", kept, s.constant([0, 2]), axis=1))
    s.node("GatherND", all_scores, kept)
    return s


def test_three_sizes_and_batches(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    shapes = (1, 64, 64), (3, 96, 32), (2, 32, 128), (4, 128, 128), (1, 32, 32)
    feeds = [{"images": random.standard_normal((batch, 3, *size)).astype(np.float32)} for batch, *size in shapes]
    dims = {"batch": DimRange(1, 4), "height": DimRange(32, 128, 32), "width": DimRange(32, 128, 32)}
    truths = hold(detector().model(), feeds, tmp_path, dims)
    boxes = [next(iter(truth.values())).shape[0] for truth in truths]
    assert len(set(boxes)) >= 3 and min(boxes) > 0, boxes
