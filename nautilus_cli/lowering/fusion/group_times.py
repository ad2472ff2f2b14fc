"""Estimated times of groups on a GPU: what choices between ways to fuse a graph are made by."""

from __future__ import annotations

from math import inf

from nautilus_cli.ir.binding import bind, dimensions
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Group
from nautilus_cli.kernels.base import Ranked
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.choosing.choice import EMULATES, fitted, serves
from nautilus_cli.lowering.choosing.ranges import large
from nautilus_cli.lowering.groups.registry import lower_group
from nautilus_cli.ops.normalized_matmul import FAMILY as NORMALIZED_MATMUL_FAMILY
from nautilus_cli.ops.row_moments import FAMILY as ROW_MOMENTS_FAMILY
from nautilus_cli.passes.fusion.prologue_clusters import PRODUCTS
from nautilus_cli.targets.registry import target as target_named

_ROW_KINDS = frozenset({"row", ROW_MOMENTS_FAMILY})

KERNEL_US = 1.6
"""Of a pointwise kernel before a product, beside what its bytes take: 1.6 to 2.6 were measured (H200)."""


ROW_KERNEL_US = 2.3
"""The same of a kernel that normalises rows: 2.4 for 128×768, 2.5 for 197×768, 3.1 for 512×1024, 4.9 for 4096×768 (H200)."""


def group_us(group: Group, fp32_mode: str) -> float:
    """Return the time of a group's best kernel: a product's by its estimate, else a launch and the bytes that it moves.

    Args:
        group: the group.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    if group.kind in PRODUCTS or group.kind == NORMALIZED_MATMUL_FAMILY:
        return product_us(group, fp32_mode)
    if _gives_nothing(group):
        return 0.0
    made = {value for node in group.nodes for value in node.results()}
    read = {value for node in group.nodes for value in node.operands()} - made
    return (ROW_KERNEL_US if group.kind in _ROW_KINDS else KERNEL_US) + bytes_us(sum(value.type.bytes for value in (*read, *group.outputs)))


def product_us(group: Group, fp32_mode: str) -> float:
    """Return the time of the best kernel of a product, by its estimate; open dimensions are large."""
    if _gives_nothing(group):
        return 0.0
    target = target_named(EMULATES)
    lowered = lower_group(group, fp32_mode)
    sizes = {dim.name: large(dim) for dim in dimensions((lowered.problem, lowered.functors))}
    functors = bind(lowered.functors, sizes)
    found = []
    for name, problem in ((lowered.family, lowered.problem), *lowered.alternatives):
        family, known = families()[name], fitted(name, bind(problem, sizes), functors)
        assert isinstance(family, Ranked)
        if serves(family, known, functors):
            schedule = family.choose(known, target)
            if not family.violations(known, schedule, target):
                found.append(family.estimated_us(known, schedule, target))
    return min(found, default=inf)


def _gives_nothing(group: Group) -> bool:
    """Whether a group's results have no elements: nothing is launched for it."""
    return all(same(value.type.elements, 0) for value in group.outputs)


def bytes_us(moved: int) -> float:
    """Return how long memory takes for so many bytes; open dimensions are large."""
    sizes = {dim.name: large(dim) for dim in dimensions(moved)}
    return float(bind(moved, sizes)) / target_named(EMULATES).memory_bytes_per_us
