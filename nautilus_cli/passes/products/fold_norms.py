"""A norm of rows goes into the products that read it: they multiply the rows as they are stored, and scale their sums.

With y = (x - M)·s·gamma + beta for each row x, s = 1/√(V + epsilon), and W a constant,

    Σₖ y[k]·W[k, n] = s·(Σₖ x[k]·B[k, n] - M·Σₖ B[k, n]) + Σₖ beta[k]·W[k, n],    B[k, n] = gamma[k]·W[k, n] - c[n],

for every c, since the x[k] - M add up to zero. With c the means of the columns of gamma·W the columns of B add up to zero, and nothing
is left of M: the sum of x·B is scaled, and a constant is added. No kernel normalises, no normalised row is stored, and its rounding falls
away. What comes in its place:

- B is rounded, relative to itself by u, the unit roundoff of its type, as y was: that is as much, whatever x is, as long as B's numbers are
  normal ones. It is checked for each column; where it is more, the norm stays.
- Roundings do not add up to zero. Some of B's numbers are rounded so that they do, to less than 2⁻²³ of Σₖ |B[k, n]| (`_balance`, and
  it is checked): so their error is no more than what comes next.
- The sum has an error of at most g·Σₖ |x[k]·B[k, n]|, with g the relative error of adding up, about 2⁻²¹ for a thousand terms on tensor
  cores. Where |M| is large against the deviation, so is the error against the result. But each x[k] was rounded when it was stored, by
  u·|x[k]|, with the very same weights: the result is the exact one of an x that is changed by g/u of what storing it has changed, 1/1000
  in f16 and 1/8000 in bf16. However far a mean is from zero, the fold loses next to nothing of what 16 bits have kept. A row of
  one number z alone, whose deviation is none, would show it, up to g·|z|·Σₖ |B[k, n]| / √epsilon beside beta: its sum is taken as zero.

So it is on for f16 and bf16, with any data. It is not for f32, where g is larger than u: a mean of 100 deviations would cost two digits
that the norm's own kernel keeps. An RMSNormalization has no M to take off.

Requires: a decomposed graph. Establishes: the norms that were asked for are gone, but for those whose weights would lose precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.rewrite import prune, retarget, substitute
from nautilus_cli.ir.types import BF16, F16, dtype_of
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.normalized_matmul import OPERATOR as NORMALIZED_MATMUL
from nautilus_cli.ops.normalized_matmul import NormalizedMatMulAttrs
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.row_moments import OPERATOR as ROW_MOMENTS
from nautilus_cli.ops.row_moments import RowMomentsAttrs
from nautilus_cli.passes.dataflow import Dataflow, leaves
from nautilus_cli.passes.products.row_norms import PART_COLUMNS, RowNorm

_BLOCK_COLUMNS = 4096
"""Of a weight that are worked on at once, in floats of 64 bits."""


_UNITS = {F16: 2.0**-11, BF16: 2.0**-8}
"""Greatest error of rounding a normal number, relative to it."""

_SMALLEST = 16
_SPREAD = 112
_SPREAD_SHARE = 8
"""Numbers of a column that are rounded so that all add up: the smallest, and so many at equal distances, or one of so many."""

_MOST_ROUNDINGS = 2.0
"""By which the numbers of a column may be off, by their norm: one of their own, and that of the one before, which `_balance` carries on."""

_MOST_LEFT = 2.0**-23
"""Of what a column of absolute numbers adds up to, that one may add up to itself."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What takes the place of a weight.

    Attributes:
        weight: B, transposed: [n, k] of the weight's type.
        bias: beta·W, [n] of f32; None without a beta.
    """

    weight: np.ndarray
    bias: np.ndarray | None


Fold = Callable[[RowNorm, np.ndarray], Folded | None]
"""From a norm and the weight [k, n] of a product that reads it to what takes its place; None where precision would be lost."""


def fold(norm: RowNorm, weight: np.ndarray) -> Folded | None:
    """Return a weight with a norm folded into it, unless the rounding of a column is worse than that of normal numbers."""
    depth, columns = weight.shape
    folded = np.empty((columns, depth), weight.dtype)
    bias = np.empty(columns, np.float32) if norm.beta is not None else None
    unit = _UNITS[dtype_of(weight)]
    for first in range(0, columns, _BLOCK_COLUMNS):
        part = slice(first, first + _BLOCK_COLUMNS)
        exact = weight[:, part].T.astype(np.float64, order="C")
        if bias is not None and norm.beta is not None:
            bias[part] = exact @ norm.beta
        if norm.gamma is not None:
            exact *= norm.gamma
        if norm.is_centred:
            exact -= exact.mean(1, keepdims=True)
        rounded = _rounded(exact, weight.dtype)
        if not np.isfinite(rounded).all():
            return None
        if norm.is_centred:
            _balance(exact, rounded, weight.dtype)
            if not np.all(np.abs(rounded.sum(1)) <= _MOST_LEFT * np.abs(rounded).sum(1)):
                return None
        if not np.all(np.square(rounded - exact).sum(1) <= (_MOST_ROUNDINGS * unit) ** 2 * np.square(exact).sum(1)):
            return None
        folded[part] = rounded
    return Folded(folded, bias)


def _rounded(exact: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return numbers rounded to a type, in float64."""
    with np.errstate(over="ignore"):
        return exact.astype(np.float32).astype(dtype).astype(np.float64)


def _balance(exact: np.ndarray, rounded: np.ndarray, dtype: np.dtype) -> None:
    """Round some numbers of each column of B anew, so that ROUNDED's add up to nothing, as those of EXACT do; both are [n, k].

    These are some at equal distances, and the smallest. Each, the largest first, takes an equal share of what all others add up to, and
    what rounding left of the one before it. So the last one, the smallest, is what the others lack: a multiple of the unit that all have
    in common, and a number of its type. Their errors are about 1.4 roundings, those of the others one.
    """
    columns, depth = exact.shape
    few, many = min(depth, _SMALLEST), min(depth, max(_SPREAD, depth // _SPREAD_SHARE))
    smallest = np.argpartition(np.abs(exact), few - 1, axis=1)[:, :few]
    spread = np.unique(np.linspace(0, depth - 1, many).astype(int))
    is_smallest = np.zeros(exact.shape, bool)
    np.put_along_axis(is_smallest, smallest, values=True, axis=1)
    rows = np.concatenate([np.broadcast_to(spread, (columns, len(spread))), smallest], axis=1)
    is_free = np.concatenate([~is_smallest[:, spread], np.ones_like(smallest, bool)], axis=1)  # each of them once
    there = np.take_along_axis(exact, rows, 1)
    order = np.argsort(np.where(is_free, -np.abs(there), -np.inf), axis=1, kind="stable")
    rows, is_free, there = (np.take_along_axis(array, order, 1) for array in (rows, is_free, there))
    before = np.take_along_axis(rounded, rows, 1)
    share = -(rounded.sum(1) + np.where(is_free, there - before, 0).sum(1)) / is_free.sum(1)
    carried = np.zeros(columns)
    for number in range(rows.shape[1]):
        wanted = there[:, number] + share + carried
        found = _rounded(wanted, dtype)
        carried = np.where(is_free[:, number], wanted - found, carried)
        before[:, number] = np.where(is_free[:, number], found, before[:, number])
    is_twice = ~is_free
    np.put_along_axis(rounded, np.where(is_twice, rows[:, -1:], rows), np.where(is_twice, before[:, -1:], before), axis=1)


def outlined(norm: RowNorm, weight: np.ndarray) -> Folded:
    """Return constants of the right types and shapes for `fold`, which take no memory: enough to estimate times with."""
    depth, columns = weight.shape
    vector = np.broadcast_to(np.float32(0), (columns,))
    return Folded(np.broadcast_to(np.zeros((), weight.dtype), (columns, depth)), None if norm.beta is None else vector)


def fold_norms(graph: Graph, norms: Iterable[RowNorm], using: Fold = fold) -> Graph:
    """Return GRAPH with NORMS, of `row_norms`, folded into the products that read them.

    Args:
        graph: the graph.
        norms: some of its norms, in order.
        using: `fold`, or `outlined` where only times are wanted.
    """
    flow = Dataflow(graph)
    replaced: dict[Node, tuple[Node, ...]] = {}
    moments: dict[Value, Value] = {}  # of rows that several norms may have in common
    for norm in norms:
        found = [using(norm, _matrix(flow, node)) for node in norm.products]
        if any(one is None for one in found):
            continue
        origin = _origin(flow, norm)
        emit = GraphBuilder(origin=origin, fold_bytes=0)
        if norm.x not in moments:
            moments[norm.x] = emit.node(ROW_MOMENTS.name, (norm.x,), RowMomentsAttrs(PART_COLUMNS))
        before = tuple(emit.nodes)
        for node, one in zip(norm.products, found, strict=True):
            assert one is not None
            nodes, gone = _product(flow, node, norm, moments[norm.x], one, origin)
            replaced |= dict.fromkeys(gone, ())
            replaced[node] = (*before, *nodes)
            before = ()
    return prune(substitute(graph, nodes=replaced)) if replaced else graph


def _origin(flow: Dataflow, norm: RowNorm) -> tuple[str, ...]:
    """Return what names the nodes that compute a norm's result of its rows."""
    found: set[Node] = set()
    stack = [norm.result]
    while stack:
        value = stack.pop()
        node = flow.transparent.get(value, flow.producer.get(value))
        if value is not norm.x and node is not None and node not in found:
            found.add(node)
            stack.extend(node.operands())
    return tuple(dict.fromkeys(name for node in sorted(found, key=flow.position.__getitem__) for name in node.origin))


def _product(
    flow: Dataflow, node: Node, norm: RowNorm, moments: Value, folded: Folded, before: tuple[str, ...]
) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return what computes the result of a product, with a bias that follows it; and the nodes beside it that this replaces.

    Args:
        flow: the graph.
        node: the product.
        norm: of the rows that it reads.
        moments: of these.
        folded: what takes the place of its weight.
        before: names of the norm's nodes.
    """
    (result,) = node.results()
    origin, bias = (*before, *node.origin), folded.bias
    gone: tuple[Node, ...] = ()
    added = _bias_behind(flow, node)
    if added is not None:
        follower, vector = added
        bias = vector if bias is None else bias + vector
        (result,) = follower.results()
        origin, gone = (*origin, *follower.origin), (follower,)
    emit = GraphBuilder(origin=tuple(dict.fromkeys(origin)), fold_bytes=0)
    left = _rows_of(emit, node, norm)
    weight = emit.node("Transpose", (emit.constant(folded.weight),), perm=(1, 0))
    vectors = () if bias is None else (emit.constant(bias),)
    shape = (*next(node.operands()).type.static[:-1], *moments.type.static[-2:])
    statistics = moments if same(moments.type.static, shape) else emit.node("Reshape", (moments, emit.sizes(shape)), allowzero=1)
    attrs = NormalizedMatMulAttrs(norm.epsilon, int(norm.is_centred))
    found = emit.node(NORMALIZED_MATMUL.name, (left, weight, statistics, *vectors), attrs)
    return retarget(emit.nodes, {found: result}), gone


def _rows_of(emit: GraphBuilder, node: Node, norm: RowNorm) -> Value:
    """Return the rows as a product has them, which may be shaped otherwise than the norm's."""
    shape = next(node.operands()).type.static
    return norm.x if same(norm.x.type.static, shape) else emit.node("Reshape", (norm.x, emit.sizes(shape)), allowzero=1)


def _bias_behind(flow: Dataflow, node: Node) -> tuple[Node, np.ndarray] | None:
    """Return the only reader of a product's result, where that adds one constant a column to it, and the constant."""
    (result,) = node.results()
    readers = flow.readers.get(result, [])
    if len(readers) != 1 or readers[0].op != "Add" or leaves(flow, result):
        return None
    (reader,) = readers
    if result not in reader.inputs or not _is_alike(next(reader.results()), result):
        return None
    (other,) = (value for value in reader.operands() if value is not result) if len(set(reader.inputs)) == 2 else (None,)
    constant = None if other is None else flow.source(other)[0].constant
    columns = result.type.static[-1]
    if other is None or constant is None or not flow.is_whole(other) or constant.size != columns or other.type.static[-1:] != (columns,):
        return None
    return reader, constant.astype(np.float32).reshape(-1)


def _is_alike(value: Value, other: Value) -> bool:
    """Whether two values have one type."""
    return value.type.dtype == other.type.dtype and same(value.type.static, other.type.static)


def _matrix(flow: Dataflow, node: Node) -> np.ndarray:
    """Return the right operand of a product by a constant, [k, n]."""
    right = node.inputs[1]
    assert right is not None
    return _contents(flow, right).reshape(right.type.static[-2:])


def _contents(flow: Dataflow, value: Value) -> np.ndarray:
    """Return a constant, or what movement makes of one."""
    if value.constant is not None:
        return value.constant
    maker = flow.transparent[value]
    operands = tuple(None if v is None else _contents(flow, v) for v in maker.inputs)
    return operators()[maker.op].evaluate(maker.attrs, operands, len(maker.outputs))[maker.outputs.index(value)]
