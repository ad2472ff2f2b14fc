"""Where contents that follow from elements of inputs are what kernels would compute: integers of a type wrap around, expressions do not.

An element of which no rule asked a range is taken to lie within 32 bits, and one beyond stands for the nearest (`dims.Element`). What was
worked out with that may differ from what the element itself gives; and a result may be beyond its type. A run in which it is so is refused,
where an operator takes such contents for a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from nautilus_cli.ir.constructors import element
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.dims import Element, Symbol, lower, same, upper
from nautilus_cli.ir.floats import is_float
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import U64, DType, TensorType
from nautilus_cli.ops.contents import HOST_HIGHEST, HOST_LOWEST, bound_contents, may_wrap

Operands = tuple[Value | None, ...]
Work = Callable[[Operands], tuple[np.ndarray, ...] | None]
"""Works out the contents of an operator's results from those of operands; None where they are not known."""

_FAR = 1 << 29
"""Beyond sizes: a number that may be beyond it is followed as it is where a size is greater."""


class ElementLimits:
    """What must hold for contents to be what a kernel computes, by the value that has them.

    Args:
        dtype_of: element type of an input.
    """

    def __init__(self, dtype_of: Callable[[str], DType]) -> None:
        self._dtype_of = dtype_of
        self._needed: dict[Value, tuple[Requirement, ...]] = {}

    def of(self, values: Iterable[Value | None]) -> tuple[Requirement, ...]:
        """Return what must hold for all of VALUES."""
        return tuple(dict.fromkeys(one for value in values if value is not None for one in self._needed.get(value, ())))

    def keep(
        self,
        inputs: Operands,
        seen: Operands,
        results: Operands,
        found: tuple[np.ndarray, ...],
        types: Sequence[TensorType],
        work: Work,
        place: str,
    ) -> None:
        """Learn of the results of an operator.

        Args:
            inputs: its operands.
            seen: the same with their contents.
            results: its results.
            found: their contents.
            types: their types.
            work: what gave FOUND of SEEN.
            place: what errors call it.
        """
        elements = _elements(seen)
        before = self.of(inputs)
        if not elements and not before and not may_wrap(found, types):
            return
        own = self._own(elements, seen, found, types, work)
        needed = (*before, *(replace(one, text=f"{place}: {one.text}") for one in own))
        if needed:
            self._needed |= {value: needed for value in results if value is not None}

    def _own(
        self, elements: Sequence[Symbol], seen: Operands, found: tuple[np.ndarray, ...], types: Sequence[TensorType], work: Work
    ) -> list[Requirement]:
        needed: list[Requirement] = []
        open_ones = [symbol for symbol in elements if isinstance(symbol.source, Element) and symbol.source.saturates]
        wide = {symbol.name: self._widest(symbol) for symbol in open_ones}
        exact = found
        if wide:
            again = work(tuple(v if v is None else replace(v, contents=bound_contents(v.contents, wide)) for v in seen))
            if again is not None and all(_agree(bound_contents(a, wide), b) for a, b in zip(found, again, strict=True)):
                exact = again
            if exact is found or not all(map(_are_told_apart, found, exact)):
                needed += [_within(_alone(symbol), symbol.low, symbol.high, f"the value of {symbol.name}") for symbol in open_ones]
        highest = HOST_HIGHEST - any(v is not None and v.type.dtype == U64 for v in seen)  # greater ones are read as this
        for array, bounds, type_ in zip(found, exact, types, strict=True):
            if type_.dtype.is_float:
                continue
            low, high = max(type_.dtype.limits[0], HOST_LOWEST), min(type_.dtype.limits[1], highest)
            for value, bound in zip(array.reshape(-1).tolist(), bounds.reshape(-1).tolist(), strict=True):
                if not is_float(value) and (lower(bound) < low or upper(bound) > high) and not counts_in(value):
                    needed.append(_within(value, low, high, f"a number of type {type_.dtype}"))
        return needed

    def _widest(self, symbol: Symbol) -> int:
        """Return an element with the range of its type."""
        assert isinstance(symbol.source, Element)
        low, high = self._dtype_of(symbol.source.input).limits
        return element(replace(symbol.source, saturates=False), symbol.name, low, high)


def _elements(operands: Operands) -> list[Symbol]:
    """Return the symbols of elements of inputs in the contents of operands."""
    found = {s for v in operands if v is not None and v.contents is not None for size in v.contents.reshape(-1) for s in symbols(size)}
    return sorted((symbol for symbol in found if isinstance(symbol.source, Element)), key=lambda symbol: symbol.name)


def _alone(symbol: Symbol) -> int:
    assert isinstance(symbol.source, Element)
    return element(symbol.source, symbol.name, symbol.low, symbol.high)


def _agree(left: np.ndarray | None, right: np.ndarray) -> bool:
    """Whether contents are the same expressions; floats keep all of what they are made of."""
    assert left is not None
    pairs = zip(left.reshape(-1).tolist(), right.reshape(-1).tolist(), strict=True)
    return all((is_float(a) and is_float(b)) or same(a, b) for a, b in pairs)


def _are_told_apart(found: np.ndarray, exact: np.ndarray) -> bool:
    """Whether what rules see of the bounds of contents decides nothing that elements beyond their range would decide otherwise.

    Rules hold a number against sizes. One that may be far below and far above of all of these with elements in their range is held against
    them by the run; one that cannot be (2^33 more than an element) may be to elements beyond.
    """
    pairs = zip(found.reshape(-1).tolist(), exact.reshape(-1).tolist(), strict=True)
    bounds = ((lower(a), lower(b), upper(a), upper(b)) for a, b in pairs if not is_float(a) and not is_float(b))
    return all((low == least or low <= -_FAR) and (high == most or high >= _FAR) for low, least, high, most in bounds)


def _within(value: int, low: int, high: int, text: str) -> Requirement:
    return Requirement(value=value, low=low, high=high, text=text)
