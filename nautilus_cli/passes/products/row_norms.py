"""Norms of rows that products alone read: what LayerNormalization and RMSNormalization became, found again.

With x a stored tensor, M its mean and V its variance over the last axis (M is 0 and V the mean of squares in an RMSNormalization),

    y = (x - M) / √(V + epsilon) · gamma + beta,

where casts may stand between all of these, and gamma and beta are constants of one number a column, or left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.dims import is_symbolic, same
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.types import BF16, F16
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.movement import context
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Reduction
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.products.pair_products import is_by_constant

PART_COLUMNS = 32
"""Of a row, whose moments are taken together: what one warp has of the narrowest tiles that are worth it."""


@dataclass(frozen=True, slots=True, eq=False)
class RowNorm:
    """A norm of rows, all of whose readers are products by constants.

    Attributes:
        x: what is normalised, along its last axis.
        result: the normalised rows.
        epsilon: what is added to the variance.
        is_centred: whether the mean is taken off.
        gamma: factors of the columns, if there are any.
        beta: what is added to the columns after that, if anything is.
        products: the readers.
    """

    x: Value
    result: Value
    epsilon: float
    is_centred: bool
    gamma: np.ndarray | None
    beta: np.ndarray | None
    products: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Affine:
    """A value as gamma · UNIT + beta."""

    unit: Value
    gamma: np.ndarray | None = None
    beta: np.ndarray | None = None


def row_norms(flow: Dataflow) -> Iterator[RowNorm]:
    """Yield the norms of a graph that products can take over, in order."""
    leaving = {flow.source(value)[0] for value in flow.graph.output_values()}
    products: dict[Value, list[Node]] = {}
    for node in flow.computing:
        if is_by_constant(flow, node):
            products.setdefault(flow.source(next(node.operands()))[0], []).append(node)
    for value, found in products.items():
        norm = None if value in leaving or value.type.dtype not in (F16, BF16) else _norm(flow, value, tuple(found))
        if norm is not None:
            yield norm


def _norm(flow: Dataflow, value: Value, products: tuple[Node, ...]) -> RowNorm | None:
    """Return the norm that VALUE is the result of, if all of its readers are PRODUCTS of whole rows."""
    readers = flow.readers.get(value, [])
    if len(readers) != len(products) or not all(_takes_rows(flow, node, value) for node in products):
        return None
    columns = value.type.static[-1]
    if is_symbolic(columns) or not columns or columns % PART_COLUMNS:
        return None
    affine = _affine(flow, value, columns)
    unit = None if affine is None else _unit(flow, affine.unit, columns)
    if affine is None or unit is None:
        return None
    x, epsilon, is_centred = unit
    if x.type.dtype != value.type.dtype or not same(x.type.static, value.type.static) or flow.source(x)[0].constant is not None:
        return None
    return RowNorm(x, value, epsilon, is_centred, affine.gamma, affine.beta, products)


def _takes_rows(flow: Dataflow, product: Node, rows: Value) -> bool:
    """Whether the left operand of PRODUCT is ROWS, and its right operand is a constant that nothing else reads."""
    left, right = product.operands()
    held = flow.source(right)[0]
    if len(right.type.static) > len(left.type.static):
        return False
    return flow.is_whole(left) and same(left.type.static[-1], rows.type.static[-1]) and len(flow.readers.get(held, [])) == 1


def _affine(flow: Dataflow, value: Value, columns: int) -> _Affine | None:
    """Return VALUE with the constants of its columns taken off: those that scale it, then those that are added."""
    node = flow.producer.get(value)
    if node is None:
        return None
    if _is_cast(node):
        inner = _whole(flow, node.inputs[0])
        return None if inner is None else _affine(flow, inner, columns)
    for this, other in ((0, 1), (1, 0)) if node.op in ("Mul", "Add") and len(node.inputs) == 2 else ():
        vector = _column_vector(flow, node.inputs[this], columns)
        inner = _whole(flow, node.inputs[other])
        if vector is None or inner is None:
            continue
        found = _affine(flow, inner, columns)
        if found is None:
            return None
        if node.op == "Add":
            return _Affine(found.unit, found.gamma, vector if found.beta is None else found.beta + vector)
        beta = None if found.beta is None else found.beta * vector
        return _Affine(found.unit, vector if found.gamma is None else found.gamma * vector, beta)
    return _Affine(value)


def _column_vector(flow: Dataflow, value: Value | None, columns: int) -> np.ndarray | None:
    """Return a constant of one number a column, or one for all, as a float64 vector."""
    array = None if value is None else _constant(flow, value)
    if array is None or array.size not in (1, columns) or (array.size > 1 and array.shape[-1] != columns):
        return None
    return np.broadcast_to(array.astype(np.float64).reshape(-1), (columns,))


def _constant(flow: Dataflow, value: Value) -> np.ndarray | None:
    """Return a constant that movement and casts may lie before, shaped as VALUE, if it is one."""
    source, _ = flow.source(value)
    if source.constant is not None and flow.is_whole(value):
        return np.asarray(source.constant).reshape(value.type.static)
    node = flow.producer.get(source)
    if node is not None and _is_cast(node) and flow.is_whole(value) and node.inputs[0] is not None:
        inner = _constant(flow, node.inputs[0])
        return None if inner is None else inner.reshape(value.type.static)
    return None


def _is_cast(node: Node) -> bool:
    """Whether NODE casts floats to floats, of types whose rounding is none that a model asks for, as that of quantisation is."""
    types = {value.type.dtype for value in (*node.operands(), *node.results())}
    return isinstance(operators()[node.op].lowering, Cast) and types.issubset(FLOATS)


def _whole(flow: Dataflow, value: Value | None) -> Value | None:
    """Return what VALUE is of, element by element."""
    return None if value is None or not flow.is_whole(value) else flow.source(value)[0]


def _of_rows(flow: Dataflow, value: Value | None, rows: Value, columns: int) -> Value | None:
    """Return what VALUE is of, if ROWS are of so many columns, and an operation of both gives each of them one number of VALUE."""
    if value is None or not same(rows.type.static[-1:], (columns,)):
        return None
    rank = max(len(value.type.static), len(rows.type.static))
    found, wanted = ((*(1 for _ in range(rank - len(shape))), *shape) for shape in (value.type.static, (*rows.type.static[:-1], 1)))
    return _whole(flow, value) if same(found, wanted) else None


def _unit(flow: Dataflow, value: Value, columns: int) -> tuple[Value, float, bool] | None:
    """Return the x and the epsilon of what is normalised without factors, and whether its mean is taken off; None of anything else."""
    node = flow.producer.get(value)
    if node is None or node.op not in ("Mul", "Div"):
        return None
    for this, other in ((0, 1), (1, 0)) if node.op == "Mul" else ((0, 1),):
        rows = node.inputs[this]
        centred = _whole(flow, rows)
        scale = None if rows is None else _of_rows(flow, node.inputs[other], rows, columns)
        found = None if centred is None or scale is None else _deviation(flow, scale, columns, is_inverse=node.op == "Mul")
        if found is None or centred is None:
            continue
        of, epsilon = found
        if of is not centred:
            continue
        operand = _centred(flow, centred, columns)
        return (_narrow(flow, centred if operand is None else operand), epsilon, operand is not None)
    return None


def _centred(flow: Dataflow, value: Value, columns: int) -> Value | None:
    """Return x where VALUE is x - M."""
    node = flow.producer.get(value)
    if node is None or node.op != "Sub" or node.inputs[0] is None:
        return None
    operand = _whole(flow, node.inputs[0])
    mean = _of_rows(flow, node.inputs[1], node.inputs[0], columns)
    return operand if mean is not None and operand is not None and _mean_of(flow, mean, columns) is operand else None


def _deviation(flow: Dataflow, value: Value, columns: int, *, is_inverse: bool) -> tuple[Value, float] | None:
    """Return z and epsilon where VALUE is √(mean of z² + epsilon), or its reciprocal."""
    node = flow.producer.get(value)
    if is_inverse:
        node = _inverted(flow, node)
    node = _maker(flow, node.inputs[0]) if node is not None and node.op == "Sqrt" else None
    if node is None or node.op != "Add":
        return None
    for this, other in ((0, 1), (1, 0)):
        epsilon, variance = node.inputs[this], _whole(flow, node.inputs[other])
        array = None if epsilon is None else _constant(flow, epsilon)
        if array is None or array.size != 1 or variance is None:
            continue
        squares = _mean_of(flow, variance, columns)
        z = None if squares is None else _root(flow, squares)
        return None if z is None else (z, float(array.reshape(-1)[0]))
    return None


def _inverted(flow: Dataflow, node: Node | None) -> Node | None:
    """Return the node that computes z, where NODE is its reciprocal, or 1 / z, as exporters write it too."""
    if node is not None and node.op == "Reciprocal":
        return _maker(flow, node.inputs[0])
    if node is None or node.op != "Div" or node.inputs[0] is None:
        return None
    one = _constant(flow, node.inputs[0])
    return _maker(flow, node.inputs[1]) if one is not None and one.size == 1 and float(one.reshape(-1)[0]) == 1 else None


def _maker(flow: Dataflow, value: Value | None) -> Node | None:
    """Return the node that computes VALUE, element by element."""
    source = _whole(flow, value)
    return None if source is None else flow.producer.get(source)


def _mean_of(flow: Dataflow, value: Value, columns: int) -> Value | None:
    """Return that of which VALUE is the mean over the last axis, of so many columns."""
    node = flow.producer.get(value)
    lowering = None if node is None else operators()[node.op].lowering
    if node is None or not isinstance(lowering, Reduction) or not lowering.mean or lowering.combine != "sum":
        return None
    operand = node.inputs[0]
    if operand is None or not same(operand.type.static[-1:], (columns,)) or lowering.axes(context(node)) != (len(operand.type.static) - 1,):
        return None
    return _whole(flow, operand)


def _root(flow: Dataflow, value: Value) -> Value | None:
    """Return z where VALUE is z²."""
    node = flow.producer.get(value)
    if node is None or node.op not in ("Mul", "Pow") or len(node.inputs) != 2:
        return None
    first = _whole(flow, node.inputs[0])
    if first is None or not same(first.type.elements, value.type.elements):  # each with another one: an outer product
        return None
    if node.op == "Mul":
        return first if first is _whole(flow, node.inputs[1]) else None
    exponent = None if node.inputs[1] is None else _constant(flow, node.inputs[1])
    return first if exponent is not None and exponent.size == 1 and float(exponent.reshape(-1)[0]) == 2 else None


def _narrow(flow: Dataflow, value: Value) -> Value:
    """Return what was cast to VALUE's type, as it is stored."""
    node = flow.producer.get(value)
    operand = _whole(flow, node.inputs[0]) if node is not None and _is_cast(node) else None
    return operand if operand is not None and operand.type.dtype in (F16, BF16) else value
