"""Inputs whose values decide shapes, axes or counts, and are known only when the model runs.

An import begins without: integers are data like any other. Where an operator's rules must know an operand, the small inputs from which it
is computed get symbols for their elements, and the import begins anew; so it does when rules take fewer values of them than there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from nautilus_cli.errors import UsageError
from nautilus_cli.frontend.declared_sizes import MOST_ELEMENTS
from nautilus_cli.frontend.inputs import Inputs
from nautilus_cli.ir.constructors import element
from nautilus_cli.ir.dims import Element, FloatElement, Symbol, Symbolic, is_symbolic
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import atoms, symbols
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.operands import HIGHEST, LOWEST, RangeError, UnknownContentsError


def with_elements(inputs: Inputs, error: UnknownContentsError) -> Inputs | None:
    """Return the inputs with symbols for the elements of those that the operand of ERROR is computed from; None where that is no help."""
    behind = error.inputs or ()
    types = inputs.types
    if not behind or any(name not in types or not is_candidate(types[name]) for name in behind):
        return None
    if all(name in inputs.elements for name in behind):
        return None
    taken = {s.name for type_ in types.values() for dim in type_.static for s in symbols(dim)}
    made = {name: _elements(name, types[name], taken, inputs.ranges) for name in behind if name not in inputs.elements}
    return replace(inputs, elements={**inputs.elements, **made})


def is_candidate(type_: TensorType) -> bool:
    """Whether the host may read a tensor: a few numbers of a known count."""
    if type_.dtype.bits < 8 or type_.dtype.name.startswith("f8") or len(type_.shape) > 1 or any(map(is_symbolic, type_.shape)):
        return False
    return type_.elements <= MOST_ELEMENTS


def require_used(inputs: Inputs) -> None:
    """Refuse ranges of elements that decide nothing.

    Raises:
        UsageError: there is one.
    """
    for text in inputs.ranges:
        name, number = text.removesuffix("]").rsplit("[", 1)
        if int(number) >= np.size(inputs.elements.get(name, ())):
            raise UsageError("this element decides no shape, or is not there", where=f"--dim {quoted(text)}")


def _elements(name: str, type_: TensorType, taken: set[str], ranges: Mapping[str, DimRange]) -> np.ndarray:
    """Return symbols for the elements of an input, each with the range that the user gives it, else with the widest one."""
    array = np.empty(type_.elements, dtype=object)
    for index in range(type_.elements):
        if type_.dtype.is_float:
            array[index] = FloatElement(name, index)
            continue
        label = f"{quoted(name)[1:-1]}[{index}]"
        given = ranges.get(f"{name}[{index}]")
        while label in taken:
            label += "'"
        low, high = type_.dtype.limits
        if given is not None:
            array[index] = element(Element(name, index), label, max(low, given.low), min(high, given.high))
            continue
        array[index] = element(Element(name, index, saturates=True), label, max(low, LOWEST), min(high, HIGHEST))
    return array.reshape(type_.static)


def taken_ranges(inputs: Inputs) -> list[Requirement]:
    """Return the ranges that elements are cut to, which a run makes sure of even where nothing else depends on the element."""
    found = (_symbol(value) for array in inputs.elements.values() for value in array.reshape(-1))
    return [
        Requirement(value=element(symbol.source, symbol.name, symbol.low, symbol.high), low=symbol.low, high=symbol.high, text=symbol.name)
        for symbol in found
        if symbol is not None and isinstance(symbol.source, Element) and not symbol.source.saturates
    ]


def with_ranges(inputs: Inputs, error: RangeError) -> Inputs | None:
    """Return the inputs with elements cut to the ranges that ERROR asks for; None where that changes none."""
    found = {name: _cut(array, error.ranges) for name, array in inputs.elements.items()}
    if all(found[name] is array for name, array in inputs.elements.items()):
        return None
    return replace(inputs, elements=found)


def _cut(array: np.ndarray, ranges: Mapping[str, tuple[int, int]]) -> np.ndarray:
    """Return symbols with other ranges; the same array where none changes."""
    changed = False
    result = array.copy()
    for place, value in enumerate(array.reshape(-1)):
        symbol = _symbol(value)
        if symbol is None or symbol.name not in ranges:
            continue
        low, high = ranges[symbol.name]
        low, high = max(low, symbol.low), min(high, symbol.high)
        if (low, high) != (symbol.low, symbol.high) and low <= high:
            assert isinstance(symbol.source, Element)
            result.reshape(-1)[place] = element(replace(symbol.source, saturates=False), symbol.name, low, high)
            changed = True
    return result if changed else array


def _symbol(value: object) -> Symbol | None:
    """Return the symbol that an element is."""
    if not isinstance(value, Symbolic):
        return None
    (atom,) = atoms(value)
    return atom if isinstance(atom, Symbol) else None
