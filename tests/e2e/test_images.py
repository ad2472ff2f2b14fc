"""Images resampled, spread, pooled and sampled in one network, with work fused around, held against the operators' truths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.e2e.every_order import Sketch, check_every_order


def weights(s: Sketch, *shape: int) -> str:
    return s.constant(np.random.default_rng(len(s.nodes)).standard_normal(shape).astype(np.float32))


def convolved(s: Sketch, x: str, inside: int, outside: int) -> str:
    return s.node("Relu", s.node("Conv", x, weights(s, outside, inside, 1, 1)))


def resizes(s: Sketch) -> None:
    x = convolved(s, s.floats(2, 3, 6, 7), 3, 16)
    doubled = s.node(
        "Resize", x, "", s.constant(np.float32([1, 1, 2, 2])), coordinate_transformation_mode="asymmetric", nearest_mode="floor"
    )
    s.node("Add", doubled, s.node("Resize", x, "", "", s.constant([2, 16, 12, 14]), mode="linear"))
    convolved(s, s.node("Resize", x, "", "", s.constant([2, 16, 5, 9]), mode="cubic", antialias=1), 16, 5)
    s.node("Sigmoid", s.node("Resize", s.floats(1, 3, 9, 4, dtype=np.float16), "", "", s.constant([1, 3, 4, 9]), mode="linear"))
    s.node("Resize", s.integers(0, 99, 2, 3, 5, dtype=np.uint8), "", s.constant(np.float32([1, 1, 1.7])))
    s.node("Resize", s.floats(2, 3, 4, 5), "", s.constant(np.float32([1.5, 2])), mode="linear", axes=[0, 2])


def transposed(s: Sketch) -> None:
    x = convolved(s, s.floats(2, 3, 5, 6), 3, 8)
    s.node("Relu", s.node("ConvTranspose", x, weights(s, 8, 4, 2, 2), weights(s, 4), strides=[2, 2]))
    s.node("ConvTranspose", x, weights(s, 8, 3, 3, 4), strides=[2, 3], pads=[1, 0, 0, 2], dilations=[1, 2], group=2)
    s.node("ConvTranspose", s.floats(1, 6, 9), s.floats(6, 4, 8), strides=[4], auto_pad="SAME_UPPER")
    s.node("ConvTranspose", s.floats(1, 4, 3, 3, 2), weights(s, 4, 5, 3, 2, 3), strides=[2, 1, 2])


def volumes(s: Sketch) -> None:
    x = s.node("Relu", s.node("Conv", s.floats(1, 3, 5, 6, 7), weights(s, 8, 3, 3, 3, 3), pads=[1] * 6))
    s.node("Conv", x, weights(s, 8, 1, 2, 3, 2), group=8)
    s.node("AveragePool", x, kernel_shape=[2, 3, 2], strides=[2, 1, 2], ceil_mode=1)
    s.node("GlobalMaxPool", x)


def patches(s: Sketch) -> None:
    """Windows that touch neither each other nor the end of an image, which lies channels first and last; with gaps between them."""
    x = s.node("Relu", s.node("Conv", s.floats(2, 3, 13, 17), weights(s, 16, 3, 4, 4), weights(s, 16), strides=[4, 4]))
    s.node("Sigmoid", s.node("Conv", x, weights(s, 8, 16, 2, 2), strides=[2, 2]))
    s.node("Conv", x, weights(s, 4, 16, 1, 2), strides=[2, 3])
    s.node("Conv", s.floats(1, 8, 7), weights(s, 5, 8, 3), strides=[3])


def pools(s: Sketch) -> None:
    best = s.node("MaxPool", convolved(s, s.floats(2, 3, 8, 6), 3, 5), outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    place = s.nodes[-1].output[1]
    s.node("MaxUnpool", s.node("Neg", best), place, kernel_shape=[2, 2], strides=[2, 2])
    s.node("LRN", s.floats(2, 7, 3, 4), size=5)


def samples(s: Sketch) -> None:
    x = convolved(s, s.floats(2, 3, 6, 7), 3, 12)
    grid = s.node("AffineGrid", s.floats(2, 2, 3), s.constant([2, 12, 5, 4]))
    convolved(s, s.node("GridSample", x, grid, padding_mode="border", align_corners=1), 12, 4)
    s.node("GridSample", s.floats(1, 3, 4, 5), s.floats(1, 3, 3, 2), mode="cubic", padding_mode="reflection")
    s.node("GridSample", s.floats(1, 2, 3, 4, 5), s.floats(1, 2, 2, 3, 3))
    corners = s.constant(np.float32([[0, 0, 9, 9], [3, 1, 12, 7], [-4, 2, 5, 30]]))
    s.node("Relu", s.node("RoiAlign", x, corners, s.integers(0, 2, 3), output_height=3, output_width=2, spatial_scale=0.5))
    s.node("MaxRoiPool", s.floats(2, 3, 7, 6), s.constant(np.float32([[1, 0, 0, 5, 3], [0, 2, 1, 9, 9]])), pooled_shape=[2, 3])


def deformed(s: Sketch) -> None:
    """The usual layer: offsets and mask come from a convolution of the image."""
    x = convolved(s, s.floats(1, 3, 7, 8), 3, 8)
    said = s.node("Conv", x, weights(s, 27, 8, 3, 3), pads=[1] * 4)
    offset, mask = (s.node("Slice", said, *(s.constant([n]) for n in bounds)) for bounds in ((0, 18, 1), (18, 27, 1)))
    s.node("Relu", s.node("DeformConv", x, weights(s, 4, 8, 3, 3), offset, weights(s, 4), s.node("Sigmoid", mask), pads=[1] * 4))
    s.node("DeformConv", s.floats(2, 4, 6), weights(s, 6, 2, 3), s.floats(2, 6, 4), group=2, offset_group=2)


def determinants(s: Sketch) -> None:
    s.node("Relu", s.node("Det", s.node("Add", s.floats(5, 4, 4), s.constant(2 * np.eye(4, dtype=np.float32)))))


@pytest.fixture(scope="module")
def sketch() -> Sketch:
    sketch = Sketch()
    for part in (resizes, transposed, volumes, patches, pools, samples, deformed, determinants):
        part(sketch)
    return sketch


def test_agrees_with_the_truth_in_every_order(sketch: Sketch, tmp_path: Path) -> None:
    check_every_order(sketch, tmp_path, terms=200, depth=8)  # sums of up to 200 terms, which may cancel, behind a convolution
