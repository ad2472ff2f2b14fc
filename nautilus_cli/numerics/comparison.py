"""Comparison of a tensor with the one expected."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan

import numpy as np

from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics.tolerance import Tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a tensor differs from the one expected.

    Attributes:
        elements: how many there are.
        tolerance: that was held against them.
        max_abs: greatest absolute error among elements that are finite in both.
        max_rel: greatest error relative to the expected element, where that is not zero.
        cosine: of the angle between both, over elements that are finite in both; 1 where both are zero.
        actual_nan, expected_nan: how many NaN.
        actual_inf, expected_inf: how many infinities, of either sign.
        nonfinite_mismatches: elements that are NaN, or an infinity of one sign, on one side only.
        failures: elements beyond both tolerances, those of `nonfinite_mismatches` included.
        worst: index of the element furthest beyond its tolerance, or nearest to it; None for an empty tensor.
        worst_actual, worst_expected: the two values there.
    """

    elements: int
    tolerance: Tolerance
    max_abs: float
    max_rel: float
    cosine: float
    actual_nan: int
    expected_nan: int
    actual_inf: int
    expected_inf: int
    nonfinite_mismatches: int
    failures: int
    worst: tuple[int, ...] | None
    worst_actual: float | int | bool | None
    worst_expected: float | int | bool | None

    @property
    def is_match(self) -> bool:
        """Whether no element fails."""
        return self.failures == 0

    def __str__(self) -> str:
        if self.worst is None:
            return "empty"
        place = ", ".join(str(i) for i in self.worst)
        return (
            f"{self.failures} of {self.elements} elements beyond rtol {self.tolerance.rtol:.2e} and atol {self.tolerance.atol:.2e}; "
            f"max abs {self.max_abs:.3e}, max rel {self.max_rel:.3e}, cosine {self.cosine:.9f}, "
            f"NaN {self.actual_nan}/{self.expected_nan}, Inf {self.actual_inf}/{self.expected_inf}; "
            f"worst at [{place}]: {self.worst_actual} for {self.worst_expected}"
        )


def compare(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    """Compare ACTUAL with EXPECTED.

    An element fails if its error exceeds both `atol` and `rtol` × |expected|. NaN equals NaN; an infinity equals one of its sign.

    Shapes: both equal, any rank.

    Raises:
        ValueError: shapes or kinds differ. (Element types of one kind may: a wider reference is welcome.)
    """
    if actual.shape != expected.shape:
        raise ValueError(f"shape {actual.shape} cannot be compared with {expected.shape}")
    if dtype_of(actual).is_float != dtype_of(expected).is_float:
        raise ValueError(f"element type {actual.dtype} cannot be compared with {expected.dtype}")
    if dtype_of(expected).is_float:
        return _compare_floats(actual, expected, tolerance)
    return _compare_integers(actual, expected, tolerance)


def _compare_floats(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    a, b = actual.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a - b)
    mismatch = None
    if not np.isfinite(error).all():
        both_finite = np.isfinite(a) & np.isfinite(b)
        same_nonfinite = (np.isnan(a) & np.isnan(b)) | (np.isinf(a) & (a == b))
        mismatch = ~both_finite & ~same_nonfinite
        error, a, b = (np.where(both_finite, x, 0.0) for x in (error, a, b))
    return _summary(actual, expected, tolerance, error=error, mismatch=mismatch, cosine=_cosine(a, b), magnitude=np.abs(b))


def _compare_integers(actual: np.ndarray, expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    a, b = actual.ravel(), expected.ravel()
    if dtype_of(a).kind == "bool" or dtype_of(b).kind == "bool":
        a, b = a.astype(np.uint8), b.astype(np.uint8)
    # The greater minus the smaller, as unsigned 64-bit numbers, is exact where int64 or float64 would overflow or round.
    above = a > b
    difference = np.where(above, a.astype(np.uint64) - b.astype(np.uint64), b.astype(np.uint64) - a.astype(np.uint64))
    error, magnitude = difference.astype(np.float64), np.abs(b.astype(np.float64))
    cosine = _cosine(a.astype(np.float64), b.astype(np.float64))
    return _summary(actual, expected, tolerance, error=error, mismatch=None, cosine=cosine, magnitude=magnitude)


def _summary(
    actual: np.ndarray,
    expected: np.ndarray,
    tolerance: Tolerance,
    *,
    error: np.ndarray,
    mismatch: np.ndarray | None,
    cosine: float,
    magnitude: np.ndarray,
) -> Comparison:
    """Sum up flat arrays of errors and magnitudes, zero where an element is not finite; MISMATCH marks NaN and infinities on one side."""
    allowed = np.maximum(tolerance.atol, tolerance.rtol * magnitude)
    failing = error > allowed
    # How far beyond its tolerance each element is; an exact tolerance ranks by the error itself.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        severity = error / allowed if tolerance.atol > 0 else np.where(allowed > 0, error / allowed, error)
        relative = error / magnitude
    if mismatch is not None:
        failing |= mismatch
        severity[mismatch] = inf
    worst = int(np.argmax(severity)) if severity.size else None
    at = None if worst is None else tuple(int(i) for i in np.unravel_index(worst, expected.shape))
    is_float = dtype_of(expected).is_float
    return Comparison(
        elements=expected.size,
        tolerance=tolerance,
        max_abs=float(error.max(initial=0.0)),
        max_rel=float(np.max(relative, initial=0.0, where=magnitude > 0)),
        cosine=cosine,
        actual_nan=int(np.isnan(actual).sum()) if is_float else 0,
        expected_nan=int(np.isnan(expected).sum()) if is_float else 0,
        actual_inf=int(np.isinf(actual).sum()) if is_float else 0,
        expected_inf=int(np.isinf(expected).sum()) if is_float else 0,
        nonfinite_mismatches=0 if mismatch is None else int(mismatch.sum()),
        failures=int(failing.sum()),
        worst=at,
        worst_actual=None if at is None else _scalar(actual[at]),
        worst_expected=None if at is None else _scalar(expected[at]),
    )


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine of the angle; 1 where both are zero, NaN where one is."""
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    if scale == 0:
        return 1.0
    if not 1e-100 < scale < 1e100:
        a, b = a / scale, b / scale  # so that no square overflows or vanishes
    norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return min(1.0, max(-1.0, float(np.dot(a, b)) / norms)) if norms > 0 and isfinite(norms) else nan


def _scalar(value: np.generic) -> float | int | bool:
    """Return a numpy scalar as Python's own, so that it prints and goes into JSON."""
    kind = dtype_of(value.dtype).kind
    return float(value) if kind == "float" else bool(value) if kind == "bool" else int(value)
