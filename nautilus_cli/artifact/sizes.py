"""Sizes that the host works out before a run: expressions of dimensions as a table of operations.

A row is an operation on rows before it; `templates/host/shapes.c` evaluates them in order. What a table of the payload holds in place of
such a size is a bound or nothing; a patch says which row gives the number.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Atom, Factor, Maximum, Named, Quotient, Symbol, Symbolic

SIZE = struct.Struct("<2Iq")
SYMBOL = struct.Struct("<2I3q")
PATCH = struct.Struct("<4I")


class Operation(IntEnum):
    """What a row does with its operands."""

    CONSTANT = 0
    SYMBOL = 1
    ADD = 2
    MULTIPLY = 3
    DIVIDE = 4
    MAXIMUM = 5
    FACTOR = 6


class Patched(IntEnum):
    """What a row gives: a dimension or the bytes of a port, a launch's grid, a word, the bytes of a variant's arena."""

    DIMENSION = 0
    BYTES = 1
    GRID = 2
    WORD = 3
    ARENA = 4


class SizeTable:
    """The rows for some expressions, each distinct one once."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.rows: list[tuple[Operation, int, int]] = []
        self.patches: list[tuple[Patched, int, int, int]] = []
        self._known: dict[tuple[Operation, int, int], int] = {}

    def patch(self, kind: Patched, target: int, field: int, size: int) -> None:
        """Let the host work out SIZE for a place, where it is not a number already."""
        if isinstance(size, Symbolic):
            self.patches.append((kind, target, field, self.add(size)))

    def add(self, size: int) -> int:
        """Return the number of the row that gives SIZE."""
        if not isinstance(size, Symbolic):
            return self._row(Operation.CONSTANT, 0, size)
        total: int | None = None
        for monomial, coefficient in size.terms:
            atoms = [atom for atom, power in monomial for _ in range(power)]
            if atoms and isinstance(atoms[0], Symbol) and coefficient == atoms[0].divisor:
                row, rest, coefficient = self._symbol(atoms[0]), atoms[1:], 1  # a dimension whole, not divided and multiplied again
            elif atoms:
                row, rest = self._atom(atoms[0]), atoms[1:]
            else:
                row, rest, coefficient = self.add(coefficient), [], 1
            for atom in rest:
                row = self._row(Operation.MULTIPLY, row, self._atom(atom))
            if coefficient != 1:
                row = self._row(Operation.MULTIPLY, row, self.add(coefficient))
            total = row if total is None else self._row(Operation.ADD, total, row)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> int:
        match atom:
            case Symbol():
                row = self._symbol(atom)
                return row if atom.divisor == 1 else self._row(Operation.DIVIDE, row, self.add(atom.divisor))
            case Quotient():
                return self._row(Operation.DIVIDE, self.add(atom.dividend), self.add(atom.divisor))
            case Named():
                return self.add(atom.value)
            case Factor():
                divisor = self.add(atom.divisor)
                return self._row(Operation.FACTOR, divisor, divisor)  # one operand, twice
            case Maximum():
                first, *others = map(self.add, atom.operands)
                for other in others:
                    first = self._row(Operation.MAXIMUM, first, other)
                return first

    def _symbol(self, symbol: Symbol) -> int:
        if symbol not in self.symbols:
            if any(known.name == symbol.name for known in self.symbols):
                raise InternalError(f"dimension {symbol.name} has two ranges")
            self.symbols.append(symbol)
        return self._row(Operation.SYMBOL, self.symbols.index(symbol), 0)

    def _row(self, operation: Operation, left: int, right: int) -> int:
        row = (operation, left, right)
        if row not in self._known:
            self._known[row] = len(self.rows)
            self.rows.append(row)
        return self._known[row]
