"""Fusion: group nodes so that each group is one kernel.

Requires: a decomposed graph (pointwise, movement, reductions and anchors only). Establishes: a FusedGraph.

Order of the steps, and why:
1. Each anchor takes the pointwise work that follows it: an epilogue costs nothing, since the accumulator is in registers.
2. Each reduction takes the pointwise work around it and the reductions over the same rows: the row is read once.
3. What is left before an anchor and cheap becomes its prologue: the tensor is never written. Before the left operand of a product that
   is anything pointwise, and a gather of rows; lowering knows whether it pays there, and asks for it to be stored where not. So it is
   with what a copy, or a write into a cache, alone reads: other copies, such as the Pads that a Concat joins, and cheap work.
4. The rest becomes pointwise kernels, each as long as its shape allows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection
from math import prod

from nautilus_cli.ir.control import bodies
from nautilus_cli.ir.dims import same, upper
from nautilus_cli.ir.graph import FusedGraph, Graph, Group, Node, Value
from nautilus_cli.ops.cache_write import FAMILY as CACHE_WRITE_FAMILY
from nautilus_cli.ops.cache_write import OPERATOR as CACHE_WRITE
from nautilus_cli.ops.gather import OPERATOR as GATHER
from nautilus_cli.ops.matmul_pair import FAMILY as MATMUL_PAIR_FAMILY
from nautilus_cli.ops.movement import context, is_movement
from nautilus_cli.ops.normalized_matmul import FAMILY as NORMALIZED_MATMUL_FAMILY
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.row_moments import OPERATOR as ROW_MOMENTS
from nautilus_cli.ops.spec import Anchor, Cast, Control, Pointwise, Reduction
from nautilus_cli.passes.clusters import Cluster, Clusters, Dataflow

CHEAP = frozenset(
    {
        *("abs", "add", "clip", "identity", "logical_and", "logical_not", "logical_or", "max", "min", "mul", "neg", "relu", "sub"),
        *("look_up", "unpack_bits", "where"),
    }
)
"""Device functions that may be evaluated again for every tile that loads the element."""

MOST_COPIED = 32
"""Operands of a copy with all that it takes in; as `within_limits.MOST_OPERANDS`, and for the same reason."""

MOST_TOGETHER = 16
"""Outputs that one kernel copies, each with a load and a store of its own."""

MOST_REPEATED = 1 << 12
"""Elements of a kernel that works a number out again for each: that costs less than a kernel for the number alone."""

READ_ONCE = frozenset({"compaction"})
"""Families that load each element once, so that anything pointwise may be evaluated there."""

PROLOGUE_NODES = 4
"""Longest prologue; a longer chain is a kernel of its own, since every tile that loads the operand would repeat it."""

LEFT_NODES = 16
"""The same of a product's left operand."""

PRODUCTS = frozenset({"gemm", MATMUL_PAIR_FAMILY})
"""Families of matrix products that may compute their left operand."""

LEAVING_MOMENTS = frozenset({"gemm", NORMALIZED_MATMUL_FAMILY})
"""Families of matrix products whose epilogue can leave moments of the rows that it stores."""


def fuse(graph: Graph, stored_left: Collection[Node] = ()) -> FusedGraph:
    """Return GRAPH with its groups in an order in which they can run.

    Args:
        graph: the graph.
        stored_left: products, also of graphs that nodes hold, whose left operand is not computed while it is loaded.
    """
    flow = Dataflow(graph)
    clusters = Clusters(flow)
    gathers = {node for node in flow.computing if gathers_left(flow, node, stored_left)}
    for node in flow.computing:
        lowering = operators()[node.op].lowering
        if node in gathers:
            continue
        if isinstance(lowering, Control):
            clusters.start("control", node, node)
        if node.op == ROW_MOMENTS.name and _joins_rows(clusters, node):
            continue
        if isinstance(lowering, Anchor) and not (node.op == CACHE_WRITE.name and _joins_write(clusters, node)):
            cluster = clusters.start(lowering.family, node, node)
            if lowering.epilogue:
                _grow(clusters, cluster, _same_elements(flow, cluster, next(node.results()).type.elements))
    for node in flow.computing:
        if node not in clusters.of and isinstance(operators()[node.op].lowering, Reduction):
            cluster = clusters.start("row", node, node)
            _grow_row(clusters, cluster)
    copies: dict[Node, Cluster] = {}
    for node in reversed(flow.computing):
        if node not in clusters.of:
            _try_prologue(clusters, node, stored_left, gathers)
        if node not in clusters.of and node not in gathers:
            _try_copy(clusters, node, copies)
    for node in flow.computing:
        if node in gathers and node not in clusters.of:
            cluster = clusters.start("gather", node, node)
            _grow(clusters, cluster, _same_elements(flow, cluster, next(node.results()).type.elements))
    numbers = _numbers(clusters)
    for node in flow.computing:
        begun = clusters.start("pointwise", None, node) if node not in clusters.of and node not in numbers else copies.get(node)
        if begun is not None:
            _grow(clusters, begun, _same_elements(flow, begun, next(node.results()).type.elements))
    for node in reversed(numbers):
        if node not in clusters.of:
            _place_number(clusters, node)
    return FusedGraph(graph, groups_of(clusters, stored_left))


def _numbers(clusters: Clusters) -> list[Node]:
    """Return the free nodes that compute one number of nothing that a kernel stores, in topological order: of sizes, constants, inputs."""
    flow = clusters.flow
    found: list[Node] = []
    for node in flow.computing:
        if node in clusters.of or not _is_pointwise(node) or not same(next(node.results()).type.elements, 1):
            continue
        if all(producer in found for producer in flow.predecessors(node)):
            found.append(node)
    return found


def _place_number(clusters: Clusters, node: Node) -> None:
    """Put NODE, which computes one number, into the pointwise kernel that alone reads it, if that is short; else it begins one."""
    flow = clusters.flow
    result = next(node.results())
    readers = {clusters.of.get(reader) for reader in flow.readers.get(result, ())}
    (reader,) = readers if len(readers) == 1 else (None,)
    if reader is not None and reader.kind == "pointwise" and not _leaves(flow, result):
        elements = upper(next(reader.members[0].results()).type.elements)
        if elements <= MOST_REPEATED and clusters.may_add(reader, node):
            clusters.add(reader, node)
            return
    _grow(clusters, clusters.start("pointwise", None, node), _same_elements(flow, clusters.of[node], 1))


def _joins_write(clusters: Clusters, node: Node) -> bool:
    """Put a write of rows into a cache into the kernel of the last such write before it, of as many: that of a layer's keys, and values."""
    before = [n for n in clusters.of if n.op == CACHE_WRITE.name]
    if not before:
        return False
    cluster = clusters.of[before[-1]]
    _, rows = node.operands()
    _, others = before[-1].operands()
    if not same(rows.type.elements, others.type.elements) or not clusters.may_add(cluster, node):
        return False
    clusters.add(cluster, node)
    return True


def _joins_rows(clusters: Clusters, node: Node) -> bool:
    """Put the moments of rows into the product that stores these, where they are of its results; it leaves those of one tensor."""
    flow = clusters.flow
    (rows,) = node.operands()
    source, _ = flow.source(rows)
    cluster = clusters.of.get(flow.producer[source]) if source in flow.producer else None
    if cluster is None or cluster.anchor is None or cluster.kind not in LEAVING_MOMENTS:
        return False
    result = next(cluster.anchor.results())
    is_of_results = flow.is_whole(rows) and same(rows.type.elements, result.type.elements)
    is_alike = is_of_results and same(rows.type.static[-1], result.type.static[-1]) and rows.type.dtype == result.type.dtype
    if not is_alike or any(member.op == ROW_MOMENTS.name for member in cluster.members) or not clusters.may_add(cluster, node):
        return False
    clusters.add(cluster, node)
    return True


def _is_pointwise(node: Node) -> bool:
    return isinstance(operators()[node.op].lowering, (Pointwise, Cast))


def _grow(clusters: Clusters, cluster: Cluster, admits: Callable[[Node], bool]) -> None:
    """Add the free pointwise readers of CLUSTER's values that ADMITS accepts, in topological order, until none is left."""
    flow = clusters.flow
    queue: list[tuple[int, int]] = []
    nodes = flow.graph.nodes

    def offer(node: Node) -> None:
        for reader in flow.successors(node):
            if reader not in clusters.of:
                heapq.heappush(queue, (flow.position[reader], 0))

    for member in list(cluster.members):
        offer(member)
    while queue:
        node = nodes[heapq.heappop(queue)[0]]
        if node in clusters.of or not admits(node) or not clusters.may_add(cluster, node):
            continue
        clusters.add(cluster, node)
        offer(node)


def _same_elements(flow: Dataflow, cluster: Cluster, elements: int) -> Callable[[Node], bool]:
    """Accept a pointwise node whose result has one element for each of the cluster's, in the same linear order."""

    def admits(node: Node) -> bool:
        if not _is_pointwise(node) or not same(next(node.results()).type.elements, elements) or _widens_for_reduction(flow, node):
            return False
        for value in node.operands():
            source, _ = flow.source(value)
            inside = source in flow.producer and flow.producer[source] in cluster.members
            if inside and not (same(value.type.elements, elements) and flow.is_whole(value)):
                return False
        return True

    return admits


def _widens_for_reduction(flow: Dataflow, node: Node) -> bool:
    """Whether NODE is a cast to a wider type that a reduction reads: the row kernel casts while it loads, at half the bytes."""
    operand, result = node.inputs[0], next(node.results())
    if not isinstance(operators()[node.op].lowering, Cast) or operand is None or result.type.dtype.bits <= operand.type.dtype.bits:
        return False
    return any(isinstance(operators()[reader.op].lowering, Reduction) for reader in flow.successors(node))


def _grow_row(clusters: Clusters, cluster: Cluster) -> None:
    """Grow a cluster around its first reduction: what feeds it, what follows it, and further reductions over the same rows."""
    flow = clusters.flow
    anchor = cluster.anchor
    assert anchor is not None
    operand = anchor.inputs[0]
    assert operand is not None
    shape = operand.type.static
    axes = reduction_axes(anchor)
    kept = tuple(1 if i in axes else d for i, d in enumerate(shape))
    squeezed = tuple(d for i, d in enumerate(shape) if i not in axes)
    columns = prod(shape)

    def is_column(value: Value) -> bool:
        return same(value.type.static, shape)

    def is_row(value: Value) -> bool:
        return same(value.type.static, kept) or same(value.type.static, squeezed)

    def reads_fit(node: Node, as_row: bool) -> bool:
        for value in node.operands():
            source, _ = flow.source(value)
            if flow.producer.get(source) not in cluster.members:
                continue
            if not flow.is_whole(value):
                return False
            if as_row and not (is_row(value) and (same(columns, prod(kept)) or not is_column(value))):
                return False
            if not as_row and not (is_column(value) or same(value.type.static, kept)):
                return False
        return True

    def admits(node: Node) -> bool:
        result = next(node.results())
        if isinstance(operators()[node.op].lowering, Reduction):
            source = node.inputs[0]
            return source is not None and is_column(source) and reduction_axes(node) == axes and reads_fit(node, as_row=False)
        if not _is_pointwise(node):
            return False
        if is_column(result):
            return reads_fit(node, as_row=False)
        return is_row(result) and reads_fit(node, as_row=True)

    def absorb_feeders() -> None:
        queue = [n for member in cluster.members for n in flow.predecessors(member)]
        while queue:
            node = queue.pop()
            if node in clusters.of or not _is_pointwise(node) or not is_column(next(node.results())):
                continue
            inside = [reader for reader in flow.successors(node) if reader in cluster.members]
            if all(_reads_as_column(flow, reader, node, shape) for reader in inside) and clusters.may_add(cluster, node):
                clusters.add(cluster, node)
                queue.extend(flow.predecessors(node))

    before = 0
    while before != len(cluster.members):
        before = len(cluster.members)
        absorb_feeders()
        _grow(clusters, cluster, admits)


def _reads_as_column(flow: Dataflow, reader: Node, node: Node, shape: tuple[int, ...]) -> bool:
    """Whether READER takes NODE's result element by element."""
    for value in reader.operands():
        source, _ = flow.source(value)
        if flow.producer.get(source) is node and not (same(value.type.static, shape) and flow.is_whole(value)):
            return False
    return True


def reduction_axes(node: Node) -> tuple[int, ...]:
    """Return the normalised axes of a reduction node."""
    lowering = operators()[node.op].lowering
    assert isinstance(lowering, Reduction)
    return lowering.axes(context(node))


def is_cheap(function: str) -> bool:
    """Whether a device function may be evaluated again for every tile."""
    return function in CHEAP or "cast_" in function


def _is_cheap(node: Node) -> bool:
    lowering = operators()[node.op].lowering
    return isinstance(lowering, Cast) or (isinstance(lowering, Pointwise) and is_cheap(lowering.function))


def _try_copy(clusters: Clusters, node: Node, copies: dict[Node, Cluster]) -> None:
    """Put NODE, a copy or cheap, into the copy that alone reads it, each element once; a copy that nothing else runs begins a kernel.

    Args:
        clusters: free nodes among them.
        node: a free one.
        copies: clusters that copy, by the copy that is stored; one more where NODE begins one.
    """
    if _is_copied_from(clusters, node):
        cluster = clusters.of[clusters.flow.readers[next(node.results())][0]]
        if cluster.operands + len(node.inputs) <= MOST_COPIED and clusters.may_add(cluster, node):
            clusters.add(cluster, node)
            return
    if is_movement(node) and len(node.outputs) == 1:
        copies[node] = clusters.start("pointwise", None, node)


def _is_copied_from(clusters: Clusters, node: Node) -> bool:
    """Whether NODE, a copy or cheap, is read by a node of a copying kernel alone, and each of its elements no more than once."""
    flow = clusters.flow
    result = next(node.results())
    readers = flow.readers.get(result, [])
    if not (is_movement(node) or _is_cheap(node)) or len(readers) != 1 or _leaves(flow, result):
        return False
    (reader,) = readers
    cluster = clusters.of.get(reader)
    if cluster is None or cluster.kind not in ("pointwise", CACHE_WRITE_FAMILY):  # of which only those that copy have begun
        return False
    read = [value for value in reader.operands() if flow.source(value)[0] is result]
    elements = read[0].type.elements
    is_once = is_movement(reader) or reader.op == CACHE_WRITE.name or same(next(reader.results()).type.elements, elements)
    return len(read) == 1 and is_once and upper(elements - result.type.elements) <= 0


def _try_prologue(clusters: Clusters, node: Node, stored_left: Collection[Node], gathers: Collection[Node]) -> None:
    """Put a pointwise NODE, or one of GATHERS, into the anchor that alone reads it.

    It is cheap, or before the left operand of a product, or each of its elements is asked for once.
    """
    flow = clusters.flow
    result = next(node.results())
    readers = flow.readers.get(result, [])
    cluster = clusters.of.get(readers[0]) if readers else None
    if cluster is None or cluster.anchor is None or cluster.kind in ("row", "control", CACHE_WRITE_FAMILY) or _leaves(flow, result):
        return
    anchor = cluster.anchor
    is_left = cluster.kind in PRODUCTS and feeds_left(flow, anchor, node)
    if (is_left and anchor in stored_left) or any(reader in gathers for reader in readers):  # a gather's indices are in memory
        return
    if not (_is_cheap(node) or ((is_left or cluster.kind in READ_ONCE) and _is_pointwise(node)) or (is_left and node in gathers)):
        return
    traits = operators()[anchor.op].lowering
    assert isinstance(traits, Anchor)
    before = [m for m in cluster.members if flow.position[m] < flow.position[anchor] and _feeds_only(clusters, m, cluster)]
    if len(before) >= (LEFT_NODES if is_left else PROLOGUE_NODES):
        return
    for reader in readers:
        if reader is anchor:
            places = [i for i, v in enumerate(anchor.inputs) if v is not None and flow.source(v)[0] is result]
            if any(i not in traits.prologue for i in places):
                return
        elif reader not in before:
            return
    if clusters.may_add(cluster, node):
        clusters.add(cluster, node)


def gathers_left(flow: Dataflow, node: Node, stored_left: Collection[Node]) -> bool:
    """Whether NODE gathers whole rows, and pointwise work alone lies between them and the left operand of one product."""
    if node.op != GATHER.name:
        return False
    data, indices = node.operands()
    rows = data.type.static[node.attrs.axis % len(data.type.static) + 1 :]  # type: ignore[attr-defined]
    if not rows or any(v.contents is not None for v in (data, indices)) or _leaves(flow, next(node.results())):
        return False
    if flow.source(indices)[0] in flow.producer and _is_pointwise(flow.producer[flow.source(indices)[0]]):
        return False
    last = node
    while True:
        readers = list(dict.fromkeys(flow.successors(last)))
        if len(readers) != 1:
            return False
        (last,) = readers
        lowering = operators()[last.op].lowering
        if isinstance(lowering, Anchor):
            return lowering.family in PRODUCTS and last not in stored_left and feeds_left(flow, last, node)
        if not _is_pointwise(last):
            return False


def feeds_left(flow: Dataflow, anchor: Node, node: Node) -> bool:
    """Whether all that comes of NODE is the left operand of ANCHOR, a product."""
    stack, seen = [node], {node}
    while stack:
        result = next(stack.pop().results())
        for reader in flow.readers.get(result, ()):
            if reader is anchor:
                if any(v is not None and flow.source(v)[0] is result for v in anchor.inputs[1:]):
                    return False
            elif flow.position[reader] > flow.position[anchor]:
                return False
            elif reader not in seen:
                seen.add(reader)
                stack.append(reader)
    return True


def _feeds_only(clusters: Clusters, node: Node, cluster: Cluster) -> bool:
    return all(clusters.of.get(s) is cluster for s in clusters.flow.successors(node))


def _leaves(flow: Dataflow, value: Value) -> bool:
    """Whether VALUE is a graph output, or a graph output views it."""
    return any(flow.source(v)[0] is value for v in flow.graph.output_values())


def groups_of(clusters: Clusters, stored_left: Collection[Node] = ()) -> tuple[Group, ...]:
    """Turn clusters into groups, with the movement that they look through, and copies for outputs that only movement makes.

    Args:
        clusters: of the nodes.
        stored_left: as `fuse` has them, of graphs that nodes hold.
    """
    flow = clusters.flow
    outputs = flow.graph.output_values()
    groups: dict[Cluster, Group] = {}
    copies: list[Group] = []
    viewed: dict[Cluster, list[Value]] = {}
    for value in dict.fromkeys(v for _, v in flow.graph.outputs):
        source, _ = flow.source(value)
        if source is value:
            continue
        owner = clusters.of[flow.producer[source]] if source in flow.producer else None
        if owner is not None and owner.kind != "control" and flow.is_whole(value):
            viewed.setdefault(owner, []).append(value)
        else:
            copies.append(Group("pointwise", None, _movement_behind(flow, [value]), (value,)))
    for cluster in clusters.all():
        members = set(cluster.members)
        stored = [
            v
            for node in sorted(cluster.members, key=flow.position.__getitem__)
            for v in node.results()
            if v in outputs or any(r not in members for r in flow.readers.get(v, ())) or _is_copied(flow, v, copies)
        ]
        stored += viewed.get(cluster, [])
        starts = [v for node in cluster.members for v in node.operands()] + viewed.get(cluster, [])
        nodes = sorted(members | set(_movement_behind(flow, starts)), key=flow.position.__getitem__)
        held = () if cluster.anchor is None else tuple(fuse(body, stored_left) for body in bodies(cluster.anchor.attrs))
        groups[cluster] = Group(cluster.kind, cluster.anchor, tuple(nodes), tuple(stored), held)
    return (*_ordered(clusters, groups), *_together(copies))


def _together(copies: list[Group]) -> list[Group]:
    """Return copies to outputs of as many elements as one kernel, as of the results of a Split; a few at a time."""
    alike: dict[str, list[Group]] = {}  # by how many, written out, since numbers of elements may be symbolic
    for copy in copies:
        alike.setdefault(str(copy.outputs[0].type.elements), []).append(copy)
    parts = [same[i : i + MOST_TOGETHER] for same in alike.values() for i in range(0, len(same), MOST_TOGETHER)]
    return [
        Group("pointwise", None, tuple(dict.fromkeys(n for copy in part for n in copy.nodes)), tuple(copy.outputs[0] for copy in part))
        for part in parts
    ]


def _is_copied(flow: Dataflow, value: Value, copies: list[Group]) -> bool:
    return any(flow.source(c.outputs[0])[0] is value for c in copies)


def _movement_behind(flow: Dataflow, values: list[Value]) -> tuple[Node, ...]:
    """Return the transparent movement nodes that lie between VALUES and where they come from, in topological order."""
    nodes: set[Node] = set()
    stack = list(values)
    while stack:
        value = stack.pop()
        node = flow.transparent.get(value)
        if node is not None and node not in nodes:
            nodes.add(node)
            stack.extend(node.operands())
    return tuple(sorted(nodes, key=flow.position.__getitem__))


def _ordered(clusters: Clusters, groups: dict[Cluster, Group]) -> list[Group]:
    """Return the groups in topological order; ties by the first node's position, so that equal graphs give equal orders."""
    flow = clusters.flow
    waiting: dict[Cluster, set[Cluster]] = {}
    readers: dict[Cluster, list[Cluster]] = {}
    for cluster in groups:
        needs = {clusters.of[p] for m in cluster.members for p in flow.predecessors(m)} - {cluster}
        waiting[cluster] = needs
        for need in needs:
            readers.setdefault(need, []).append(cluster)
    first = {cluster: min(flow.position[m] for m in cluster.members) for cluster in groups}
    by_first = {position: cluster for cluster, position in first.items()}
    ready = [first[c] for c, needs in waiting.items() if not needs]
    heapq.heapify(ready)
    order: list[Group] = []
    while ready:
        cluster = by_first[heapq.heappop(ready)]
        order.append(groups[cluster])
        for reader in readers.get(cluster, ()):
            waiting[reader].discard(cluster)
            if not waiting[reader]:
                heapq.heappush(ready, first[reader])
    assert len(order) == len(groups), "fusion made groups depend on each other"
    return order
