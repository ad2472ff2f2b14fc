"""Which norms of rows go into the products that read them, and which stay kernels of their own.

A product that normalises takes moments of its rows, which the product that stores these leaves: both cost a little more for it, the norm's
kernel goes.
"""

from __future__ import annotations

from collections.abc import Iterable

from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Value
from nautilus_cli.lowering.fusion.group_times import group_us
from nautilus_cli.ops.movement import is_transparent
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.passes.products.fold_norms import fold_norms, outlined
from nautilus_cli.passes.products.row_norms import RowNorm, row_norms


def choose_norms(graph: Graph, *, fp32_mode: str) -> Graph:
    """Return GRAPH with those norms folded into products that are faster so, by the estimates for one target.

    Norms of the same rows are judged together: one kernel may compute them all, and they need one set of moments. Those that are alike are
    judged once, as are those of the layers of a network. Graphs that nodes hold keep theirs.

    Args:
        graph: the graph.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    norms = tuple(row_norms(Dataflow(graph)))
    if not norms:
        return graph
    apart = fuse(graph)
    owners = {value: group for group in apart.groups for node in group.nodes for value in node.results()}
    of_rows: dict[Value, list[RowNorm]] = {}
    for norm in norms:
        of_rows.setdefault(norm.x, []).append(norm)
    pays: dict[object, bool] = {}
    for together in of_rows.values():
        key = tuple(_likeness(norm, [owners[value] for value in (norm.x, norm.result) if value in owners]) for norm in together)
        if key not in pays:
            folded = fuse(fold_norms(graph, together, outlined))
            pays[key] = _difference_us(apart, folded, fp32_mode) < 0
        if not pays[key]:
            norms = tuple(norm for norm in norms if norm.x is not together[0].x)
    return fold_norms(graph, norms)


def _likeness(norm: RowNorm, groups: Iterable[Group]) -> object:
    """Return what decides the times of the kernels that a norm concerns: those that store its rows and compute it, and its products."""
    products = tuple((node.op, tuple(value.type for value in node.operands())) for node in norm.products)
    kernels = tuple(
        (group.kind, tuple((node.op, tuple(value.type for value in node.operands())) for node in group.nodes), len(group.outputs))
        for group in groups
    )
    return norm.x.type, norm.is_centred, norm.beta is None, products, kernels


def _difference_us(before: FusedGraph, after: FusedGraph, fp32_mode: str) -> float:
    """Return how much longer the kernels of AFTER take than those of BEFORE, of which most are the same."""
    old, new = ({_identity(group): group for group in fused.groups} for fused in (before, after))
    added = sum(group_us(group, fp32_mode) for key, group in new.items() if key not in old)
    return added - sum(group_us(group, fp32_mode) for key, group in old.items() if key not in new)


def _identity(group: Group) -> object:
    return frozenset(node for node in group.nodes if not is_transparent(node)), frozenset(group.outputs)
