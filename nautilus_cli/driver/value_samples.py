"""Values of inputs that decide shapes: some that a library takes, to try it with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from nautilus_cli.errors import UsageError
from nautilus_cli.ir.dims import Element, Symbol
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.runtime.description import Tensor
from nautilus_cli.runtime.library import Library
from nautilus_cli.verify import archive

Ranges = Mapping[tuple[str, int], tuple[int, int]]
"""Least and greatest value of elements, by input and number."""

_SAMPLES = 2
"""Sets of values that a library is tried with."""

_MOST_TRIED = 4000
"""Sets of values that are drawn to find those: of the shapes of three numbers that 24 elements can have, some hundred are among 17576."""

_USUAL = (-1, 0, 1, 2, 3, 4)
_SMALL, _LARGE = -8, 64
_FRACTIONS = (0.5, 1.0, 1.5, 2.0)


def element_symbols(graph: Graph) -> dict[tuple[str, int], Symbol]:
    """Return the symbols of elements of inputs on which a graph's sizes depend, by input and element."""
    sizes = [size for one in graph.requirements for size in (one.value, one.low, one.high)]
    for node in graph.nodes:
        for value in (*node.operands(), *node.results()):
            sizes += value.type.static
            sizes += [] if value.contents is None else list(value.contents.reshape(-1))
    found = {s for size in sizes for s in symbols(size)}
    return {(s.source.input, s.source.index): s for s in found if isinstance(s.source, Element)}


def listed_ranges(library: Library) -> Ranges:
    """Return the ranges of elements of inputs as the library's manifest lists them.

    Raises:
        FileError: the manifest is missing.
    """
    entries = library.manifest["values"]
    return {(entry["input"], entry["element"]): (entry["low"], entry["high"]) for entry in entries if "low" in entry}


def ranges_of(graph: Graph) -> Ranges:
    """Return the ranges of elements of inputs on which a graph's sizes depend."""
    return {place: (symbol.low, symbol.high) for place, symbol in element_symbols(graph).items()}


def sampled_values(library: Library, known: Ranges, shapes: Sequence[Sequence[int]]) -> Iterator[dict[str, np.ndarray]]:
    """Yield values for the inputs of a library that decide shapes, such as it takes; none where chance finds none.

    Args:
        library: the library.
        known: least and greatest value of elements.
        shapes: of the inputs.
    """
    generator = np.random.default_rng(0)
    yielded: set[bytes] = set()
    for _ in range(_MOST_TRIED):
        arrays = [_drawn(tensor, shape, known, generator) for tensor, shape in zip(library.inputs, shapes, strict=True)]
        key = b"".join(array.tobytes() for array in arrays)
        if key in yielded:
            continue
        try:
            library.model.outputs_for(shapes, [array.ctypes.data for array in arrays])
        except UsageError:
            continue
        yielded.add(key)
        yield {tensor.name: array for tensor, array in zip(library.inputs, arrays, strict=True) if tensor.read_elements}
        if len(yielded) == _SAMPLES:
            return


def _drawn(tensor: Tensor, shape: Sequence[int], known: Ranges, generator: np.random.Generator) -> np.ndarray:
    """Draw an input; one that decides nothing has no elements."""
    if not tensor.read_elements:
        return np.empty(0, tensor.dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.type.is_float:
        return generator.choice(_FRACTIONS, count).astype(tensor.dtype).reshape(shape)
    values = []
    for index in range(count):
        least, greatest = known.get((tensor.name, index), (0, 1))
        low = min(max(least, _SMALL), greatest)
        high = max(min(greatest, _LARGE), low)
        usual = [value for value in _USUAL if low <= value <= high]
        values.append(generator.choice(usual) if usual and generator.random() < 0.5 else generator.integers(low, high, endpoint=True))
    return np.array(values).astype(tensor.dtype).reshape(shape)


def given_values(library: Library, inputs: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file that decide shapes."""
    arrays = archive.read(inputs)
    return {tensor.name: arrays[tensor.name] for tensor in library.inputs if tensor.read_elements and tensor.name in arrays}


def as_bindings(values: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Return values as texts of constants, as `--bind` takes them."""
    return {name: ",".join(repr(value) for value in array.reshape(-1).tolist()) for name, array in values.items()}


def values_text(values: Mapping[str, np.ndarray]) -> str:
    """Return values in a few words."""
    return ", ".join(f"{quoted(name)} = {array.tolist()}" for name, array in values.items())
