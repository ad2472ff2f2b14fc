"""GridSample: elements of an image at places that another tensor gives, interpolated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import one_of, operand, operand_count, required
from nautilus_cli.ops.element_types import ALL, FLOATS
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.spec import Anchor, Inference, Operator

MODES = ("linear", "nearest", "cubic")
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75
"""The coefficient of cubic convolution. Source: ONNX 28, GridSample-22, its reference implementation."""


@dataclass(frozen=True, slots=True)
class GridSampleAttrs:
    """Attributes of GridSample."""

    align_corners: int = 0
    mode: str = "linear"
    padding_mode: str = "zeros"


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    attrs = inference.attrs
    mode = one_of(attrs.mode, MODES, "mode")
    one_of(attrs.padding_mode, PADDINGS, "padding_mode")
    x = operand(inference, 0, "X", ALL)
    if mode != "nearest" and x.dtype not in FLOATS:
        raise ModelError(
            f"operand 'X' has type {x.dtype} and mode is {mode}; the specification does not say how what lies between such elements is "
            "rounded, so that only mode 'nearest' is supported for them"
        )
    return (sampled_type(x, operand(inference, 1, "grid", FLOATS)),)


def sampled_type(x: TensorType, grid: TensorType) -> TensorType:
    """Return the type of X sampled at a grid.

    Raises:
        ModelError: their shapes do not fit together.
    """
    rank = len(x.shape) - 2
    if rank < 1 or len(grid.shape) != rank + 2 or grid.static[0] != x.static[0] or grid.static[-1] != rank:
        raise ModelError(
            f"operands have shapes {list(x.static)} and {list(grid.static)}; the specification requires [batch, channels, spatial] "
            "and [batch, spatial, number of spatial dimensions]"
        )
    if 0 in x.static[2:] and 0 not in grid.static:
        raise ModelError(f"operand 'X' has shape {list(x.static)}: there is nothing to sample")
    return TensorType(x.dtype, (*x.static[:2], *grid.static[1:-1]))


def _reflected(place: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return places between two borders: what lies beyond one is mirrored there, as often as it takes."""
    span = place.dtype.type(high - low)
    if span <= 0:
        return np.full_like(place, low)
    beyond = np.where(place < low, low - place, place - high)
    turns = np.trunc(beyond / span)
    rest = beyond - turns * span
    from_low = (place < low) != (turns % 2 != 0)
    return np.where((place < low) | (place > high), np.where(from_low, low + rest, high - rest), place)


@dataclass(frozen=True, slots=True)
class _Axis:
    """What each place takes along one dimension: elements, whether they exist, and weights; all [places, taps]."""

    elements: np.ndarray
    inside: np.ndarray
    weights: np.ndarray


def _axis(attrs: GridSampleAttrs, grid: np.ndarray, size: int, *, are_pixels: bool) -> _Axis:
    """Return what coordinates, normalised or counted in elements, take along a dimension of SIZE."""
    one = grid.dtype.type
    low, high = (0.0, size - 1.0) if attrs.align_corners else (-0.5, size - 0.5)
    if are_pixels:
        place = grid
    elif attrs.align_corners:
        place = (grid + one(1)) / one(2) * one(size - 1)
    else:
        place = ((grid + one(1)) * one(size) - one(1)) / one(2)
    if attrs.mode == "nearest":
        place = np.rint(place)
    # Cubic weights reach beyond the border from inside, so there only elements are clamped, as in onnxruntime and in PyTorch.
    if attrs.padding_mode == "border" and attrs.mode != "cubic":
        place = np.where((place < low) | (place > high), np.clip(place, 0, size - 1), place)
    elif attrs.padding_mode == "reflection":
        place = _reflected(place, low, high)
    begin = place if attrs.mode == "nearest" else np.floor(place)
    ratio = (place - begin)[..., None]
    if attrs.mode == "nearest":
        offsets, weights = np.array([0]), np.ones_like(ratio)
    elif attrs.mode == "linear":
        offsets, weights = np.array([0, 1]), np.concatenate([1 - ratio, ratio], -1)
    else:
        offsets = np.arange(-1, 3)
        weights = _cubic(np.abs(ratio - offsets.astype(grid.dtype)))
    far = 2.0**30  # nothing is there, and every integer type holds it
    elements = np.where(np.abs(begin) < far, begin, -far)[..., None] + offsets
    inside = np.ones(elements.shape, bool)
    if attrs.padding_mode == "zeros":
        inside = (elements >= 0) & (elements < size)
    elif attrs.padding_mode == "reflection":
        elements = np.trunc(_reflected(elements.astype(grid.dtype), low, high))
    return _Axis(np.clip(elements, 0, size - 1).astype(np.int64), inside, weights)


def _cubic(distance: np.ndarray) -> np.ndarray:
    near = ((CUBIC + 2) * distance - (CUBIC + 3)) * distance * distance + 1
    far = ((CUBIC * distance - 5 * CUBIC) * distance + 8 * CUBIC) * distance - 4 * CUBIC
    return np.asarray(np.where(distance <= 1, near, far))


def sampled(attrs: GridSampleAttrs, x: np.ndarray, grid: np.ndarray, *, are_pixels: bool) -> np.ndarray:
    """Return X sampled at a grid of places, which are normalised or count elements from the centre of the first."""
    batch, channels, *sizes = x.shape
    places = prod(grid.shape[1:-1])
    shape = (batch, channels, *grid.shape[1:-1])
    if prod(shape) == 0:
        return np.zeros(shape, x.dtype)
    flat = widened(grid).reshape(batch, places, len(sizes))
    with np.errstate(all="ignore"):
        # The last coordinate belongs to the first spatial dimension.
        axes = [_axis(attrs, flat[..., -1 - axis], size, are_pixels=are_pixels) for axis, size in enumerate(sizes)]
    wide = widened(x)
    images = np.arange(batch)[:, None]
    result = np.zeros((batch, places, channels), wide.dtype)
    with np.errstate(all="ignore"):
        for taps in product(*(range(axis.elements.shape[-1]) for axis in axes)):
            found = [(a.elements[..., t], a.inside[..., t], a.weights[..., t]) for a, t in zip(axes, taps, strict=True)]
            chosen: tuple[Any, ...] = (images, slice(None), *(elements for elements, _, _ in found))
            seen = wide[chosen]
            inside = np.logical_and.reduce([i for _, i, _ in found])
            term = np.where(inside[..., None], seen, wide.dtype.type(0))
            if attrs.mode == "nearest":
                result = term
            else:
                result += term * np.prod([w for _, _, w in found], axis=0)[..., None].astype(wide.dtype)
    return stored(result.transpose(0, 2, 1).reshape(shape), x)


def _evaluate(attrs: GridSampleAttrs, arrays: Sequence[np.ndarray | None], _outputs: int) -> tuple[np.ndarray, ...]:
    x, grid = required(arrays)
    return (sampled(attrs, x, grid, are_pixels=False),)


OPERATOR = Operator(
    name="GridSample",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("grid_sample", prologue=(0, 1), keeps_order=True),
    source="ONNX 28, GridSample-22",
    attributes=GridSampleAttrs,
    since=20,
)
