"""Symbolic integers that are too long: no model that is meant has such, and what is done with them takes as long as they are."""

from __future__ import annotations

from nautilus_cli.errors import ModelError

MOST_FACTORS = 256
"""Atoms that a term multiplies: a tensor has up to 64 dimensions."""

MOST_PRODUCTS = 1 << 16
"""Pairs of terms that a product of two sums has."""

MOST_CHARACTERS = 1 << 17
"""Of the text of a sum, that of all that lies in it counted as often as it is there. Real models have a few hundred, the result of a Slice
of four dimensions of which all operands are inputs 48 000."""


class OverlongError(ModelError):
    """An integer that follows from dimensions is a longer expression than anything computes with."""

    def __init__(self) -> None:
        super().__init__(
            "a number that is worked out from dimensions that are open is too long an expression",
            hint="Fix some of the dimensions with --shape or --dim.",
        )
