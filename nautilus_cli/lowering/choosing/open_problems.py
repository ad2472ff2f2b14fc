"""Problems whose sizes are open: as multiples, at some sizes, between some, and with a dimension in place of what decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from math import gcd
from typing import Any

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind, dimensions, expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Quotient, Symbol, Symbolic, is_symbolic, same
from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.occurrences import atoms, symbols
from nautilus_cli.lowering.building.lowered import Functors, Lowered
from nautilus_cli.lowering.choosing.choice import fitted
from nautilus_cli.lowering.choosing.ranges import MULTIPLE, representative

Problems = Mapping[str, Any]
"""Of families that compute the same, by name; the first is the group's own."""

PRODUCTS = ("gemm", "gemm_mma")
"""Families that products have first: the second where an epilogue is handed, or hands on, what only tensor cores' kernels know."""

KEY = "key"
"""Name of a dimension that stands for a whole key; it is in no kernel."""


def problems_of(lowered: Lowered) -> Iterator[tuple[str, Any]]:
    """Yield (family, problem) of the kernels that could compute a group; the first is its own."""
    yield lowered.family, lowered.problem
    yield from lowered.alternatives


def bound_to(lowered: Lowered, sizes: Mapping[str, int]) -> Lowered:
    """Return a kernel for some sizes only."""
    functors = bind(lowered.functors, sizes)
    alternatives = tuple((name, fitted(name, bind(problem, sizes), functors)) for name, problem in lowered.alternatives)
    return replace(lowered, problem=bind(lowered.problem, sizes), functors=functors, alternatives=alternatives)


def load_widths(functors: Functors) -> tuple[int, ...]:
    """Return how many neighbouring elements each load can bring at once, as rows of pixels from their edges on."""
    loads = (step for _, functor in functors if isinstance(functor, Expression) for step in functor.steps if isinstance(step, Load))
    return tuple(load.map.contiguous_width(MULTIPLE) for load in loads)


def divides_by_symbols(tree: object) -> bool:
    """Whether a size is divided by a dimension: where that is no multiple, the host could divide by zero."""
    return any(
        isinstance(atom, Quotient) and is_symbolic(atom.divisor)
        for value in expressions(tree)
        if isinstance(value, Symbolic)
        for atom in atoms(value)
    )


def with_key(problem: Any, key: int, whole: int) -> Any:
    """Return a problem with WHOLE in place of the fields that are the key."""
    return replace(problem, **{f.name: whole for f in fields(problem) if same(getattr(problem, f.name), key)})


def common_divisor(key: int) -> int:
    """Return a number that divides a key whatever the dimensions are."""
    return gcd(*(coefficient for _, coefficient in key.terms)) if isinstance(key, Symbolic) else key


def problems_at(problem: Any, key: int, value: int, sizes: Mapping[str, int]) -> Iterator[Any]:
    """Yield a problem at some sizes, and just below where nothing divides it; the fields that are the key are exactly VALUE."""
    yield bind(with_key(problem, key, value), sizes)
    below = representative(Symbol(KEY, 1, value))
    yield bind(with_key(problem, key, below), just_below(problem, sizes))


def just_below(problem: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes of a problem's dimensions, not above SIZES, that share nothing but their divisors."""
    return {d.name: representative(replace(d, high=max(d.low, sizes[d.name]))) for d in dimensions(problem)}


def of_something(problem: Any) -> Any:
    """Return a problem none of whose dimensions is 0: tensor maps are of something."""
    some = {d.name: symbol(d.name, max(1, d.low, d.divisor), d.high, d.divisor) for d in dimensions(problem) if d.low < 1 <= d.high}
    return bind(problem, some)


def narrowed(problem: Any, key: int, low: int, high: int) -> Any:
    """Return a problem for keys from LOW to HIGH alone.

    Where the key is no dimension as it is, the fields that it is are taken as one that the other fields know nothing of: what is legal for
    such a problem is legal for those sizes, too.
    """
    (first, *others) = symbols(key)
    is_dimension = not others and first.source is None and same(key, symbol(first.name, first.low, first.high, first.divisor))
    try:
        if is_dimension:
            return bind(problem, {first.name: symbol(first.name, max(low, first.low), min(high, first.high), first.divisor)})
        divisor = common_divisor(key)
        return with_key(problem, key, symbol(KEY, -(-low // divisor) * divisor, high // divisor * divisor, divisor))
    except ModelError:
        return problem
