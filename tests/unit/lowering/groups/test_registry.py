"""Kinds of groups: whatever fusion can make is lowered, and what lowers is a kind."""

from __future__ import annotations

from pkgutil import iter_modules

from nautilus_cli.lowering import groups
from nautilus_cli.lowering.groups.registry import lowerings
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor

WITHOUT_ANCHOR = {"pointwise", "row"}
"""Kinds of groups that pointwise work and reductions make."""


def test_every_family_of_an_operator_is_lowered() -> None:
    families = {operator.lowering.family for operator in operators().values() if isinstance(operator.lowering, Anchor)}
    assert families | WITHOUT_ANCHOR == lowerings().keys()


def test_every_module_lowers_a_kind() -> None:
    assert {info.name for info in iter_modules(groups.__path__)} == {*lowerings(), "registry"}
