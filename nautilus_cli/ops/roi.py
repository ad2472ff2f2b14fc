"""RoiAlign and MaxRoiPool: regions of images, given as corners, pooled into a fixed number of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import one_of, operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.region_pool import RegionPoolAttrs, pooled
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar, scaled, widen


@dataclass(frozen=True, slots=True)
class RoiAlignAttrs:
    """Attributes of RoiAlign."""

    coordinate_transformation_mode: str = "half_pixel"
    mode: str = "avg"
    output_height: int = 1
    output_width: int = 1
    sampling_ratio: int = 0
    spatial_scale: float = 1.0


@dataclass(frozen=True, slots=True)
class MaxRoiPoolAttrs:
    """Attributes of MaxRoiPool."""

    pooled_shape: tuple[int, ...]
    spatial_scale: float = 1.0


def _image(inference: Inference) -> TensorType:
    x = operand(inference, 0, "X", FLOATS)
    if len(x.shape) != 4 or 0 in x.static[2:]:
        raise ModelError(f"operand 'X' has shape {list(x.static)}; the specification requires [batch, channels, height, width]")
    return x


def _infer_align(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    attrs = inference.attrs
    one_of(attrs.coordinate_transformation_mode, ("half_pixel", "output_half_pixel"), "coordinate_transformation_mode")
    one_of(attrs.mode, ("avg", "max"), "mode")
    x, rois = _image(inference), operand(inference, 1, "rois", FLOATS)
    images = operand(inference, 2, "batch_indices", (I64,))
    same_dtype(x, rois, "rois")
    if rois.static[1:] != (4,) or images.static != rois.static[:1]:
        raise ModelError(
            f"operands 'rois' and 'batch_indices' have shapes {list(rois.static)} and {list(images.static)}; "
            "the specification requires [regions, 4] and [regions]"
        )
    if min(attrs.output_height, attrs.output_width) < 1 or attrs.sampling_ratio < 0:
        raise ModelError(
            f"output_height, output_width and sampling_ratio are {attrs.output_height}, {attrs.output_width} and {attrs.sampling_ratio}; "
            "a region has one cell at least, and none may be negative"
        )
    return (TensorType(x.dtype, (rois.static[0], x.static[1], attrs.output_height, attrs.output_width)),)


def _regions(attrs: RoiAlignAttrs) -> RegionPoolAttrs:
    return RegionPoolAttrs(
        height=attrs.output_height,
        width=attrs.output_width,
        mode="mean" if attrs.mode == "avg" else "max",
        samples=attrs.sampling_ratio,
        is_bounded=attrs.coordinate_transformation_mode != "half_pixel",
    )


def _evaluate_align(attrs: RoiAlignAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x, rois, images = required(arrays)
    corners = widened(rois) * widened(rois).dtype.type(attrs.spatial_scale)
    if attrs.coordinate_transformation_mode == "half_pixel":
        corners = corners - corners.dtype.type(0.5)
    with np.errstate(all="ignore"):
        return (stored(pooled(_regions(attrs), widened(x), corners, images), x),)


def _build_align(emitter: Emitter, attrs: RoiAlignAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    x, rois, images = required(operands)
    corners = scaled(emitter, widen(emitter, rois), attrs.spatial_scale)
    if attrs.coordinate_transformation_mode == "half_pixel":
        corners = emitter.node("Sub", [corners, scalar(emitter, 0.5, corners.type.dtype)])
    return (emitter.node("nautilus::RegionPool", [x, corners, images], _regions(attrs)),)


def _infer_max(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x, rois = _image(inference), operand(inference, 1, "rois", FLOATS)
    same_dtype(x, rois, "rois")
    shape = inference.attrs.pooled_shape
    if rois.static[1:] != (5,) or len(shape) != 2 or min(shape) < 1:
        raise ModelError(
            f"operand 'rois' has shape {list(rois.static)} and pooled_shape is {list(shape)}; "
            "the specification requires [regions, 5] and two positive numbers"
        )
    return (TensorType(x.dtype, (rois.static[0], x.static[1], *shape)),)


def _evaluate_max(attrs: MaxRoiPoolAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x, rois = required(arrays)
    corners = widened(rois)[:, 1:] * widened(rois).dtype.type(attrs.spatial_scale)
    corners = np.sign(corners) * np.floor(np.abs(corners) + corners.dtype.type(0.5))
    height, width = attrs.pooled_shape
    with np.errstate(all="ignore"):
        images = widened(rois)[:, 0].astype(np.int64)
        return (stored(pooled(RegionPoolAttrs(height, width, "whole"), widened(x), corners, images), x),)


def _build_max(emitter: Emitter, attrs: MaxRoiPoolAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Round corners to pixels, halves away from zero, as the C++ library does."""
    x, rois = required(operands)
    wide = widen(emitter, rois)
    columns = [
        emitter.node("Slice", [wide, *(emitter.constant(np.array([n])) for n in (first, last, 1))]) for first, last in ((0, 1), (1, 5))
    ]
    images = cast(emitter, reshape(emitter, columns[0], rois.type.static[:1]), I64)
    corners = scaled(emitter, columns[1], attrs.spatial_scale)
    size = emitter.node("Add", [emitter.node("Abs", [corners]), scalar(emitter, 0.5, corners.type.dtype)])
    rounded = emitter.node("Mul", [emitter.node("Sign", [corners]), emitter.node("Floor", [size])])
    height, width = attrs.pooled_shape
    return (emitter.node("nautilus::RegionPool", [x, rounded, images], RegionPoolAttrs(height, width, "whole")),)


OPERATORS = (
    Operator(
        name="RoiAlign",
        infer=_infer_align,
        evaluate=_evaluate_align,
        lowering=Decompose(_build_align),
        source="ONNX 28, RoiAlign-22",
        attributes=RoiAlignAttrs,
        since=16,
    ),
    Operator(
        name="MaxRoiPool",
        infer=_infer_max,
        evaluate=_evaluate_max,
        lowering=Decompose(_build_max),
        source="ONNX 28, MaxRoiPool-22",
        attributes=MaxRoiPoolAttrs,
    ),
)
