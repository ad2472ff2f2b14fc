"""All operators of this package by name: a scan for module-level CONSTRUCT and CONSTRUCTS."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

import nautilus_cli.frontend.constructs as package
from nautilus_cli.errors import InternalError
from nautilus_cli.frontend.constructs.base import Construct


@cache
def constructs() -> Mapping[str, Construct]:
    """Return every construct by its ONNX name.

    Raises:
        InternalError: two modules define the same one.
    """
    found: dict[str, Construct] = {}
    for info in sorted(iter_modules(package.__path__), key=lambda m: m.name):
        module = import_module(f"{package.__name__}.{info.name}")
        single = getattr(module, "CONSTRUCT", None)
        for construct in (*((single,) if single is not None else ()), *getattr(module, "CONSTRUCTS", ())):
            if construct.name in found:
                raise InternalError(f"operator '{construct.name}' is defined twice", where=module.__name__)
            found[construct.name] = construct
    return MappingProxyType(found)
