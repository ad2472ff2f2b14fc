"""Symbolic integers that are too long: no real model has such, and whatever is done with one takes the longer for it."""

from __future__ import annotations

from nautilus_cli.errors import ModelError

MOST_FACTORS = 256
"""Atoms that a term multiplies: a tensor has up to 64 dimensions."""

MOST_PRODUCTS = 1 << 16
"""Pairs of terms that a product of two sums has."""

MOST_CHARACTERS = 1 << 17
"""Of the text of a sum, with all that is nested in it as often as it occurs. Real models have a few hundred; a Slice of four dimensions
whose operands are all inputs has 48 000."""


class OverlongError(ModelError):
    """An integer that follows from dimensions is a longer expression than anything computes with."""

    def __init__(self) -> None:
        super().__init__(
            "a number that is worked out from dimensions that are open is too long an expression",
            hint="Fix some of the dimensions with --shape or --dim.",
        )
