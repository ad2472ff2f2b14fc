"""Sizes that the host works out before a run: expressions of dimensions as a table of operations.

A row is an operation on rows before it; `templates/host/sizes.c` evaluates them in order. What a table of the payload holds in place of
such a size is a bound or nothing; a patch says which row gives the number.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import (
    Atom,
    Count,
    Factor,
    Float,
    FloatElement,
    FloatOperation,
    HostCount,
    Indicator,
    Maximum,
    Named,
    Quotient,
    Rounded,
    Symbol,
    Symbolic,
)
from nautilus_cli.ir.occurrences import symbols

SIZE = struct.Struct("<2Iq")
SYMBOL = struct.Struct("<4I3q")
PATCH = struct.Struct("<4I")
CHECK = struct.Struct("<4I")


class Operation(IntEnum):
    """What a row does with its operands; those from ELEMENT to SINGLE give numbers of double precision, by their bits."""

    CONSTANT = 0
    SYMBOL = 1
    ADD = 2
    MULTIPLY = 3
    DIVIDE = 4
    MAXIMUM = 5
    FACTOR = 6
    IS_ZERO = 7
    IS_POSITIVE = 8
    ELEMENT = 9
    DOUBLE = 10
    FLOAT_ADD = 11
    FLOAT_SUBTRACT = 12
    FLOAT_MULTIPLY = 13
    FLOAT_DIVIDE = 14
    SINGLE = 15
    FLOOR = 16
    CEIL = 17
    EVEN = 18


_FLOAT_FUNCTIONS = {
    "add": Operation.FLOAT_ADD,
    "subtract": Operation.FLOAT_SUBTRACT,
    "multiply": Operation.FLOAT_MULTIPLY,
    "divide": Operation.FLOAT_DIVIDE,
    "single": Operation.SINGLE,
}

_ROUNDINGS = {"floor": Operation.FLOOR, "ceil": Operation.CEIL, "even": Operation.EVEN}


class Source(IntEnum):
    """Where the value of a symbol comes from: a dimension of an input, an element of one, which may saturate, or a step that reads it."""

    DIMENSION = 0
    ELEMENT = 1
    SATURATING = 2
    READ = 3


class Patched(IntEnum):
    """What a row gives: a dimension or the bytes of a port, a launch's grid, a word, the bytes of a variant's arena, a number of a map.

    COUNT has no row: a dimension of a port that a kernel gives, and the int64 word of the arena that holds it in the end. LIMIT has none
    either: the name of such a number, its greatest value, and its word.
    """

    DIMENSION = 0
    BYTES = 1
    GRID = 2
    WORD = 3
    ARENA = 4
    COUNT = 5
    MAP = 6
    LIMIT = 7


class SizeTable:
    """The rows for some expressions, each distinct one once.

    Args:
        inputs: names of the model's inputs, in order.
    """

    def __init__(self, inputs: Sequence[str] = ()) -> None:
        self.symbols: list[Symbol] = []
        self._inputs = {name: number for number, name in enumerate(inputs)}
        self.rows: list[tuple[Operation, int, int]] = []
        self.patches: list[tuple[Patched, int, int, int]] = []
        self.checks: list[tuple[str, int, int, int]] = []
        self._known: dict[tuple[Operation, int, int], int] = {}

    def patch(self, kind: Patched, target: int, field: int, size: int, *, is_always: bool = False) -> None:
        """Let the host work out SIZE for a place, where it is not a number already; or set it in any case."""
        if isinstance(size, Symbolic) or is_always:
            self.patches.append((kind, target, field, self.add(size)))

    def check(self, text: str, value: int, low: int, high: int) -> None:
        """Let the host make sure that LOW <= VALUE <= HIGH; TEXT says what VALUE is."""
        self._check_row(text, self.add(value), low, high)

    def _check_row(self, text: str, row: int, low: int, high: int) -> None:
        found = (text, row, self.add(low), self.add(high))
        if found not in self.checks:
            self.checks.append(found)

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

    def symbol(self, size: int) -> int:
        """Return the number of a symbol, given as a size."""
        (found,) = symbols(size)
        self._symbol(found)
        return self.symbols.index(found)

    def source(self, symbol: Symbol) -> tuple[Source, int, int]:
        """Return where the value of a symbol comes from: what of an input, which input, which element."""
        if symbol.source is None:
            return Source.DIMENSION, 0, 0
        if isinstance(symbol.source, HostCount):
            return Source.READ, 0, 0
        if isinstance(symbol.source, Count):
            raise InternalError(f"the host has to know {symbol.name}, which a kernel gives")
        kind = Source.SATURATING if symbol.source.saturates else Source.ELEMENT
        return kind, self._input(symbol.source.input), symbol.source.index

    def _input(self, name: str) -> int:
        if name not in self._inputs:
            raise InternalError(f"a size depends on an element of '{name}', which is no input")
        return self._inputs[name]

    def _float(self, value: Float) -> int:
        """Return the number of the row that gives a number of double precision."""
        match value:
            case FloatElement():
                return self._row(Operation.ELEMENT, self._input(value.input), value.index)
            case FloatOperation():
                return self._row(_FLOAT_FUNCTIONS[value.function], self._float(value.left), self._float(value.right))
        return self._row(Operation.DOUBLE, self.add(value), 0)

    def _atom(self, atom: Atom) -> int:
        match atom:
            case Symbol():
                row = self._symbol(atom)
                return row if atom.divisor == 1 else self._row(Operation.DIVIDE, row, self.add(atom.divisor))
            case Quotient():
                return self._row(Operation.DIVIDE, self.add(atom.dividend), self.add(atom.divisor))
            case Indicator():
                return self._row(Operation.IS_ZERO if atom.is_zero else Operation.IS_POSITIVE, self.add(atom.value), 0)
            case Rounded():
                row = self._row(_ROUNDINGS[atom.manner], self._float(atom.value), 0)
                self._check_row(atom.name, row, atom.low, atom.high)
                return row
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
