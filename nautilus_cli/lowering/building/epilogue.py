"""What becomes of an anchor's results: the expression that a kernel hands them to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Lowering
from nautilus_cli.lowering.building.moments import moments_left
from nautilus_cli.lowering.building.slots import Slots


def epilogue_expression(
    lowering: Lowering, slots: Slots, result: Value, walk: IndexMap, *others: Value, given: Callable[[ExpressionBuilder], int] | None = None
) -> Expression:
    """Return the expression that finishes the accumulator and stores the group's outputs.

    Rows whose moments are left are handed back as they are stored, see `moments`.

    Args:
        lowering: the group.
        slots: the kernel's pointers.
        result: the anchor's result, handed in as parameter 0.
        walk: from the kernel's coordinates to RESULT's linear index, which all outputs share.
        others: further results of the anchor, of the same shape, handed in as parameters 1 and on.
        given: makes RESULT of what is handed in, where that is not RESULT itself.
    """
    leaves = {value: Leaf(number, walk) for number, value in enumerate((result, *others))}
    builder = ExpressionBuilder(lowering.group, slots, leaves if given is None else None)
    if given is not None:
        builder.give(result, walk, given(builder))
    left = moments_left(lowering.group)
    for value in lowering.group.outputs:
        if left is None or value is not left.moments:
            builder.store(value, walk)
    if left is None:
        return builder.expression()
    whole = builder.rounded(builder.value(left.rows, walk), left.rows.type.dtype)
    (handed,) = whole.results
    slot = slots.number(left.stored)
    return replace(whole, stores=tuple(replace(s, step=handed) if s.slot == slot else s for s in whole.stores))
