"""The boxes that each class of each image keeps."""

from __future__ import annotations

from typing import Any

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import F32, I64
from nautilus_cli.kernels.suppression import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.slots import Slots


def lower(lowering: Lowering) -> Lowered:
    """Boxes, scores and limits are read as they are asked for; what is kept goes to the slots of its class."""
    anchor = lowering.group.anchor
    assert anchor is not None
    boxes, scores, most, overlap, least = (*anchor.inputs, None)[:5]
    assert boxes is not None and scores is not None
    attrs: Any = anchor.attrs
    (result,) = anchor.results()
    slots = Slots()

    def read(value: Value | None, *, is_integer: bool = False) -> Expression:
        builder = ExpressionBuilder(lowering.group, slots)
        if value is None:
            return builder.expression((builder.constant(0, I64 if is_integer else F32),))
        return builder.expression((builder.value(value, identity(value.type.static or (1,))),))

    functors = [("Box", read(boxes)), ("Score", read(scores)), ("Most", read(most, is_integer=True)), ("Overlap", read(overlap))]
    functors.append(("Least", read(least)))
    functors.append(("Epilogue", epilogue_expression(lowering, slots, result, identity(result.type.static))))
    images, classes, count = scores.type.static
    problem = Problem(
        images=images,
        classes=classes,
        boxes=count,
        slots=attrs.slots,
        is_centred=bool(attrs.center_point_box),
        has_least=least is not None,
    )
    return Lowered(family="suppression", problem=problem, functors=tuple(functors), slots=slots)
