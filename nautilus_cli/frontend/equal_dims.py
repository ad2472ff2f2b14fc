"""Dimensions that must be equal, or one the sum of others: an operator needs it, though the model gives it a name of its own, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import lcm

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.inputs import Inputs
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.dims import Symbol, Symbolic
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ir.undecided import UndecidedError


def joined(inputs: Inputs, error: UndecidedError) -> tuple[Inputs, str] | None:
    """Return the inputs with two dimensions as one, where ERROR asks whether they are equal, and a note; None where it asks another thing.

    A dimension that must be a sum of others (a mask's: the past and the tokens together) becomes that sum. The library then checks when it
    runs that the inputs agree.

    Raises:
        ModelError: no size is in both ranges.
    """
    pair = _pair(error)
    if pair is None:
        return _summed(inputs, error)
    kept, other = pair
    try:
        one = symbol(kept.name, max(kept.low, other.low), min(kept.high, other.high), lcm(kept.divisor, other.divisor))
    except ModelError as none:
        raise ModelError(
            f"dimensions {_range(kept)} and {_range(other)} must be equal, and no size is in both ranges", where=error.where
        ) from none
    types = {name: _renamed(type_, {kept.name: one, other.name: one}) for name, type_ in inputs.types.items()}
    renamed = {**{old: kept.name if new == other.name else new for old, new in inputs.renamed.items()}, other.name: kept.name}
    where = f"{error.where}: " if error.where else ""
    return replace(
        inputs, types=types, renamed=renamed
    ), f"{where}dimensions {kept.name} and {other.name} must be equal; the library takes them as {kept.name}."


def _range(dim: Symbol) -> str:
    multiples = f" (multiples of {dim.divisor})" if dim.divisor > 1 else ""
    return f"{dim.name} of {dim.low} to {dim.high}{multiples}"


def _summed(inputs: Inputs, error: UndecidedError) -> tuple[Inputs, str] | None:
    """Return the inputs with a dimension written as the sum that it must be, and a note; None where the error asks another thing."""
    found = _sum(error)
    if found is None:
        return None
    name, total = found
    types = {input_: _renamed(type_, {name.name: total}) for input_, type_ in inputs.types.items()}
    where = f"{error.where}: " if error.where else ""
    return replace(inputs, types=types), f"{where}dimension {name.name} must be {total}; the library takes it as that."


def _sum(error: UndecidedError) -> tuple[Symbol, int] | None:
    """Return a dimension, and the sum of others that it must be, where the error asks for that."""
    difference = error.left - error.right
    if error.relation != "equals" or not isinstance(difference, Symbolic):
        return None
    for sign in (1, -1):
        for monomial, coefficient in (sign * difference).terms:  # type: ignore[attr-defined]
            match monomial:
                case ((Symbol() as name, 1),) if coefficient == name.divisor:
                    total = symbol(name.name, name.low, name.high, name.divisor) - sign * difference
                    if name.source is not None or not isinstance(total, Symbolic) or counts_in(total):
                        continue  # what a kernel gives is known when nothing can be checked any more
                    if name not in symbols(total) and all(c > 0 for _, c in total.terms):
                        return name, total
    return None


def _pair(error: UndecidedError) -> tuple[Symbol, Symbol] | None:
    """Return two dimensions of which the error asks whether they are equal, themselves or times what both have."""
    if error.relation != "equals":
        return None
    difference = error.left - error.right
    if not isinstance(difference, Symbolic):
        return None
    match difference.terms:
        case ((((Symbol(source=None) as a, 1),), m), (((Symbol(source=None) as b, 1),), n)) if m * b.divisor == -n * a.divisor:
            return (a, b) if a.name < b.name else (b, a)
    return None


def _renamed(type_: TensorType, sizes: Mapping[str, int]) -> TensorType:
    return TensorType(type_.dtype, bind(type_.static, sizes))
