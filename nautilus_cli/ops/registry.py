"""All operators by name: a scan of this package and the packages in it for module-level OPERATOR and OPERATORS."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import MappingProxyType

import nautilus_cli.ops as package
from nautilus_cli.errors import InternalError
from nautilus_cli.ops.spec import Operator


@cache
def operators() -> Mapping[str, Operator]:
    """Return every operator by its key: the ONNX name, with `domain::` before it outside the default domain.

    Raises:
        InternalError: two modules define the same operator.
    """
    found: dict[str, Operator] = {}
    for info in sorted(walk_packages(package.__path__, f"{package.__name__}."), key=lambda m: m.name):
        module = import_module(info.name)
        single = getattr(module, "OPERATOR", None)
        for operator in (*((single,) if single is not None else ()), *getattr(module, "OPERATORS", ())):
            if operator.name in found:
                raise InternalError(f"operator '{operator.name}' is defined twice", where=module.__name__)
            found[operator.name] = operator
    return MappingProxyType(found)
