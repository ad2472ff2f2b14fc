"""The kernel families, found by scanning this package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

import nautilus_cli.kernels as package
from nautilus_cli.errors import InternalError, nearest
from nautilus_cli.kernels.base import Family, KernelRequest, Mapped, TensorMap


@cache
def families() -> Mapping[str, Family]:
    """Return every family by name.

    Raises:
        InternalError: two modules name the same family.
    """
    found: dict[str, Family] = {}
    for module_info in sorted(iter_modules(package.__path__), key=lambda info: info.name):
        family = getattr(import_module(f"{package.__name__}.{module_info.name}"), "FAMILY", None)
        if family is None:
            continue
        if family.name in found:
            raise InternalError(f"two kernel families are called '{family.name}'", where=module_info.name)
        found[family.name] = family
    return MappingProxyType(found)


def family(name: str) -> Family:
    """Return the family of that name.

    Raises:
        InternalError: there is none.
    """
    known = families()
    if name not in known:
        raise InternalError(f"there is no kernel family '{name}'", hint=nearest(name, known))
    return known[name]


def tensor_maps(request: KernelRequest) -> tuple[TensorMap, ...]:
    """Return the tensor maps of a kernel; most have none."""
    kind = family(request.family)
    return kind.tensor_maps(request) if isinstance(kind, Mapped) else ()
