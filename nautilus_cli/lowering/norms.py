"""Which norms of rows go into the products that read them, and which stay kernels of their own.

A product that normalises takes moments of its rows, which the product that stores these leaves: both cost a little more for it, the norm's
kernel goes.
"""

from __future__ import annotations

from collections.abc import Iterable

from nautilus_cli.ir.graph import FusedGraph, Graph, Group
from nautilus_cli.lowering.group_times import group_us
from nautilus_cli.ops.movement import is_transparent
from nautilus_cli.passes.clusters import Dataflow
from nautilus_cli.passes.fold_norms import fold_norms, outlined
from nautilus_cli.passes.fuse import fuse
from nautilus_cli.passes.row_norms import RowNorm, row_norms


def choose_norms(graph: Graph) -> Graph:
    """Return GRAPH with those norms folded into products that are faster so, by the estimates for one target.

    Norms that are alike are judged once: those of the layers of a network. Graphs that nodes hold keep theirs.
    """
    norms = tuple(row_norms(Dataflow(graph)))
    if not norms:
        return graph
    apart = fuse(graph)
    owners = {value: group for group in apart.groups for node in group.nodes for value in node.results()}
    pays: dict[object, bool] = {}
    chosen = []
    for norm in norms:
        key = _likeness(norm, [owners[value] for value in (norm.x, norm.result) if value in owners])
        if key not in pays:
            folded = fuse(fold_norms(graph, (norm,), outlined))
            pays[key] = _difference_us(apart, folded) < 0
        if pays[key]:
            chosen.append(norm)
    return fold_norms(graph, chosen)


def _likeness(norm: RowNorm, groups: Iterable[Group]) -> object:
    """Return what decides the times of the kernels that a norm concerns: those that store its rows and compute it, and its products."""
    products = tuple((node.op, tuple(value.type for value in node.operands())) for node in norm.products)
    kernels = tuple(
        (group.kind, tuple((node.op, tuple(value.type for value in node.operands())) for node in group.nodes), len(group.outputs))
        for group in groups
    )
    return norm.x.type, norm.is_centred, norm.beta is None, products, kernels


def _difference_us(before: FusedGraph, after: FusedGraph) -> float:
    """Return how much longer the kernels of AFTER take than those of BEFORE, of which most are the same."""
    old, new = ({_identity(group): group for group in fused.groups} for fused in (before, after))
    added = sum(group_us(group) for key, group in new.items() if key not in old)
    return added - sum(group_us(group) for key, group in old.items() if key not in new)


def _identity(group: Group) -> object:
    return frozenset(node for node in group.nodes if not is_transparent(node)), frozenset(group.outputs)
