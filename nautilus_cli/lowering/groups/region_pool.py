"""Regions of images, pooled into cells."""

from __future__ import annotations

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, identity, permuted
from nautilus_cli.kernels.region_pool import Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.slots import Slots, Status
from nautilus_cli.ops.region_pool import RegionPoolAttrs

_CHANNELS_LAST = (0, 2, 3, 1)


def lower(lowering: Lowering) -> Lowered:
    """Images and regions by channels, which are last where they are innermost in memory."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, RegionPoolAttrs)
    x, corners, images = anchor.inputs[:3]
    assert x is not None and corners is not None and images is not None
    (result,) = anchor.results()
    slots = Slots()

    def read(value: Value, index_map: IndexMap) -> Expression:
        builder = ExpressionBuilder(lowering.group, slots)
        return builder.expression((builder.value(value, index_map),))

    element = read(x, permuted(x.type.static, _CHANNELS_LAST))
    corner = read(corners, identity(corners.type.static))
    image = read(images, identity(images.type.static))
    epilogue = epilogue_expression(lowering, slots, result, permuted(result.type.static, _CHANNELS_LAST))
    slots.number(Status())
    batch, channels, height, width = x.type.static
    problem = Problem(
        regions=result.type.static[0],
        images=batch,
        channels=channels,
        in_height=height,
        in_width=width,
        out_height=attrs.height,
        out_width=attrs.width,
        samples=attrs.samples,
        combine="sum" if attrs.mode == "mean" else "max",
        is_whole=attrs.mode == "whole",
        is_bounded=attrs.is_bounded,
        is_channels_last=result.order == _CHANNELS_LAST,
        x_storage=main_storage(element, x.type.dtype),
    )
    functors = (("X", element), ("Corner", corner), ("Image", image), ("Epilogue", epilogue))
    return Lowered(family="region_pool", problem=problem, functors=functors, slots=slots)
