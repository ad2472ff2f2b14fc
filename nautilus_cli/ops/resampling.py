"""How one dimension is resampled: for each result the neighbouring elements that it takes, and the weight of each.

Places are computed in float32, as scales are given and as onnxruntime computes them: near a tie a wider type would choose another
neighbour. Only elements in float64 get places in float64. Weights are functions of the places, in float64.

Source: ONNX 28, Resize-19; where that leaves something open, onnx's reference implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np

from nautilus_cli.ops.checks import one_of

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
MODES = ("nearest", "linear", "cubic")

_TIE = 1e-6
"""A place so close to the middle of two elements is a tie: float32 could not hold the middle. Source: onnxruntime 1.32 behaves so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A dimension and what it becomes.

    Attributes:
        size: elements.
        result: elements of the result.
        scale: result elements for each element, as the model gives it.
        target: elements that the result stands for: `size × scale`, of which `result` is the whole part, or `result` where that was given.
            Only align_corners reads it, as the reference implementation does.
        start: of the region that is resized, where 0 is the first element and 1 the last; tf_crop_and_resize alone reads it.
        end: of that region.
    """

    size: int
    result: int
    scale: float
    target: float
    start: float = 0.0
    end: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How elements are weighted.

    Attributes:
        mode: one of MODES.
        coordinates: how a result's place becomes a place among the elements: one of COORDINATES.
        rounding: which element is nearest: one of ROUNDINGS.
        cubic: the coefficient a of cubic convolution.
        is_antialiased: whether the filter is stretched where the result is smaller.
        excludes_outside: whether weights of elements beyond the ends go to the others; else the outermost elements repeat.
        is_double: whether places are computed in float64.

    Raises:
        ModelError: a mode is unknown.
    """

    mode: str
    coordinates: str
    rounding: str = "round_prefer_floor"
    cubic: float = -0.75
    is_antialiased: bool = False
    excludes_outside: bool = False
    is_double: bool = False

    def __post_init__(self) -> None:
        one_of(self.mode, MODES, "mode")
        one_of(self.coordinates, COORDINATES, "coordinate_transformation_mode")
        one_of(self.rounding, ROUNDINGS, "nearest_mode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taps:
    """What each result takes: consecutive elements, the outermost repeating beyond the ends.

    Shapes:
        first: [result], int64: the first element; it may lie beyond the ends.
        weights: [result, taps], float64.
        outside: [result], bool: places outside the elements, to which tf_crop_and_resize gives a fixed value.
    """

    size: int
    first: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    @property
    def indices(self) -> np.ndarray:
        """The element behind each weight, [result, taps]."""
        return np.clip(self.first[:, None] + np.arange(self.weights.shape[1]), 0, self.size - 1)

    @property
    def is_selection(self) -> bool:
        """Whether each result is one element."""
        return self.weights.shape[1] == 1 and bool((self.weights == 1).all())

    @property
    def is_identity(self) -> bool:
        """Whether nothing changes."""
        return self.is_selection and np.array_equal(self.indices[:, 0], np.arange(self.size)) and not self.outside.any()


def taps(line: Line, sampling: Sampling) -> Taps:
    """Return what the results of a dimension take."""
    places = _places(line, sampling.coordinates, np.float64 if sampling.is_double else np.float32)
    outside = np.zeros(line.result, bool)
    if sampling.coordinates == "tf_crop_and_resize":
        outside = (places < 0) | (places > line.size - 1)
    if sampling.mode == "nearest":
        nearest = _nearest(places, sampling.rounding)
        return Taps(size=line.size, first=nearest, weights=np.ones((line.result, 1)), outside=outside)
    begin = np.floor(places)
    offsets, weights = _weighted(places - begin, line.scale, sampling)
    first = begin.astype(np.int64) + offsets[0]
    if sampling.excludes_outside:
        elements = first[:, None] + np.arange(len(offsets))
        weights = np.where((elements >= 0) & (elements < line.size), weights, 0)
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return _trimmed(Taps(size=line.size, first=first, weights=weights, outside=outside))


def _places(line: Line, coordinates: str, real: type[np.floating[Any]]) -> np.ndarray:
    """Return where each result lies among the elements, [result], in float64 but computed in REAL."""
    x, half, scale = np.arange(line.result, dtype=real), real(0.5), real(line.scale)
    size, target = real(line.size), real(line.target)
    if line.size == line.result and scale == 1 and coordinates not in ("tf_crop_and_resize", "tf_half_pixel_for_nn"):
        found = x
    elif coordinates == "asymmetric":
        found = x / scale
    elif coordinates == "tf_half_pixel_for_nn":
        found = (x + half) / scale
    elif coordinates == "align_corners":
        found = x * (size - 1) / (target - 1) if target != 1 else x * 0
    elif coordinates == "pytorch_half_pixel" and line.result <= 1:
        found = x * 0
    elif coordinates == "half_pixel_symmetric":
        offset = size / 2 * (1 - real(line.result) / (scale * size))
        found = (offset + (x.astype(np.float64) + 0.5) / scale - 0.5).astype(real)
    elif coordinates == "tf_crop_and_resize":
        start, end, last = real(line.start), real(line.end), size - 1
        found = start * last + x * (end - start) * last / real(line.result - 1) if line.result > 1 else x + half * (start + end) * last
    else:
        found = (x + half) / scale - half
    return found.astype(np.float64)


def nearest_shift(rounding: str) -> tuple[float, str]:
    """Return what is added to a place, and how the sum is rounded to the nearest element: `Floor` or `Ceil`."""
    shift = {"round_prefer_floor": -0.5 - _TIE, "round_prefer_ceil": 0.5 + _TIE}.get(rounding, 0.0)
    return shift, "Floor" if rounding in ("round_prefer_ceil", "floor") else "Ceil"


def _nearest(places: np.ndarray, rounding: str) -> np.ndarray:
    shift, rounded = nearest_shift(rounding)
    return np.asarray((np.floor if rounded == "Floor" else np.ceil)(places + shift).astype(np.int64))


def filter_reach(mode: str) -> int:
    """Return how far from a place its filter takes elements: linear or cubic."""
    return 1 if mode == "linear" else 2


def _weighted(ratio: np.ndarray, scale: float, sampling: Sampling) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of the taps from the element at or before each place, and their weights [result, taps].

    Args:
        ratio: how far behind that element each place is, in [0, 1).
    """
    reach = filter_reach(sampling.mode)
    stretch = min(scale, 1.0) if sampling.is_antialiased else 1.0
    begin = floor(-reach / stretch) + 1
    offsets = np.arange(begin, 2 - begin)
    distance = np.abs(offsets - ratio[:, None]) * stretch
    weights = np.clip(1 - distance, 0, 1) if sampling.mode == "linear" else _cubic(distance, sampling.cubic)
    if sampling.is_antialiased:
        weights = weights / weights.sum(1, keepdims=True)
    return offsets, weights


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """Return the weight at a distance. Source: Keys, Cubic convolution interpolation (1981), equation 15, with a free coefficient."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _trimmed(found: Taps) -> Taps:
    """Leave out the first and last taps that no result gives a weight."""
    used = np.flatnonzero((found.weights != 0).any(0))
    if len(used) == 0:
        return found
    kept = slice(used[0], used[-1] + 1)
    return Taps(size=found.size, first=found.first + used[0], weights=found.weights[:, kept], outside=found.outside)
