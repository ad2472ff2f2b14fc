"""Tokens of the textual form of a graph."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from nautilus_cli.errors import InternalError

TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>[+-]inf\b|[+-]?\d[\w.]*(?:(?<=[eE])[+-]?\d+f?)?)"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_./:-]*)|(?P<mark>\S))"""
)
"""A token with what stands before it; its kind is the name of its group."""


@dataclass(slots=True, kw_only=True)
class Tokens:
    """A line, of which tokens are taken.

    Attributes:
        text: the line.
        where: its place, for messages.
        position: of the next token.
    """

    text: str
    where: str
    position: int = 0

    def next(self) -> tuple[str, str]:
        """Take the next token; return its kind and text."""
        match = TOKEN.match(self.text, self.position)
        if match is None:
            raise self.error("ends too early")
        self.position = match.end()
        assert match.lastgroup is not None
        return match.lastgroup, match[match.lastgroup]

    def peek(self) -> str:
        """Return the text of the next token without taking it; empty at the end."""
        match = TOKEN.match(self.text, self.position)
        return match[match.lastgroup] if match and match.lastgroup else ""

    def take(self, text: str) -> bool:
        """Take the next token if it is TEXT."""
        if self.peek() != text:
            return False
        self.next()
        return True

    def expect(self, text: str) -> None:
        """Take the next token, which must be TEXT."""
        if not self.take(text):
            raise self.error(f"expected {text!r}, found {self.peek()!r}")

    def token(self, kind: str) -> str:
        """Take the next token, which must be of KIND."""
        found, text = self.next()
        if found != kind:
            raise self.error(f"expected a {kind}, found {text!r}")
        return text

    def string(self) -> str:
        """Take a quoted string."""
        return unquote(self.token("string"))

    def rest(self) -> str:
        """Take everything that is left."""
        text = self.text[self.position :].strip()
        self.position = len(self.text)
        return text

    def pieces(self) -> list[str]:
        """Take what stands up to the closing bracket, in pieces between commas outside of brackets and quotes."""
        found, depth, start = [], 0, self.position
        while True:
            kind, text = self.next()
            if kind == "mark" and (text in ",]" and depth == 0):
                piece = self.text[start : self.position - 1].strip()
                found += [piece] if piece or text == "," else []
                start = self.position
                if text == "]":
                    return found
            elif kind == "mark":
                depth += (text in "([") - (text in ")]")

    def until(self, mark: str) -> str:
        """Take what stands before a mark, and the mark."""
        start = self.position
        while self.next()[1] != mark:
            continue
        return self.text[start : self.position - len(mark)]

    def finish(self) -> None:
        """Make sure that nothing is left."""
        if self.peek():
            raise self.error(f"{self.rest()!r} is left over")

    def error(self, message: str) -> InternalError:
        """Return an error at this line."""
        return InternalError(message, where=f"text of a graph, {self.where}")


def unquote(text: str) -> str:
    """Return the string that a Python literal denotes."""
    value = ast.literal_eval(text)
    assert isinstance(value, str)
    return value
