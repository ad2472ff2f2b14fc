"""Symbolic integers as text that reads back: `2*batch + floor('past length'/4)`.

A name that is no plain word is quoted. What a symbol's values are stands apart, since an expression holds a symbol many times:

    dim 'width' = 32..512/32              a dimension of an input, in multiples of 32
    dim 'n[0]' = 0..10 of 'n'[0]          an element of an input; with `saturating` behind it, one that stands for the nearest in the range
    dim 'kept' = 0..40 counted 10*batch   a number that a kernel writes, and its bound; with `read` for `counted`, one that the host reads
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Count, Element, HostCount, Indicator, Monomial, Symbol, Symbolic, is_symbolic
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.polynomial import Polynomial
from nautilus_cli.ir.substitution import substitute

_PLAIN = re.compile(r"(?!(?:floor|max)\b)[A-Za-z_]\w*")
_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_TOKEN = re.compile(rf"\s*(?:(?P<string>{_STRING})|(?P<number>\d+)|(?P<word>[A-Za-z_]\w*)|(?P<mark>\.\.|\S))")


def size_text(size: int) -> str:
    """Return a size as text that `parse_size` reads."""
    if not is_symbolic(size):
        return str(int(size))
    odd = {s.name: _atom(replace(s, name=repr(s.name))) * s.divisor for s in symbols(size) if not _PLAIN.fullmatch(s.name)}
    return str(substitute(size, odd) if odd else size)


def symbol_text(symbol: Symbol) -> str:
    """Return what the values of a symbol are, as `parse_symbol` reads it."""
    multiples = f"/{symbol.divisor}" if symbol.divisor > 1 else ""
    match symbol.source:
        case Element(input=name, index=index, saturates=saturates):
            source = f" of {name!r}[{index}]{' saturating' if saturates else ''}"
        case Count(bound=bound):
            source = f" {'read' if isinstance(symbol.source, HostCount) else 'counted'} {size_text(bound)}"
        case None:
            source = ""
    return f"{symbol.name!r} = {symbol.low}..{symbol.high}{multiples}{source}"


def in_order(found: Iterable[Symbol]) -> list[Symbol]:
    """Return symbols, and those that bounds of others speak of, each behind what its bound speaks of; else by name."""
    order: dict[Symbol, None] = {}

    def add(symbol: Symbol) -> None:
        if symbol in order:
            return
        if isinstance(symbol.source, Count):
            for other in sorted(symbols(symbol.source.bound), key=_name):
                add(other)
        order[symbol] = None

    for symbol in sorted(found, key=_name):
        add(symbol)
    return list(order)


def parse_size(text: str, known: Mapping[str, Symbol]) -> int:
    """Return the size that TEXT writes.

    Args:
        text: of `size_text`; also what `str` gives where all names are plain words.
        known: symbols by name.

    Raises:
        InternalError: it is malformed, or names a symbol that is not known.
    """
    reader = _Reader(text, known)
    size = reader.sum()
    reader.finish()
    return size


def parse_symbol(text: str, known: Mapping[str, Symbol]) -> Symbol:
    """Return the symbol that TEXT describes.

    Args:
        text: of `symbol_text`.
        known: symbols that stand before it, by name.

    Raises:
        InternalError: it is malformed.
    """
    reader = _Reader(text, known)
    name = reader.string()
    reader.expect("=")
    low = reader.signed()
    reader.expect("..")
    high = reader.signed()
    divisor = reader.number() if reader.take("/") else 1
    source: Element | Count | None = None
    if reader.take("of"):
        input_ = reader.string()
        reader.expect("[")
        index = reader.number()
        reader.expect("]")
        source = Element(input_, index, saturates=reader.take("saturating"))
    elif reader.take("counted"):
        source = Count(reader.sum())
    elif reader.take("read"):
        source = HostCount(reader.sum())
    reader.finish()
    return Symbol(name, low, high, divisor, source)


def _name(symbol: Symbol) -> str:
    return symbol.name


def _atom(atom: Symbol | Indicator) -> int:
    monomial: Monomial = ((atom, 1),)
    return Polynomial.of({monomial: 1})


class _Reader:
    """Reads an expression, token by token."""

    def __init__(self, text: str, known: Mapping[str, Symbol]) -> None:
        self._text, self._known, self._position = text, known, 0

    def sum(self) -> int:
        """Read `2*a - b + 1`."""
        total = -self.product() if self.take("-") else self.product()
        while True:
            if self.take("+"):
                total = total + self.product()
            elif self.take("-"):
                total = total - self.product()
            else:
                return total

    def product(self) -> int:
        """Read `2*a*b`."""
        result = self.factor()
        while self.take("*"):
            result = result * self.factor()
        return result

    def factor(self) -> int:
        """Read a number, a name, or what stands in brackets."""
        kind, text = self.next()
        if kind == "number":
            return int(text)
        if kind == "string":
            return self.whole(ast.literal_eval(text))
        if text == "floor" and self.take("("):
            dividend = self.sum()
            self.expect("/")
            quotient = dividend // self.sum()
            self.expect(")")
            return quotient
        if text == "max" and self.take("("):
            operands = [self.sum()]
            while self.take(","):
                operands.append(self.sum())
            self.expect(")")
            return maximum(*operands)
        if kind == "word":
            return self.whole(text)
        if text == "(":
            return self.grouped()
        if text == "[":
            return self.indicator()
        raise self.error(f"{text!r} is no size")

    def whole(self, name: str) -> int:
        """Return the symbol of a name, whole."""
        symbol = self.symbol(name)
        return _atom(symbol) * symbol.divisor

    def symbol(self, name: str) -> Symbol:
        """Return the symbol of a name."""
        if name not in self._known:
            raise self.error(f"dimension {name!r} is not known")
        return self._known[name]

    def grouped(self) -> int:
        """Read `a + b)`, or a symbol divided by its divisor, `a/8)`."""
        start = self._position
        kind, text = self.next()
        if kind in ("word", "string") and self.take("/"):
            symbol = self.symbol(ast.literal_eval(text) if kind == "string" else text)
            if self.number() != symbol.divisor:
                raise self.error(f"{symbol.name!r} is a multiple of {symbol.divisor}")
            self.expect(")")
            return _atom(symbol)
        self._position = start
        total = self.sum()
        self.expect(")")
        return total

    def indicator(self) -> int:
        """Read `a - b = 0]` or `a - b > 0]`."""
        value = self.sum()
        is_zero = self.take("=")
        if not is_zero:
            self.expect(">")
        self.expect("0")
        self.expect("]")
        if not isinstance(value, Symbolic):
            return int(value == 0 if is_zero else value > 0)
        return _atom(Indicator(value, is_zero))

    def next(self) -> tuple[str, str]:
        """Take the next token; return its kind and text."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match.lastgroup is None:
            raise self.error("ends too early")
        self._position = match.end()
        return match.lastgroup, match[match.lastgroup]

    def take(self, text: str) -> bool:
        """Take the next token if it is TEXT."""
        match = _TOKEN.match(self._text, self._position)
        if match is None or match.lastgroup is None or match[match.lastgroup] != text:
            return False
        self._position = match.end()
        return True

    def expect(self, text: str) -> None:
        """Take the next token, which must be TEXT."""
        if not self.take(text):
            raise self.error(f"expected {text!r} at {self._text[self._position :]!r}")

    def number(self) -> int:
        """Take a number."""
        kind, text = self.next()
        if kind != "number":
            raise self.error(f"expected a number, found {text!r}")
        return int(text)

    def signed(self) -> int:
        """Take a number, which may be negative."""
        return -self.number() if self.take("-") else self.number()

    def string(self) -> str:
        """Take a quoted name."""
        kind, text = self.next()
        if kind != "string":
            raise self.error(f"expected a name in quotes, found {text!r}")
        found: str = ast.literal_eval(text)
        return found

    def finish(self) -> None:
        """Make sure that nothing is left."""
        if self._text[self._position :].strip():
            raise self.error(f"{self._text[self._position :].strip()!r} is left over")

    def error(self, message: str) -> InternalError:
        """Return an error about this text."""
        return InternalError(message, where=f"the size {self._text!r}")
