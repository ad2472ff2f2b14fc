"""Row groups: reductions over the columns of each row, with the pointwise work around them."""

from __future__ import annotations

from math import prod

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.expression import Expression, Load, Reduction, RowProgram
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Group, Node, Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity, permuted, regroup
from nautilus_cli.kernels.row import Problem
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, streamed_bytes
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops import spec
from nautilus_cli.ops.movement import context
from nautilus_cli.ops.registry import operators

_NOTHING = Group("row", None, (), ())


def lower(lowering: Lowering) -> Lowered:
    """Rows are the kept dimensions, columns the reduced ones, both joined in ONNX order."""
    group = lowering.group
    assert group.anchor is not None
    operand = group.anchor.inputs[0]
    assert operand is not None
    shape = operand.type.static
    axes = _spec(group.anchor).axes(context(group.anchor))
    kept = [i for i in range(len(shape)) if i not in axes]
    rows, columns = prod(shape[i] for i in kept), prod(shape[i] for i in axes)
    order = [*kept, *sorted(axes)]
    element = regroup(permuted(shape, order), [list(range(len(kept))), list(range(len(kept), len(order)))])
    row_of_element = from_strides((rows, columns), (1, 0))
    row = identity((rows,))

    slots = Slots()
    at_element: dict[Value, Leaf] = {}
    at_row: dict[Value, Leaf] = {}
    reductions = []
    for node in group.nodes:
        if isinstance(operators()[node.op].lowering, spec.Reduction):
            result = next(node.results())
            source = node.inputs[0]
            assert source is not None
            builder = ExpressionBuilder(group, slots, at_element)
            term = builder.expression((builder.value(source, element),))
            reductions.append(_reduction(node, result, term, len(at_row), columns))
            at_element[result] = Leaf(len(at_element), row_of_element)
            at_row[result] = Leaf(len(at_row), row)
    by_element = ExpressionBuilder(group, slots, at_element)
    by_row = ExpressionBuilder(group, slots, at_row)
    for value in group.outputs:
        if same(value.type.elements, rows * columns) and value not in at_row:
            by_element.store(value, element)
        else:
            by_row.store(value, row)
    program = RowProgram(tuple(reductions), by_element.expression(), by_row.expression())
    narrowest = streamed_bytes([*(r.term for r in program.reductions), program.column_epilogue])
    problem = Problem(rows=rows, columns=columns, row_major=_is_row_major(program), element_bytes=narrowest)
    return Lowered(family="row", problem=problem, functors=(("Program", program),), slots=slots)


def _spec(node: Node) -> spec.Reduction:
    lowering = operators()[node.op].lowering
    assert isinstance(lowering, spec.Reduction)
    return lowering


def _reduction(node: Node, result: Value, term: Expression, index: int, columns: int) -> Reduction:
    """Return the reduction of NODE; a mean divides by the number of columns, once a row; of none it is 0, see `ops.reduce`."""
    dtype = result.type.dtype.compute
    builder = ExpressionBuilder(_NOTHING, Slots())
    combined = builder.parameter(index, dtype)
    if _spec(node).mean:
        combined = builder.apply("div", (combined, builder.constant(maximum(1, columns), dtype)), dtype)
    return Reduction(_spec(node).combine, term, builder.expression((combined,)), dtype)


def _is_row_major(program: RowProgram) -> bool:
    """Whether neighbouring columns are neighbours in memory, for most loads and stores."""
    maps: list[IndexMap] = []
    for expression in (*(r.term for r in program.reductions), program.column_epilogue):
        maps += [s.map for s in expression.steps if isinstance(s, Load)] + [s.map for s in expression.stores]
    votes = [same(_last_stride(m, -1), 1) for m in maps if same(_last_stride(m, -1), 1) or same(_last_stride(m, 0), 1)]
    return not votes or 2 * sum(votes) >= len(votes)


def _last_stride(index_map: IndexMap, coordinate: int) -> int:
    return index_map.stages[0].coordinates[coordinate][-1].stride
