"""Operands of matrix products, and of what is much like one."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.expression import AnyLoad, Apply, Expression, Load
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, compose
from nautilus_cli.ir.types import F32, DType
from nautilus_cli.lowering.building.expressions import ExpressionBuilder
from nautilus_cli.lowering.building.lowered import Lowering
from nautilus_cli.lowering.building.packing import constant_behind, pack_rows
from nautilus_cli.lowering.building.slots import PackedWeight, Slots
from nautilus_cli.passes.fusion.fusible import is_cheap

WIDTH = 4
"""Widest vector, in elements, for which the contiguous coordinate of an operand is chosen."""

_DEAR = 20
"""Additions in the time of a function that is not cheap: of a sigmoid, on an H200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An operand of a matrix product.

    Attributes:
        dtype: of its elements.
        expression: of one, at (batch, row, k), or (batch, k, row) where k is not last.
        is_k_last: whether k is the last coordinate, along which it is loaded in vectors.
        is_constant: whether it is a weight.
    """

    dtype: DType
    expression: Expression
    is_k_last: bool = True
    is_constant: bool = False

    def is_straight(self, accumulate: DType) -> bool:
        """Whether it is only loaded, as the type of the sums, from places at fixed distances: what tiles are copied of."""
        match self.expression.steps:
            case (Load(storage=storage, map=index_map),) if (
                storage == accumulate and len(index_map.stages) == 1 and not index_map.is_guarded
            ):
                return all(len(digits) == 1 for digits in index_map.stages[0].coordinates)
        return False

    @property
    def work(self) -> int:
        """What is computed of each element, in additions."""
        return sum(1 if is_cheap(step.function) else _DEAR for step in self.expression.steps if isinstance(step, Apply))


def accumulator(dtype: DType) -> DType:
    """Return the type in which products are summed: fp32 for 16-bit floats, else the compute type."""
    return F32 if dtype.is_float and dtype.bits <= 32 else dtype.compute


def operand(lowering: Lowering, slots: Slots, value: Value, k_last: IndexMap, k_first: IndexMap) -> Operand:
    """Return an operand, with k as its last coordinate or the one before, by which lies one behind the other in memory.

    A constant is packed with k last. What is computed is rounded to VALUE's type, as if it had been stored.

    Args:
        lowering: the group.
        slots: the kernel's pointers.
        value: the operand's tensor.
        k_last: from (batch, row, k) to VALUE's linear index.
        k_first: the same from (batch, k, row).
    """
    packed = _packed(lowering, slots, value, k_last, "gemm_nk")
    if packed is not None:
        return Operand(dtype=value.type.dtype, expression=packed, is_constant=True)
    last, expression = widest(lowering, slots, value, k_last, k_first)
    return Operand(dtype=value.type.dtype, expression=expression, is_k_last=last)


def widest(lowering: Lowering, slots: Slots, value: Value, first: IndexMap, second: IndexMap) -> tuple[bool, Expression]:
    """Return whether the first of two ways to walk through a tensor has vectors as wide as the second, and the expression of the better."""

    def build(index_map: IndexMap, into: Slots) -> Expression:
        builder = ExpressionBuilder(lowering.group, into)
        return builder.rounded(builder.value(value, index_map), value.type.dtype)

    is_first = _width(build(first, Slots())) >= _width(build(second, Slots()))
    return is_first, build(first if is_first else second, slots)


def weight_expression(lowering: Lowering, slots: Slots, weights: Value, walk: IndexMap, recipe: str) -> Expression:
    """Return the expression of weights: of a constant as it is packed, else of what is computed.

    Args:
        lowering: the group.
        slots: the kernel's pointers.
        weights: their tensor.
        walk: from the kernel's coordinates to WEIGHTS' linear index, neighbours last.
        recipe: name of the packed form.
    """
    packed = _packed(lowering, slots, weights, walk, recipe)
    if packed is not None:
        return packed
    builder = ExpressionBuilder(lowering.group, slots)
    return builder.expression((builder.value(weights, walk),))


def _packed(lowering: Lowering, slots: Slots, value: Value, walk: IndexMap, recipe: str) -> Expression | None:
    behind = constant_behind(value, lowering.transparent())
    if behind is None:
        return None
    source, to_source = behind
    weight, packed_map = pack_rows(source, compose(walk, to_source), recipe)
    return packed_expression(weight, packed_map, value, slots)


def packed_expression(weight: PackedWeight, index_map: IndexMap, value: Value, slots: Slots) -> Expression:
    """Return the expression that only loads a packed constant."""
    return Expression((Load(slots.number(weight), value.type.dtype, index_map),), (0,))


def _width(expression: Expression) -> int:
    """Return the widest vector of the expression's largest load."""
    loads = [s for s in expression.steps if isinstance(s, AnyLoad) and not s.map.is_uniform_last()]
    return min((load.map.contiguous_width(WIDTH) for load in loads), default=WIDTH)
