"""Compress: the slices that a condition selects, whose number a kernel counts where the condition is not known at compile time."""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ops.places import places
from nautilus_cli.ops.wide import reshape


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, 2)
    x, condition = call.tensor(0), call.tensor(1)
    axis = call.integer("axis", 0) if "axis" in call.attributes else None
    rank = len(x.type.shape)
    if condition.constant is not None or len(condition.type.shape) != 1 or condition.type.dtype.kind != "bool":
        attributes = {} if axis is None else {"axis": axis}
        return call.builder.apply("Compress", [x, condition], outputs=(call.tensor_name(0),), **attributes)
    if axis is not None and not -rank <= axis < rank:
        raise call.error(f"axis is {axis}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
    data = reshape(call.builder, x, (x.type.elements,)) if axis is None else x
    extent, length = data.type.static[axis or 0], condition.type.static[0]
    if not same(extent, length) and upper(length - extent) > 0:
        raise call.error(f"operand 'condition' has {length} elements; the specification allows up to {extent}")
    found = places(call.builder, condition, call.size_name(0))
    return call.builder.apply("Gather", [data, found], outputs=(call.tensor_name(0),), axis=axis or 0)


CONSTRUCT = Construct(name="Compress", build=_build, source="ONNX 28, Compress-28", attributes=("axis",), since=9)
