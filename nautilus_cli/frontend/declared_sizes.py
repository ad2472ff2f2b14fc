"""Inputs whose values decide shapes that the model declares all the same.

A window's length, the target of a crop: an integer input says how large an output is, and the model says so too. Then the declaration
gives the input's value: shapes are inferred with symbols for the elements of such inputs, and held against the declared outputs. What
follows is compiled as a constant, and the library checks when it runs that the input holds it.

What an operator's rules leave open is decided in its favour (a size that must be at most 2 is), which is as sound: the result must
agree with the declarations, and the run checks the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from onnx import GraphProto

from nautilus_cli.frontend.constructs.selection import all_hold, required_to_hold
from nautilus_cli.frontend.inputs import Inputs, declared_type
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Symbol, Symbolic, is_symbolic, same
from nautilus_cli.ir.graph import Graph, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.polynomial import Polynomial
from nautilus_cli.ir.types import Sym
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.builder import GraphBuilder

MOST_ELEMENTS = 64
"""Elements of an input that may decide shapes: more than a tensor has dimensions, twice."""

_LOWEST, _HIGHEST = 2, 4096
"""Values that are assumed while the declarations are solved; what is found is checked, so that the range costs no correctness."""


def candidates(inputs: Inputs) -> Mapping[str, np.ndarray]:
    """Return symbols for the elements of each small integer input, as arrays of objects."""
    found = {}
    for name, type_ in inputs.types.items():
        if type_.dtype.kind == "int" and type_.dtype.bits >= 32 and len(type_.shape) <= 1 and not any(map(is_symbolic, type_.shape)):
            if not 1 <= type_.elements <= MOST_ELEMENTS:
                continue
            array = np.empty(type_.elements, dtype=object)
            array[:] = [symbol(f"{quoted(name)[1:-1]}[{i}]", _LOWEST, _HIGHEST) for i in range(type_.elements)]
            found[name] = array.reshape(type_.static)
    return found


def solved(trial: Graph, declared: GraphProto, known: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Return what the declared outputs say about the inputs in KNOWN: arrays of objects in which what is found is a number.

    Args:
        trial: the graph, whose shapes may hold the symbols of KNOWN.
        declared: the main graph of the model.
        known: symbols for the elements of inputs, from `candidates`.
    """
    sizes: dict[str, int] = {}
    for one in trial.requirements:
        if same(one.low, one.high):
            _solve(bind((one.value,), sizes)[0], one.low, sizes)
    for shape, dims in _shapes(trial, declared):
        if len(dims) != len(shape):
            continue
        for found, wanted in zip(shape, dims, strict=True):
            if isinstance(wanted, int):
                _solve(bind((found,), sizes)[0], wanted, sizes)
    return {name: bound for name, array in known.items() if not _all_symbolic(bound := _bound(array, sizes))}


def agrees(graph: Graph, declared: GraphProto) -> bool:
    """Whether the outputs of a graph have the shapes that the model declares for them, as far as it does."""
    return all(
        len(dims) == len(shape) and all(wanted == size for size, wanted in zip(shape, dims, strict=True) if isinstance(wanted, int))
        for shape, dims in _shapes(graph, declared)
    )


def _shapes(graph: Graph, declared: GraphProto) -> Iterator[tuple[tuple[int, ...], tuple[int | Sym, ...]]]:
    """Yield the shape of each output that the model declares dimensions for, and those."""
    values = dict(graph.outputs)
    for info in declared.output:
        dims = declared_type(info, "output").dims if info.name in values and info.HasField("type") else None
        if dims is not None:
            yield values[info.name].type.static, dims


def narrowed(known: Mapping[str, np.ndarray], error: UndecidedError) -> Mapping[str, np.ndarray] | None:
    """Return KNOWN with a symbol's range cut so that a comparison holds which an operator asked for; None where that cuts none."""
    difference = _without_common_factor(error.left - error.right)
    if not isinstance(difference, Symbolic):
        return None
    offset = dict(difference.terms).get((), 0)
    match [term for term in difference.terms if term[0]]:
        case [(((Symbol() as atom, 1),), coefficient)]:
            # coefficient * symbol + offset: zero, at most zero, or below zero
            limit = -offset - (1 if error.relation == "is less than" else 0)
            edge = limit // coefficient if coefficient > 0 else -(limit // -coefficient)
            low = edge if error.relation == "equals" or coefficient < 0 else atom.low
            high = edge if error.relation == "equals" or coefficient > 0 else atom.high
            asked = any(atom in symbols(value) for array in known.values() for value in array.reshape(-1))  # else a dimension is
            if asked and atom.low <= low <= high <= atom.high and (low, high) != (atom.low, atom.high):
                cut = symbol(atom.name, low, high)
                return {name: _bound(array, {atom.name: cut}) for name, array in known.items()}
    return None


def _without_common_factor(value: int) -> int:
    """Divide by the product of symbols that all terms share; they are positive, so that the sign stays."""
    if not isinstance(value, Symbolic):
        return value
    first, *others = (dict(monomial) for monomial, _ in value.terms)
    shared = {atom: min(power, *(other.get(atom, 0) for other in others)) for atom, power in first.items()} if others else {}
    for atom, power in shared.items():
        if isinstance(atom, Symbol):
            value = value // Polynomial.of({((atom, power),): 1}) if power else value
    return value


def _solve(found: int, wanted: int, sizes: dict[str, int]) -> None:
    """Learn from FOUND = WANTED where FOUND is a multiple of one symbol plus a number."""
    if not isinstance(found, Symbolic):
        return
    offset = dict(found.terms).get((), 0)
    match [term for term in found.terms if term[0]]:
        case [(((Symbol() as atom, 1),), coefficient)] if (wanted - offset) % coefficient == 0:
            sizes[atom.name] = (wanted - offset) // coefficient


def _bound(array: np.ndarray, sizes: Mapping[str, int]) -> np.ndarray:
    result = array.copy()
    result.reshape(-1)[:] = bind(tuple(array.reshape(-1)), sizes)
    return result


def _all_symbolic(array: np.ndarray) -> bool:
    return all(is_symbolic(value) for value in array.reshape(-1))


def checked(builder: GraphBuilder, value: Value, source: Value, known: np.ndarray) -> Value:
    """Return VALUE, computed only where SOURCE holds what is KNOWN of it; where it does not, the run reports an index out of range.

    Args:
        builder: where the nodes go.
        value: an output.
        source: the input.
        known: its contents; symbolic elements may be anything.
    """
    places = [i for i, element in enumerate(known.reshape(-1)) if not is_symbolic(element)]
    wanted = np.array([known.reshape(-1)[i] for i in places], source.type.dtype.numpy)
    elements = builder.node("Reshape", [source, builder.constant(np.array([-1], np.int64))])
    if len(places) < known.size:
        elements = builder.node("Gather", [elements, builder.constant(np.array(places, np.int64))])
    holds = all_hold(builder, builder.node("Equal", [elements, builder.constant(wanted)]))
    return required_to_hold(builder, value, [holds])
