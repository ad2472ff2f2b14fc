"""Which products compute their left operand while they load it, and which find it stored by a kernel of its own.

Fusion puts all pointwise work before a left operand into the product. There it is repeated for every column of tiles, by threads that would
otherwise only copy; what it saves is a launch, and the operand's way to memory and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nautilus_cli.ir.graph import FusedGraph, Group, Node
from nautilus_cli.lowering.fusion.group_times import KERNEL_US, bytes_us, product_us
from nautilus_cli.ops.gather import gathered
from nautilus_cli.ops.movement import is_transparent
from nautilus_cli.passes.fusion.fuse import fuse
from nautilus_cli.passes.fusion.prologue_clusters import PRODUCTS


def choose_prologues(fused: FusedGraph, *, fp32_mode: str) -> FusedGraph:
    """Return FUSED with those left operands of products stored that are faster so.

    What is compiled for several targets has the same kernels, so the estimates are those for one.

    Args:
        fused: the fused graph.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    computed = {group.anchor: group for group in _products(fused) if group.anchor is not None and left_work(group)}
    if not computed:
        return fused
    apart = fuse(fused.graph, frozenset(computed))
    found = {group.anchor: group for group in _products(apart)}
    slower = frozenset(
        anchor
        for anchor, group in computed.items()
        if product_us(group, fp32_mode) > product_us(found[anchor], fp32_mode) + _stored_us(left_work(group), apart)
    )
    return apart if len(slower) == len(computed) else fuse(fused.graph, slower) if slower else fused


def left_work(group: Group) -> tuple[Node, ...]:
    """Return the nodes that a product computes of its left operand while it loads it, in order."""
    anchor = group.anchor
    assert anchor is not None
    makers = {value: node for node in group.nodes for value in node.results()}
    stack = [value for value in anchor.inputs[:1] if value is not None]
    found: set[Node] = set()
    while stack:
        node = makers.get(stack.pop())
        if node is not None and node not in found:
            found.add(node)
            stack.extend(node.operands())
    return tuple(node for node in group.nodes if node in found and not is_transparent(node))


def _products(fused: FusedGraph) -> Iterator[Group]:
    """Return the products of a graph and of those that its nodes hold."""
    return (group for group in _all_groups(fused) if group.kind in PRODUCTS)


def _stored_us(work: Sequence[Node], apart: FusedGraph) -> float:
    """Return how long it takes to compute a left operand in the kernels that APART has for that, where no other needs one of them."""
    owners = [group for group in _all_groups(apart) if not set(work).isdisjoint(group.nodes)]
    own = [group for group in owners if all(node in work or is_transparent(node) for node in group.nodes)]
    made = {value for node in work for value in node.results()}
    gathers = [node for node in work if gathered(node) is not None]  # of all rows, as many are read as there are results
    read = {value for node in work for value in node.inputs[node in gathers :] if value is not None} - made
    rows = {value for node in gathers for value in node.results()}
    stored = made & {value for group in owners for value in group.outputs}
    moved = sum(value.type.bytes for values in (read, rows, stored) for value in values)
    return len(own) * KERNEL_US + bytes_us(moved)


def _all_groups(fused: FusedGraph) -> Iterator[Group]:
    """Yield the groups of a graph and of those that its nodes hold."""
    for group in fused.groups:
        yield group
        for body in group.bodies:
            yield from _all_groups(body)
