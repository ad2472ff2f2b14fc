"""The kinds of groups, found by scanning this package: a module named after a kind makes a kernel without a schedule of such a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

import nautilus_cli.lowering.groups as package
from nautilus_cli.errors import NautilusError
from nautilus_cli.ir.graph import Group
from nautilus_cli.lowering.building.lowered import Lowered, Lowering
from nautilus_cli.lowering.building.lowered_group import origin_of


@cache
def lowerings() -> Mapping[str, Callable[[Lowering], Lowered]]:
    """Return what lowers each kind of group: `lower` of the module of its name."""
    modules = {info.name: import_module(f"{package.__name__}.{info.name}") for info in iter_modules(package.__path__)}
    return MappingProxyType({kind: module.lower for kind, module in sorted(modules.items()) if hasattr(module, "lower")})


def lower_group(group: Group, fp32_mode: str) -> Lowered:
    """Lower one group; an error that names no place is given the group's nodes."""
    try:
        return lowerings()[group.kind](Lowering(group, fp32_mode))
    except NautilusError as error:
        if error.where is None:
            error.where = ", ".join(origin_of(group)) or None
        raise
