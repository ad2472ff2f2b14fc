"""Shapes that the user gives, with ranges in them."""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.ir.ranges import DimRange as DimRange
from nautilus_cli.ir.ranges import Size as Size
from nautilus_cli.ir.types import Sym


def bound_shape(name: str, shape: Sequence[Size], dims: Sequence[int | Sym] | None) -> tuple[int, ...]:
    """Return a given shape of input NAME with ranges as symbols, named as the model names the dimension, else by input and number.

    Args:
        name: of the input.
        shape: sizes and ranges.
        dims: as the model declares them; None where it leaves even the rank open.
    """
    labels = [dim.name if isinstance(dim, Sym) and dim.name != "?" else None for dim in dims or ()]
    labels += [None] * (len(shape) - len(labels))
    return tuple(
        size.symbol(label or f"{name}[{number}]") if isinstance(size, DimRange) else size
        for number, (size, label) in enumerate(zip(shape, labels, strict=False))
    )
