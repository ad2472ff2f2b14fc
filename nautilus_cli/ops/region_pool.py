"""RegionPool: pools regions of images into cells. RoiAlign and MaxRoiPool are written in it; no ONNX model has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import operand, operand_count, required
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, Operator

MOST_SAMPLES = 4096
"""Along one dimension of a cell: what a model asks for is far below, and a region of nonsense must end some day."""


@dataclass(frozen=True, slots=True)
class RegionPoolAttrs:
    """Attributes of RegionPool.

    Operands are X [images, channels, height, width], corners [regions, 4] (left, top, right, bottom, in pixels of X) in a floating-point
    type, and the image of each region, [regions] int64.

    Attributes:
        height: cells of a region along y.
        width: cells of a region along x.
        mode: `mean` of bilinear samples; `max` of their weighted neighbours; `whole` for the maximum of all pixels, where corners are
            whole numbers and both belong to the region.
        samples: along one dimension of a cell; 0 for one a pixel, rounded up.
        is_bounded: whether regions smaller than a pixel count as one pixel wide or high.
    """

    height: int
    width: int
    mode: str
    samples: int = 0
    is_bounded: bool = False


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    x, corners, images = (
        operand(inference, 0, "X", FLOATS),
        operand(inference, 1, "corners", FLOATS),
        operand(inference, 2, "images", (I64,)),
    )
    if len(x.shape) != 4 or corners.static[1:] != (4,) or images.static != corners.static[:1]:
        raise ModelError(f"operands have shapes {list(x.static)}, {list(corners.static)} and {list(images.static)}")
    return (TensorType(x.dtype, (corners.static[0], x.static[1], inference.attrs.height, inference.attrs.width)),)


def pooled(attrs: RegionPoolAttrs, x: np.ndarray, corners: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Return the cells of regions, [regions, channels, height, width], in X's type; zero where an image does not exist."""
    result = np.zeros((len(corners), x.shape[1], attrs.height, attrs.width), x.dtype)
    for number, (corner, image) in enumerate(zip(corners, images, strict=True)):
        if not 0 <= image < len(x):
            continue
        for place in np.ndindex(attrs.height, attrs.width):
            cell: Any = (number, slice(None), *place)
            result[cell] = (_whole if attrs.mode == "whole" else _sampled)(attrs, x[image], corner, place)
    return result


def _whole(attrs: RegionPoolAttrs, image: np.ndarray, corner: np.ndarray, place: tuple[int, ...]) -> np.ndarray:
    bounds: list[slice] = []
    one = corner.dtype.type
    for axis, (cell, cells) in enumerate(zip(place, (attrs.height, attrs.width), strict=True)):
        begin, end = (int(np.clip(np.nan_to_num(corner[1 - axis + k]), -(2.0**30), 2.0**30)) for k in (0, 2))
        step = one(max(end - begin + 1, 1)) / one(cells)
        limit = image.shape[1 + axis]
        first, last = (int(np.clip(n + begin, 0, limit)) for n in (floor(one(cell) * step), ceil(one(cell + 1) * step)))
        bounds.append(slice(first, last))
    found = image[:, bounds[0], bounds[1]]
    return np.asarray(found.max((1, 2)) if found.size else np.zeros(image.shape[0], image.dtype))


def _sampled(attrs: RegionPoolAttrs, image: np.ndarray, corner: np.ndarray, place: tuple[int, ...]) -> np.ndarray:
    along = []
    one = corner.dtype.type
    for axis, (cell, cells) in enumerate(zip(place, (attrs.height, attrs.width), strict=True)):
        begin, end = corner[1 - axis], corner[3 - axis]
        extent = max(end - begin, one(1)) if attrs.is_bounded else end - begin
        step = extent / one(cells)
        count = attrs.samples or (min(ceil(step), MOST_SAMPLES) if step > 0 else 0)
        at = begin + one(cell) * step + (np.arange(count, dtype=corner.dtype) + one(0.5)) * step / one(max(count, 1))
        size = image.shape[1 + axis]
        inside = (at >= -1) & (at <= size)
        at = np.maximum(at, 0)
        low = np.minimum(at.astype(np.int64), size - 1)
        ratio = np.where(low >= size - 1, 0, at - low).astype(corner.dtype)
        along.append((inside, low, np.minimum(low + 1, size - 1), ratio))
    (y_inside, y_low, y_high, y), (x_inside, x_low, x_high, x) = along
    inside = y_inside[:, None] & x_inside
    terms = []
    for rows, weight in ((y_low, 1 - y), (y_high, y)):
        for columns, other in ((x_low, 1 - x), (x_high, x)):
            both = np.where(inside, weight[:, None] * other, 0).astype(image.dtype)
            terms.append(both * image[:, rows][:, :, columns])
    if attrs.mode == "mean":
        return np.asarray(sum(terms).sum((1, 2)) / image.dtype.type(max(inside.size, 1)))
    found = np.max(terms, axis=0).reshape(len(image), -1)
    return np.asarray(found.max(1) if found.size else np.zeros(len(image), image.dtype))


def _evaluate(attrs: RegionPoolAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x, corners, images = required(arrays)
    with np.errstate(all="ignore"):
        return (stored(pooled(attrs, widened(x), widened(corners), images), x),)


OPERATOR = Operator(
    name="nautilus::RegionPool",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("region_pool", prologue=(0, 1, 2), keeps_order=True),
    source="Nautilus's own: RoiAlign and MaxRoiPool with their corners computed",
    attributes=RegionPoolAttrs,
)
