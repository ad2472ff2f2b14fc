"""Places: where the elements of a vector are that are kept, in order; how many is known once a kernel has counted.

What NonZero, Compress, Unique and NonMaxSuppression have in common: `places` numbers the kept elements from the front, and gives the count
itself, from which the library knows how large its results are. A long vector is counted tile by tile first, so that each block of the
kernel knows how many elements come before its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import lower, upper
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.types import BOOL, I64, TensorType
from nautilus_cli.ops import count_bounds
from nautilus_cli.ops.checks import first_of, operand, operand_count, optional_operand, ranked
from nautilus_cli.ops.reduce import ReduceAttrs
from nautilus_cli.ops.spec import Anchor, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar

NAME = "nautilus::Places"

TILE = 4096
"""Elements that a block takes; a vector that is not longer needs no second kernel."""

_SAME_ELEMENTS = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})

_MOST_TILES = 2048
"""Above this many, tiles are longer: every block reads the counts of all before it."""


@dataclass(frozen=True, slots=True)
class PlacesAttrs:
    """Attributes of Places.

    Attributes:
        count: how many elements are kept, as the shapes of what follows have it.
        tile: elements of a tile, where there is an operand of their counts.
    """

    count: int = 0
    tile: int = TILE


class Counting(count_bounds.Counting, Protocol):
    """An emitter that knows numbers which kernels give: `ops.builder.GraphBuilder`.

    Attributes:
        nodes: what was appended so far.
        places: those of tensors so far.
        bounds: what the user says of counts.
    """

    nodes: list[Node]
    places: dict[Value, Value]
    bounds: count_bounds.CountBounds

    def apply(self, op: str, inputs: Any, attrs: object | None = None, *, outputs: Any = (None,), **overrides: Any) -> Any:
        """Append a node."""
        ...


def places(emitter: Counting, keep: Value, name: str) -> Value:
    """Return where the elements of KEEP, a bool vector, are true: int64 [n], n a new size that is called NAME.

    N is at most the number of elements. Where KEEP is a constant, so is the result; of one mask there is one size.
    """
    if keep.constant is not None:
        return emitter.constant(np.flatnonzero(keep.constant).astype(np.int64))
    source = _source(emitter, keep)
    if source in emitter.places:
        return emitter.places[source]
    (elements,) = keep.type.static
    bound = ceiling(elements)
    is_cut = emitter.bounds.is_cut(emitter, name, bound)
    count = bound if is_cut else emitter.count(name, bound)
    tile = max(TILE, -(-upper(elements) // _MOST_TILES // TILE) * TILE)
    tallies = None if upper(elements) <= TILE else _tallies(emitter, keep, tile)
    found, number = emitter.apply(NAME, [keep, tallies], PlacesAttrs(count=count, tile=tile), outputs=(None, None))
    if is_cut:
        kept = emitter.bounds.kept(emitter, name, bound, number)
        found = emitter.node("Slice", [found, emitter.sizes([0]), emitter.sizes([kept])])
    else:
        emitter.holds(count, number)
    emitter.places[source] = found
    return found  # type: ignore[no-any-return]


def _source(emitter: Counting, keep: Value) -> Value:
    """Return the tensor whose elements, in order, are not zero where those of KEEP are true: its masks have one number of places."""
    producers = {value: node for node in emitter.nodes for value in node.results()}
    while keep in producers:
        (operand, *_) = producers[keep].operands()
        is_mask = producers[keep].op == "Cast" and BOOL in (keep.type.dtype, operand.type.dtype)  # what is not zero stays so
        if not is_mask and producers[keep].op not in _SAME_ELEMENTS:
            break
        keep = operand
    return keep


def _tallies(emitter: Emitter, keep: Value, tile: int) -> Value:
    """Return how many elements each tile keeps."""
    (elements,) = keep.type.static
    tiles = -(-elements // tile)
    if lower(tiles * tile - elements) > 0 or upper(tiles * tile - elements) > 0:
        keep = emitter.node("Pad", [keep, emitter.sizes([0, tiles * tile - elements]), scalar(emitter, False, BOOL)])
    numbers = cast(emitter, reshape(emitter, keep, (tiles, tile)), I64)
    return emitter.node("ReduceSum", [numbers, emitter.constant(np.array([1], np.int64))], ReduceAttrs(keepdims=0))


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 2)
    ranked(operand(inference, 0, "keep", (BOOL,)), "keep", 1)
    tallies = optional_operand(inference, 1, "tallies", (I64,))
    if tallies is not None:
        ranked(tallies, "tallies", 1)
    return (TensorType(I64, (inference.attrs.count,)), TensorType(I64, ()))


def _evaluate(_attrs: PlacesAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    found = np.flatnonzero(first_of(arrays)).astype(np.int64)
    return (found, np.array(found.size, np.int64))


OPERATOR = Operator(
    name=NAME,
    infer=_infer,
    evaluate=_evaluate,
    lowering=Anchor("compaction", prologue=(0,), epilogue=False, results=2, reads_once=True),
    source="the elements of a vector that are kept: their places, and how many there are",
    attributes=PlacesAttrs,
)
