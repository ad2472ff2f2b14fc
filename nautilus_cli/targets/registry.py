"""Every target, found by scanning this package: one module an architecture, each with a `TARGET`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from nautilus_cli import targets as package
from nautilus_cli.errors import InternalError, UsageError, nearest
from nautilus_cli.targets.base import Target

_NOT_TARGETS = frozenset({"base", "registry"})


def index(found: Iterable[Target]) -> Mapping[str, Target]:
    """Return the targets by name, oldest architecture first and the emulator last.

    Raises:
        InternalError: two targets share a name.
    """
    by_name: dict[str, Target] = {}
    for target in sorted(found, key=lambda t: (t.is_emulated, t.capability)):
        if target.name in by_name:
            raise InternalError(f"two targets are named '{target.name}'")
        by_name[target.name] = target
    return MappingProxyType(by_name)


@cache
def targets() -> Mapping[str, Target]:
    """Return every target by name."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name not in _NOT_TARGETS]
    return index(importlib.import_module(f"{package.__name__}.{name}").TARGET for name in names)


def target(name: str) -> Target:
    """Return the target called NAME.

    Raises:
        UsageError: there is none.
    """
    known = targets()
    if name not in known:
        raise UsageError(f"'{name}' is not a target.", where="--target", hint=nearest(name, known))
    return known[name]


def for_capability(capability: tuple[int, int]) -> Target | None:
    """Return the target whose images run best on a device of this compute capability, or None.

    An image runs on its own major capability and the same or a later minor; an exact target's on its own capability only.

    Source: CUDA C++ Programming Guide 13, Binary Compatibility and Architecture-Specific Features.
    """
    major, minor = capability
    fits = [
        t
        for t in targets().values()
        if not t.is_emulated and t.capability[0] == major and (t.capability == capability if t.exact else t.capability[1] <= minor)
    ]
    return max(fits, key=lambda t: (t.capability, t.exact), default=None)
