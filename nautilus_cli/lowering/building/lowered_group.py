"""A group that has become a kernel; and what errors and launches say of a group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Group
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.building.slots import Referent
from nautilus_cli.lowering.plan import SIZES_NOTE
from nautilus_cli.ops.copy import OPERATOR as COPY
from nautilus_cli.ops.movement import is_movement

T = TypeVar("T")


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
