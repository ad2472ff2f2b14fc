"""The error of comparisons that only a run decides."""

from __future__ import annotations

from itertools import groupby

from nautilus_cli.errors import ModelError, shortened
from nautilus_cli.ir.dims import Count, Symbol, Symbolic
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.substitution import substitute

_MOST_TRIED = 1 << 14
"""Sizes of a dimension up to which the hint says for which of them the comparison holds."""

_MOST_TEXT = 1 << 20
"""Characters of the comparison's text, once for each size, up to which it is looked for."""

_LONGEST_SIDE = 160
"""Characters of each side of a comparison that the message shows."""

_MOST_PARTS = 4
"""Ranges that it names at most."""


class UndecidedError(ModelError):
    """A comparison that holds for some values of the dimensions in their ranges and fails for others.

    Attributes:
        left, right: what was compared.
        relation: how, in words: `equals`, `is at most`, `is less than`.
    """

    def __init__(self, left: int, relation: str, right: int) -> None:
        ranges = ", ".join(f"{s.name} = {s.low}..{s.high}" for s in sorted(symbols(left) | symbols(right), key=_name))
        what = f"the sizes with which the model runs ({ranges})" if ranges else "values that only a run knows"
        sides = [shortened(str(side), _LONGEST_SIDE) for side in (left, right)]
        super().__init__(f"whether {sides[0]} {relation} {sides[1]} depends on {what}")
        self.left = left
        self.relation = relation
        self.right = right

    @property
    def hint(self) -> str | None:
        """What would be right, worked out only where it is shown: most of these errors are answered by who asked."""
        return f"A range in which it holds, or fails, throughout is right{self._parts()}."

    def _parts(self) -> str:
        """Return for which sizes the comparison holds, and for which it fails, where one dimension decides that."""
        deciding = symbols(self.left) | symbols(self.right)
        if len(deciding) != 1:
            return ""
        (dim,) = deciding
        sizes = range(dim.low, dim.high + 1, dim.divisor)
        text = len(str(self.left)) + len(str(self.right))
        if isinstance(dim.source, Count) or len(sizes) > _MOST_TRIED or text * len(sizes) > _MOST_TEXT:
            return ""
        parts = [(holds, list(group)) for holds, group in groupby(sizes, key=lambda size: self._holds(dim.name, size))]
        if len(parts) > _MOST_PARTS or any(holds is None for holds, _ in parts):
            return ""
        parts_text = (f"{'holds' if holds else 'fails'} for {dim.name} = {_range_text(group)}" for holds, group in parts)
        return f": it {', it '.join(parts_text)}"

    def _holds(self, name: str, size: int) -> bool | None:
        """Whether the comparison holds for a size, None where that is still open."""
        difference = substitute(self.left - self.right, {name: size})
        if isinstance(difference, Symbolic):
            return None
        return {"equals": difference == 0, "is at most": difference <= 0, "is less than": difference < 0}[self.relation]


def _range_text(sizes: list[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"


def _name(symbol_: Symbol) -> str:
    return symbol_.name
