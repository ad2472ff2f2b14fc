"""Clusters of reductions: the pointwise work around them, and further reductions over the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ops.movement import context
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Reduction
from nautilus_cli.passes.dataflow import Dataflow
from nautilus_cli.passes.fusion.clusters import Cluster, Clusters
from nautilus_cli.passes.fusion.fusible import is_pointwise
from nautilus_cli.passes.fusion.growth import grow


def grow_row(clusters: Clusters, cluster: Cluster) -> None:
    """Grow a cluster around its first reduction: what feeds it, what follows it, and further reductions over the same rows."""
    anchor = cluster.anchor
    assert anchor is not None
    operand = anchor.inputs[0]
    assert operand is not None
    rows = _Rows(clusters.flow, cluster, operand.type.static, reduction_axes(anchor))
    before = 0
    while before != len(cluster.members):
        before = len(cluster.members)
        _absorb_feeders(clusters, cluster, rows)
        grow(clusters, cluster, rows.admits)


def _absorb_feeders(clusters: Clusters, cluster: Cluster, rows: _Rows) -> None:
    """Add the free pointwise nodes that the cluster reads column by column, and what feeds those."""
    flow = clusters.flow
    queue = [n for member in cluster.members for n in flow.predecessors(member)]
    while queue:
        node = queue.pop()
        if node in clusters.of or not is_pointwise(node) or not rows.is_column(next(node.results())):
            continue
        inside = [reader for reader in flow.successors(node) if reader in cluster.members]
        if all(rows.reads_as_column(reader, node) for reader in inside) and clusters.may_add(cluster, node):
            clusters.add(cluster, node)
            queue.extend(flow.predecessors(node))


@dataclass(frozen=True, slots=True)
class _Rows:
    """What a cluster of reductions goes through.

    Attributes:
        flow: the graph.
        cluster: its nodes so far.
        shape: of what is reduced, an element a column.
        axes: along which it is.
    """

    flow: Dataflow
    cluster: Cluster
    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        """Shape of a value for each row, reduced dimensions of 1 included."""
        return tuple(1 if i in self.axes else d for i, d in enumerate(self.shape))

    def is_column(self, value: Value) -> bool:
        """Whether a value has an element for each column of each row."""
        return same(value.type.static, self.shape)

    def is_row(self, value: Value) -> bool:
        """Whether a value has an element for each row."""
        squeezed = tuple(d for i, d in enumerate(self.shape) if i not in self.axes)
        return same(value.type.static, self.kept) or same(value.type.static, squeezed)

    def admits(self, node: Node) -> bool:
        """Whether a node belongs to the rows: a reduction along the same axes, or pointwise work on columns or rows."""
        result = next(node.results())
        if isinstance(operators()[node.op].lowering, Reduction):
            source = node.inputs[0]
            is_alike = source is not None and self.is_column(source) and reduction_axes(node) == self.axes
            return is_alike and self._reads_fit(node, as_row=False)
        if not is_pointwise(node):
            return False
        if self.is_column(result):
            return self._reads_fit(node, as_row=False)
        return self.is_row(result) and self._reads_fit(node, as_row=True)

    def _reads_fit(self, node: Node, *, as_row: bool) -> bool:
        """Whether a node takes what the cluster computes element by element, or for a column what its row has."""
        for value in node.operands():
            source, _ = self.flow.source(value)
            if self.flow.producer.get(source) not in self.cluster.members:
                continue
            if not self.flow.is_whole(value):
                return False
            is_one_column = same(prod(self.shape), prod(self.kept))
            if as_row and not (self.is_row(value) and (is_one_column or not self.is_column(value))):
                return False
            if not as_row and not (self.is_column(value) or same(value.type.static, self.kept)):
                return False
        return True

    def reads_as_column(self, reader: Node, node: Node) -> bool:
        """Whether READER takes NODE's result element by element."""
        for value in reader.operands():
            source, _ = self.flow.source(value)
            if self.flow.producer.get(source) is node and not (self.is_column(value) and self.flow.is_whole(value)):
                return False
        return True


def reduction_axes(node: Node) -> tuple[int, ...]:
    """Return the normalised axes of a reduction node."""
    lowering = operators()[node.op].lowering
    assert isinstance(lowering, Reduction)
    return lowering.axes(context(node))
