"""The error of comparisons that only a run decides."""

from __future__ import annotations

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.ir.occurrences import symbols


class UndecidedError(ModelError):
    """A comparison that holds for some values of the dimensions in their ranges and fails for others.

    Attributes:
        left, right: what was compared.
        relation: how, in words: `equals`, `is at most`, `is less than`.
    """

    def __init__(self, left: int, relation: str, right: int) -> None:
        ranges = ", ".join(f"{s.name} = {s.low}..{s.high}" for s in sorted(symbols(left) | symbols(right), key=_name))
        super().__init__(
            f"whether {left} {relation} {right} depends on the sizes with which the model runs ({ranges})",
            hint="A range in which it holds, or fails, throughout is right.",
        )
        self.left = left
        self.relation = relation
        self.right = right


def _name(symbol_: Symbol) -> str:
    return symbol_.name
