"""Groups as kernels without a schedule, by the kind of the group; and what errors and launches say of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from nautilus_cli.errors import ModelError, NautilusError
from nautilus_cli.ir.graph import Group
from nautilus_cli.lowering import (
    cache_write,
    compaction,
    conv,
    conv_transpose,
    elimination,
    gather,
    gemm,
    gemm_normalized,
    gemm_pair,
    grid_sample,
    linear_recurrence,
    pointwise,
    pool,
    recurrent,
    region_pool,
    resize,
    row,
    row_moments,
    scan,
    scatter,
    suppression,
    top_k,
)
from nautilus_cli.lowering.lowered import Lowered, Lowering
from nautilus_cli.lowering.plan import SIZES_NOTE
from nautilus_cli.lowering.slots import Referent
from nautilus_cli.ops.copy import OPERATOR as COPY
from nautilus_cli.ops.movement import is_movement

T = TypeVar("T")

LOWERINGS: Mapping[str, Callable[[Lowering], Lowered]] = {
    "cache_write": cache_write.lower,
    "compaction": compaction.lower,
    "conv": conv.lower,
    "conv_transpose": conv_transpose.lower,
    "elimination": elimination.lower,
    "gather": gather.lower,
    "gemm": gemm.lower,
    "gemm_normalized": gemm_normalized.lower,
    "gemm_pair": gemm_pair.lower,
    "grid_sample": grid_sample.lower,
    "linear_recurrence": linear_recurrence.lower,
    "pointwise": pointwise.lower,
    "pool": pool.lower,
    "recurrent": recurrent.lower,
    "region_pool": region_pool.lower,
    "resize": resize.lower,
    "row": row.lower,
    "row_moments": row_moments.lower,
    "scan": scan.lower,
    "scatter": scatter.lower,
    "suppression": suppression.lower,
    "top_k": top_k.lower,
}


@dataclass(frozen=True, slots=True)
class LoweredGroup:
    """A group that becomes a launch.

    Attributes:
        group: the group.
        lowered: its kernel without a schedule.
        referents: what the kernel's pointers refer to, weights pooled.
        begins: how many bytes into that they point.
    """

    group: Group
    lowered: Lowered
    referents: tuple[Referent, ...]
    begins: tuple[int, ...]


def lower_group(group: Group, fp32_mode: str = "ffma") -> Lowered:
    """Lower one group; an error that names no place is given the group's nodes."""
    try:
        return LOWERINGS[group.kind](Lowering(group, fp32_mode))
    except NautilusError as error:
        if error.where is None:
            error.where = ", ".join(origin_of(group)) or None
        raise


def at_group(group: Group, find: Callable[[], T]) -> T:
    """Return what FIND does; an error is given the group's nodes."""
    try:
        return find()
    except ModelError as error:
        error.where = ", ".join(origin_of(group)) or None
        raise


def origin_of(group: Group) -> tuple[str, ...]:
    """Return the ONNX nodes that a group computes."""
    return tuple(dict.fromkeys(name for node in group.nodes for name in node.origin))


def note_of(group: Group) -> str:
    """Say why a kernel that computes no node is there."""
    if not group.nodes:
        return SIZES_NOTE
    moves_only = all(is_movement(node) or node.op == COPY.name for node in group.nodes)
    return "copy" if group.kind == "pointwise" and moves_only else ""
