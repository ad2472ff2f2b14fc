"""NonMaxSuppression: the boxes that are kept, whose number a kernel counts where boxes or scores are not known at compile time.

One kernel chooses for each class of each image by itself, into as many slots as a class can keep boxes; the slots that it filled go one
behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, I64, DType
from nautilus_cli.ops.numbers import number
from nautilus_cli.ops.places import places
from nautilus_cli.ops.suppress import NAME, SuppressAttrs
from nautilus_cli.ops.wide import reshape


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, 5)
    builder = call.builder
    operands = [call.tensor(0), call.tensor(1)]
    most, overlap, least = (_limit(call, place, dtype, name) for place, dtype, name in _LIMITS)
    centred = call.integer("center_point_box", 0)
    if centred not in (0, 1):
        raise call.error(f"center_point_box is {centred}; the specification allows 0 and 1")
    if overlap is not None and overlap.constant is not None and not 0 <= float(overlap.constant.reshape(())) <= 1:
        raise call.error(f"iou_threshold is {float(overlap.constant.reshape(()))}; the specification allows 0 to 1")
    if any(len(operand.type.shape) != 3 for operand in operands):
        found = " and ".join(str(operand.type) for operand in operands)
        raise call.error(f"boxes and scores have the types {found}; the specification requires rank 3")
    batch, classes, boxes = operands[1].type.static
    if most is None:
        slots = 0
    else:
        slots = boxes if most.constant is None else minimum(boxes, maximum(0, int(most.constant.reshape(()))))
    if same(batch * classes * slots, 0):
        return [builder.constant(np.zeros((0, 3), np.int64), call.tensor_name(0))]
    limits = [_scalar(call, most, I64), _scalar(call, overlap, F32), None if least is None else reshape(builder, least, ())]
    chosen = builder.node(NAME, [*operands, *limits], SuppressAttrs(center_point_box=centred, slots=slots))
    flat = reshape(builder, chosen, (batch * classes * slots,))
    filled = places(builder, builder.node("GreaterOrEqual", [flat, number(builder, 0, I64)]), call.size_name(0))
    rows = builder.node("Div", [filled, number(builder, slots, I64)])
    columns = [
        builder.node("Div", [rows, number(builder, classes, I64)]),
        builder.node("Mod", [rows, number(builder, classes, I64)]),
        builder.node("Gather", [flat, filled]),
    ]
    (count,) = filled.type.static
    return builder.apply("Concat", [reshape(builder, c, (count, 1)) for c in columns], outputs=(call.tensor_name(0),), axis=1)


def _scalar(call: Occurrence, value: Value | None, dtype: DType) -> Value:
    """Return a limit as a scalar, 0 where it is left out."""
    return number(call.builder, 0, dtype) if value is None else reshape(call.builder, value, ())


_LIMITS = ((2, I64, "max_output_boxes_per_class"), (3, F32, "iou_threshold"), (4, F32, "score_threshold"))


def _limit(call: Occurrence, place: int, dtype: DType, name: str) -> Value | None:
    """Return an operand of one number, None where it is left out."""
    value = call.optional_tensor(place)
    if value is not None and (value.type.elements != 1 or value.type.dtype != dtype):
        raise call.error(f"operand '{name}' has the type {value.type}; the specification requires one {dtype}")
    return value


CONSTRUCT = Construct(
    name="NonMaxSuppression",
    build=_build,
    source="ONNX 28, NonMaxSuppression-11",
    attributes=("center_point_box",),
    since=10,
)
