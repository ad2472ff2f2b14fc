"""Results held against what is expected, as close as their types and the sums behind them allow."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.types import DType
from nautilus_cli.numerics import compare, derived


def assert_close(
    found: np.ndarray,
    truth: np.ndarray,
    where: str,
    *,
    terms: int,
    depth: int = 1,
    scale: float | None = None,
    storage: DType | None = None,
) -> None:
    """Assert that FOUND has the shape of TRUTH, and its values within the tolerance that `derived` gives; WHERE is told where it has not.

    Args:
        found: the result.
        truth: what is expected.
        where: which of a test's results it is.
        terms: as for `derived`, and all that follow.
        depth: likewise.
        scale: likewise.
        storage: likewise.
    """
    assert found.shape == truth.shape, where
    result = compare(found, truth, derived(truth, terms=terms, depth=depth, scale=scale, storage=storage))
    assert result.is_match, f"{where}: {result}"
