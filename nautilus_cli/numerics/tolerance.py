"""Tolerances derived from element types, reduction lengths and depth; nothing here is a number that somebody found to pass.

Rounding errors are taken as independent and of mean zero. Then the error of one operation, relative to the root mean square of
its results, has the deviation (`step_deviation`)

    sqrt(terms · u_accumulate² / 6  +  u_store² / 3)

where u is a unit roundoff. A rounding is uniform within ±u of the value, so its deviation is at most u / sqrt(3). A sum of n terms in any
order rounds n partial sums; when the terms have mean zero, partial sum k is sqrt(k / n) of the result, and the roundings add up to n/2
of the last one's variance. (Terms of one sign give n/3; sums over trees or blocks less.) Steps in a row add variances: `combine`.

The comparison is between two such computations, hence the factor sqrt(2), and it is over many elements, hence the factor of
`confidence`: how many deviations the worst of N elements stays within. The result is a relative error e of the tensor as a whole, and so
`rtol` = e and `atol` = e · (root mean square of the reference): an element fails if it exceeds both, that is, the greater of the two.

How tight that is. A single fp32 product of k = 1024 gets about 1e-5, an fp16 one 3e-3; a term left out changes a result by
1/sqrt(k) = 3e-2 of the root mean square, inputs rounded to TF32 by 1e-3 (too much for fp32), an fp16 accumulator by 1e-2 (for fp16).
Through a whole network e grows with the root of the depth, to about 1e-4 in fp32 and 2e-2 in fp16 for 50 layers; a wrong tile,
edge, mask or constant is far outside.

Source: N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41 (2019), model 2.1 and
theorem 3.1 (the factor sqrt(n) u, holding for all of N results with probability at least 1 - 2 N exp(-lambda²/2)); N. J. Higham and
T. Mary, Sharper Probabilistic Backward Error Analysis for Basic Linear Algebra Kernels with Random Data, SIAM J. Sci. Comput. 42 (2020),
section 3 (data of mean zero).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from nautilus_cli.ir.types import F32, DType, dtype_of

FAILURE_PROBABILITY = 1e-6
"""Chance, under the model above, that a right result is called wrong."""

_SIGNIFICAND_BITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_SIGNIFICAND_BITS |= {"f8e4m3fn": 4, "f8e4m3fnuz": 4, "f8e5m2": 3, "f8e5m2fnuz": 3, "f8e8m0": 1, "f4e2m1": 2}

_SMALLEST_NORMAL = {"bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022, "f8e8m0": 2.0**-127}
_SMALLEST_SUBNORMAL = {"f16": 2.0**-24, "f8e4m3fn": 2.0**-9, "f8e4m3fnuz": 2.0**-10, "f8e5m2": 2.0**-16, "f8e5m2fnuz": 2.0**-17}
_SMALLEST_SUBNORMAL |= {"f4e2m1": 0.5}

FUNCTION_ULPS = 4
"""Error of an elementary function, in units in the last place of the compute type.

Source: CUDA C++ Programming Guide 13, Mathematical Functions: of the single-precision functions in use, erff 2, expf 2, tanhf 2, powf 4.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """An element fails if its error exceeds both `atol` and `rtol` times the magnitude of the reference.

    Attributes:
        rtol: relative to each element of the reference.
        atol: absolute.
    """

    rtol: float
    atol: float

    def scaled(self, factor: float) -> Tolerance:
        """Return it FACTOR times as wide."""
        return Tolerance(rtol=factor * self.rtol, atol=factor * self.atol)


EXACT = Tolerance(rtol=0.0, atol=0.0)
"""For integers, booleans and whatever only moves."""


def unit_roundoff(dtype: DType) -> float:
    """Return the greatest relative error of one rounding to nearest: 2^-p for p significand bits; 0 for integers and booleans.

    Source: IEEE 754-2019, table 3.5; bfloat16 has 8 significand bits, the leading one included; narrow floats as their names say.
    """
    bits = _SIGNIFICAND_BITS.get(dtype.name)
    return 0.0 if bits is None else 2.0**-bits


def step_deviation(storage: DType, *, terms: int = 1, accumulate: DType = F32) -> float:
    """Return the deviation of one operation's error, relative to the root mean square of its results.

    Args:
        storage: element type of the result.
        terms: length of the sum behind each element; 1 for pointwise work.
        accumulate: element type of the partial sums.
    """
    return sqrt(sum_deviation(storage, terms=terms, accumulate=accumulate) ** 2 + unit_roundoff(storage) ** 2 / 3)


def sum_deviation(storage: DType, *, terms: int, accumulate: DType = F32) -> float:
    """Return the deviation of the error of a sum of TERMS terms before it is stored; arguments as those of `step_deviation`."""
    accumulator = accumulate if unit_roundoff(accumulate) < unit_roundoff(storage) else storage
    return sqrt(terms / 6) * unit_roundoff(accumulator)


def function_deviation(compute: DType) -> float:
    """Return the deviation of an elementary function's error before its result is stored (one ulp is two unit roundoffs)."""
    return FUNCTION_ULPS * 2 * unit_roundoff(compute) / sqrt(3)


def combine(*deviations: float) -> float:
    """Return the deviation of independent errors together."""
    return sqrt(sum(d * d for d in deviations))


def confidence(elements: int) -> float:
    """Return how many deviations the worst of ELEMENTS stays within, but for `FAILURE_PROBABILITY`.

    Source: Higham and Mary (2019), theorem 3.1, solved for lambda.
    """
    return sqrt(2 * log(2 * max(1, elements) / FAILURE_PROBABILITY))


def magnitude(reference: np.ndarray) -> float:
    """Return the root mean square of the finite elements; 0 where there is none."""
    values = reference.astype(np.float64).ravel()
    finite = np.isfinite(values)
    if not finite.all():
        values = values[finite]
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 0.0
    # Scaled where the squares would overflow or vanish.
    scale = 1.0 if 1e-100 < largest < 1e100 else largest
    values = values if scale == 1.0 else values / scale
    return scale * float(np.sqrt(np.dot(values, values) / values.size))


def from_deviation(deviation: float, reference: np.ndarray, *, scale: float | None = None, absolute: float = 0.0) -> Tolerance:
    """Return the tolerance of a tensor whose error, relative to its root mean square, has this deviation.

    Args:
        deviation: of one of the two computations that are compared.
        reference: the tensor expected, in its storage type.
        scale: what `atol` is relative to, in place of the root mean square; for results that cancel, the root mean square of what is summed
            (|a|·|b| of a product).
        absolute: deviation of the part of the error that does not shrink with the values.
    """
    dtype = dtype_of(reference)
    if not dtype.is_float:
        return EXACT
    factor = confidence(reference.size)
    error = factor * sqrt(2) * deviation
    # Below the normal range a rounding is absolute. Types with the exponent range of f32 or more may be flushed to zero there.
    subnormal = _SMALLEST_SUBNORMAL.get(dtype.name)
    floor = _SMALLEST_NORMAL[dtype.name] if subnormal is None else factor * subnormal
    relative = error * (magnitude(reference) if scale is None else scale)
    return Tolerance(rtol=error, atol=max(relative, factor * sqrt(2) * absolute, floor))


def derived(
    reference: np.ndarray,
    *,
    terms: int = 1,
    depth: int = 1,
    accumulate: DType = F32,
    scale: float | None = None,
    storage: DType | None = None,
) -> Tolerance:
    """Return the tolerance of a tensor that DEPTH operations in a row compute, each a sum of TERMS with pointwise functions around it.

    Args:
        reference: the tensor expected; exact where it is of integers or booleans.
        terms: the longest sum behind an element: k of a product, channels × taps of a convolution, row length of a softmax.
        depth: operations in a row whose results are rounded.
        accumulate: element type of partial sums.
        scale: see `from_deviation`.
        storage: element type in which the computation stores, where the reference is given in a wider one.
    """
    stored = dtype_of(reference) if storage is None else storage
    if not stored.is_float:
        return EXACT
    step = combine(step_deviation(stored, terms=terms, accumulate=accumulate), function_deviation(stored.compute))
    return from_deviation(step * sqrt(depth), reference, scale=scale)
