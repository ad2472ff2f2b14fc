"""Unary functions without attributes, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import erf

import numpy as np

from nautilus_cli.ir.types import BOOL, DType
from nautilus_cli.ops.element_types import FLOATS, INTEGERS, NUMERIC, SIGNED
from nautilus_cli.ops.pointwise import pointwise
from nautilus_cli.ops.spec import Operator

_erf = np.frompyfunc(erf, 1, 1)  # numpy has none; constants that need it are few and small


def erf_of(x: np.ndarray) -> np.ndarray:
    """Return the error function of X, in X's type, computed in double precision."""
    return np.asarray(_erf(x.astype(np.float64))).astype(x.dtype)


def _unary(
    name: str,
    evaluate: Callable[[np.ndarray], np.ndarray],
    version: int,
    since: int,
    allowed: Collection[DType] = FLOATS,
    *,
    function: str | None = None,
    result: DType | None = None,
) -> Operator:
    return pointwise(
        name,
        function or name.lower(),
        lambda _, x: evaluate(x),
        version=version,
        since=since,
        allowed=allowed,
        result=result,
    )


OPERATORS = (
    _unary("Abs", np.abs, 13, 6, NUMERIC),
    _unary("Neg", np.negative, 13, 6, (*FLOATS, *SIGNED)),
    _unary("Sign", np.sign, 13, 9, NUMERIC),
    _unary("Exp", np.exp, 13, 6),
    _unary("Log", np.log, 13, 6),
    _unary("Sqrt", np.sqrt, 13, 6),
    _unary("Reciprocal", lambda x: x.dtype.type(1) / x, 13, 6),
    _unary("Floor", np.floor, 13, 6),
    _unary("Ceil", np.ceil, 13, 6),
    _unary("Round", np.rint, 22, 11),
    _unary("Sin", np.sin, 22, 7),
    _unary("Cos", np.cos, 22, 7),
    _unary("Tan", np.tan, 22, 7),
    _unary("Asin", np.arcsin, 22, 7),
    _unary("Acos", np.arccos, 22, 7),
    _unary("Atan", np.arctan, 22, 7),
    _unary("Sinh", np.sinh, 22, 9),
    _unary("Cosh", np.cosh, 22, 9),
    _unary("Tanh", np.tanh, 13, 6),
    _unary("Asinh", np.arcsinh, 22, 9),
    _unary("Acosh", np.arccosh, 22, 9),
    _unary("Atanh", np.arctanh, 22, 9),
    _unary("Erf", erf_of, 13, 9),
    _unary("IsNaN", np.isnan, 20, 9, function="is_nan", result=BOOL),
    _unary("Not", np.logical_not, 1, 1, (BOOL,), function="logical_not"),
    _unary("BitwiseNot", np.invert, 18, 18, INTEGERS, function="bitwise_not"),
)
