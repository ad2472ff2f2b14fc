"""What a product by wgmma is to its main loop."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.kernels.extents import Extents


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An operand that threads load and compute.

    Attributes:
        bytes: of a stored element.
        streams: loads that differ from element to element.
        singles: of these, loads that bring each element alone.
        gathered: loads at places that an index decides.
        loads: all of them.
        work: what is computed of an element, in additions.
    """

    bytes: int
    streams: int
    singles: int = 0
    gathered: int = 0
    loads: int
    work: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WgmmaProduct(Extents):
    """A product as the main loop sees it.

    Attributes:
        element_bytes: of an element that is multiplied: 2, or 4 for tf32.
        result_bytes: of an element of the result, where boxes of it can be stored; else 0.
        terms: products of tensor cores for each product of two elements.
        loaded_a: how threads load and compute A; None where bulk copies bring it.
        is_paired: whether two neighbouring sums make one result, so that a thread needs both.
        part_columns: neighbouring results of a row whose statistics are wanted, which the lanes of one warp have; 0 for none.
        moment_parts: parts of a row of A whose statistics are joined for the epilogue; 0 for none.
        input_count: operands that the epilogue loads.
        input_bytes: of all of them, for a result.
    """

    element_bytes: int
    result_bytes: int = 0
    terms: int = 1
    loaded_a: Loaded | None = None
    is_paired: bool = False
    part_columns: int = 0
    moment_parts: int = 0
    input_count: int = 0
    input_bytes: int = 0

    @property
    def sums(self) -> int:
        """Sums of a result."""
        return 2 if self.is_paired else 1
