"""What a product by mma.sync is to its main loop."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.kernels.product import Product


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaProduct:
    """A product and what tensor cores are to do with it.

    Attributes:
        shape: extents and orientations; its `sum_bytes` are those of float.
        element_bytes: of an element that is multiplied: 2, or 4 for tf32.
        terms: products of tensor cores for each product of two elements.
        part_columns: neighbouring results of a row whose statistics are wanted, which the lanes of one warp have; 0 for none.
        moment_parts: parts of a row of A whose statistics are joined for the epilogue; 0 for none.
    """

    shape: Product
    element_bytes: int
    terms: int = 1
    part_columns: int = 0
    moment_parts: int = 0
