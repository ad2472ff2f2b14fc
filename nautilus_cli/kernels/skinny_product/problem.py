"""What a product with few rows is to its main loop."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.kernels.product import Product


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinnyProduct:
    """A product and whether tensor cores may multiply.

    Attributes:
        shape: extents and orientations; its `sum_bytes` are those of float.
        may_use_tensor_cores: whether operands are multiplied as 16-bit floats.
    """

    shape: Product
    may_use_tensor_cores: bool
