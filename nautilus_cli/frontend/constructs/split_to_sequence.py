"""SplitToSequence: a tensor cut along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.entities import Entity, TensorSequence, Unavailable
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from nautilus_cli.ops.operands import UnknownContentsError
from nautilus_cli.ops.split import SplitAttrs
from nautilus_cli.ops.wide import reshape


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 2)
    x, split = call.tensor(0), call.optional_tensor(1)
    rank = len(x.type.static)
    axis, keeps = call.integer("axis", 0), call.integer("keepdims", 1)
    if not -rank <= axis < rank:
        raise call.error(f"axis is {axis}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
    if keeps not in (0, 1):
        raise call.error(f"keepdims is {keeps}; the specification allows 0 and 1")
    axis += rank if axis < 0 else 0
    size = x.type.static[axis]
    if split is None:
        parts = _parts(call, x, axis, range(size + 1))
        shape = (*x.type.static[:axis], *x.type.static[axis + 1 :])
        return [TensorSequence(tuple(parts if keeps else (reshape(call.builder, part, shape) for part in parts)))]
    if split.type.dtype.kind != "int" or len(split.type.static) > 1:
        raise call.error(f"operand 'split' has the type {split.type}; the specification requires an integer or a list of integers")
    if split.constant is None:
        return [_by_the_run(call, x, axis, split)]
    return [TensorSequence(tuple(_parts(call, x, axis, _bounds(call, split.constant, size))))]


def _bounds(call: Occurrence, split: np.ndarray, size: int) -> Sequence[int]:
    """Return where the parts begin, and where the last one ends."""
    if split.ndim == 0:
        if split < 1:
            raise call.error(f"split is {int(split)}; it must be positive")
        call.host.spend(size // int(split), call.where)
        return [*range(0, size, int(split)), size]
    if (split < 0).any() or sum(int(part) for part in split) != size:
        raise call.error(f"split is {split.tolist()[:20]}; the specification requires a sum of {size} and nothing negative")
    return [0, *(int(end) for end in np.cumsum(split))]


def _parts(call: Occurrence, x: Value, axis: int, bounds: Sequence[int]) -> list[Value]:
    """Cut a tensor."""
    call.host.spend(len(bounds), call.where)
    constants = [[call.constant([n]) for n in (start, end, axis)] for start, end in pairwise(bounds)]
    return [call.builder.node("Slice", [x, *places]) for places in constants]


def _by_the_run(call: Occurrence, x: Value, axis: int, split: Value) -> Entity:
    """Return parts whose sizes the run knows, where inputs say them; else ones that nobody may read."""
    if split.type.static and split.type.static[0] >= 1:
        sizes = call.builder.node("Cast", [split], to=ONNX_NUMBERS[I64]) if split.type.dtype != I64 else split
        try:
            call.host.spend(split.type.static[0], call.where)
            return TensorSequence(call.builder.results("Split", [x, sizes], split.type.static[0], SplitAttrs(axis=axis)))
        except UnknownContentsError as error:
            if error.inputs:
                raise
    return _later(call, split)


def _later(call: Occurrence, split: Value) -> Entity:
    """Return parts of which at most the number is known."""
    reason = f"reads a part of {call.where}, whose sizes are only known at run time, which is not supported"
    part = Unavailable(reason, "Where they are a graph input, fix it with --bind NAME=VALUE.")
    if not split.type.static:
        return part
    call.host.spend(split.type.static[0], call.where)
    return TensorSequence((part,) * split.type.static[0])


CONSTRUCT = Construct(name="SplitToSequence", build=_build, source="ONNX 28, SplitToSequence-24", attributes=("axis", "keepdims"), since=11)
