"""Comparisons, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from nautilus_cli.ir.types import BOOL, DType
from nautilus_cli.ops.element_types import ALL, NUMERIC
from nautilus_cli.ops.pointwise import pointwise
from nautilus_cli.ops.spec import Operator


def _comparison(
    name: str,
    function: str,
    evaluate: Callable[[np.ndarray, np.ndarray], np.ndarray],
    version: int,
    since: int,
    allowed: Collection[DType] = NUMERIC,
) -> Operator:
    return pointwise(
        name,
        function,
        lambda _, a, b: evaluate(a, b),
        version=version,
        since=since,
        operands=("A", "B"),
        allowed=allowed,
        result=BOOL,
    )


OPERATORS = (
    _comparison("Equal", "equal", np.equal, 19, 7, ALL),
    _comparison("Greater", "greater", np.greater, 13, 7),
    _comparison("GreaterOrEqual", "greater_or_equal", np.greater_equal, 16, 12),
    _comparison("Less", "less", np.less, 13, 7),
    _comparison("LessOrEqual", "less_or_equal", np.less_equal, 16, 12),
)
