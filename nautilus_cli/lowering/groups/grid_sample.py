"""GridSample: images and samples by channels, which are last where they are innermost in memory."""

from __future__ import annotations

from nautilus_cli.ir.index_map import identity, permuted, regroup
from nautilus_cli.kernels.grid_sample import TAPS, Problem
from nautilus_cli.lowering.building.epilogue import epilogue_expression
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.grid_sample import GridSampleAttrs
from nautilus_cli.ops.pixel_sample import OPERATOR as PIXEL_SAMPLE


def lower(lowering: Lowering) -> Lowered:
    """Samples count over all spatial dimensions of the result."""
    anchor = lowering.group.anchor
    assert anchor is not None
    is_in_elements = anchor.op == PIXEL_SAMPLE.name
    attrs = GridSampleAttrs() if is_in_elements else anchor.attrs
    assert isinstance(attrs, GridSampleAttrs)
    x, grid = anchor.inputs[0], anchor.inputs[1]
    assert x is not None and grid is not None
    (result,) = anchor.results()
    rank = len(x.type.shape)
    places = list(range(1, rank - 1))
    channels_last = (0, *range(2, rank), 1)
    slots = Slots()
    reader = ExpressionBuilder(lowering.group, slots)
    element = reader.expression((reader.value(x, permuted(x.type.static, channels_last)),))
    reader = ExpressionBuilder(lowering.group, slots)
    coordinate = reader.expression((reader.value(grid, regroup(identity(grid.type.static), [[0], places, [rank - 1]])),))
    walk = regroup(permuted(result.type.static, channels_last), [[0], places, [rank - 1]])
    epilogue = epilogue_expression(lowering, slots, result, walk)
    images, samples, channels = walk.extents
    problem = Problem(
        images=images,
        channels=channels,
        samples=samples,
        sizes=x.type.static[2:],
        taps=TAPS[attrs.mode],
        is_aligned=bool(attrs.align_corners),
        is_clamped=attrs.padding_mode == "border",
        is_reflected=attrs.padding_mode == "reflection",
        is_in_elements=is_in_elements,
        grid_compute=grid.type.dtype.compute,
        is_channels_last=result.order == channels_last,
        x_storage=main_storage(element, x.type.dtype),
    )
    functors = (("X", element), ("Grid", coordinate), ("Epilogue", epilogue))
    return Lowered(family="grid_sample", problem=problem, functors=functors, slots=slots)
