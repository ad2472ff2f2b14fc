"""Reading the textual form of a graph, which `text` describes."""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.ir.dims_text import parse_size, parse_symbol
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.requirement import Limit, Requirement
from nautilus_cli.ir.text import PLAIN
from nautilus_cli.ir.text_tokens import TOKEN, Tokens, unquote
from nautilus_cli.ir.types import DTYPES, Shape, Sym, TensorType


def parse_graph(text: str, attributes: Mapping[str, type], constants: Mapping[str, np.ndarray]) -> Graph:
    """Return the graph that TEXT prints.

    Args:
        text: what `print_graph` wrote.
        attributes: the attribute dataclass of each operator by name.
        constants: contents by `constant_key`.

    Raises:
        InternalError: the text is malformed, or names an operator or constant that the tables lack.
    """
    inputs: list[tuple[str, Value]] = []
    outputs: list[tuple[str, Value]] = []
    texts: list[str] = []
    counts: list[tuple[str, Value]] = []
    requirements: list[Requirement] = []
    limits: list[Limit] = []
    nodes: list[Node] = []
    values: dict[str, Value] = {}
    dims: dict[str, Symbol] = {}
    lines = [line.strip() for line in text.strip().split("\n")]
    if not lines or lines[0] != "graph {" or lines[-1] != "}":
        raise InternalError("the text of a graph starts with 'graph {' and ends with '}'")
    for number, line in enumerate(lines[1:-1], start=2):
        reader = _Reader(text=line, where=f"line {number}", values=values, attributes=attributes, constants=constants, dims=dims)
        match reader.peek():
            case "":
                continue
            case "input":
                inputs.append(reader.input())
            case "constant":
                reader.constant()
            case "output":
                outputs.append(reader.output())
            case "text":
                texts.append(reader.text_port())
            case "dim":
                reader.dimension()
            case "sizes":
                reader.sizes()
            case "count":
                counts.append(reader.port("count"))
            case "limit":
                limits.append(reader.limit())
            case "require":
                requirements.append(reader.requirement())
            case _:
                nodes.append(reader.node())
        reader.finish()
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), frozenset(texts), tuple(requirements), tuple(counts), tuple(limits))


@dataclass(slots=True, kw_only=True)
class _Reader(Tokens):
    """Reads one line.

    Attributes:
        values: the values defined so far by printed name; definitions add to it.
        attributes: attribute dataclasses by operator.
        constants: contents by key.
        dims: the open dimensions so far by name; definitions add to it.
    """

    values: dict[str, Value]
    attributes: Mapping[str, type]
    constants: Mapping[str, np.ndarray]
    dims: dict[str, Symbol]

    def input(self) -> tuple[str, Value]:
        """Read `input 'x' = %x : type`."""
        self.expect("input")
        name = self.string()
        self.expect("=")
        printed, tensor = self.name()
        self.expect(":")
        return name, self.define(printed, tensor, None)

    def constant(self) -> None:
        """Read `constant %w : type = hash`."""
        self.expect("constant")
        printed, tensor = self.name()
        self.expect(":")
        type_, order = self.typed()
        self.expect("=")
        key = self.rest()
        self.values[printed] = Value(type_, tensor, order, self.contents(key))

    def output(self) -> tuple[str, Value]:
        """Read `output 'y' = %y`."""
        return self.port("output")

    def port(self, kind: str) -> tuple[str, Value]:
        """Read `output 'y' = %y` or `count 'n' = %n`."""
        self.expect(kind)
        name = self.string()
        self.expect("=")
        value = self.operand()
        if value is None:
            raise self.error(f"{'an' if kind == 'output' else 'a'} {kind} is left out")
        return name, value

    def dimension(self) -> None:
        """Read `dim 'batch' = 1..64`."""
        self.expect("dim")
        symbol = parse_symbol(self.rest(), self.dims)
        self.dims[symbol.name] = symbol

    def sizes(self) -> None:
        """Read `sizes %2 : i64[2] = [batch, 4]`."""
        self.expect("sizes")
        printed, tensor = self.name()
        self.expect(":")
        type_, order = self.typed()
        self.expect("=")
        self.expect("[")
        found = np.empty(len(pieces := self.pieces()), dtype=object)
        found[:] = [parse_size(piece, self.dims) for piece in pieces]
        self.values[printed] = Value(type_, tensor, order, contents=found.reshape(type_.static))

    def requirement(self) -> Requirement:
        """Read `require 'what' : 0..4 = n - 1`."""
        self.expect("require")
        text = self.string()
        self.expect(":")
        bounds = parse_symbol(f"'' = {self.until('=')}", self.dims)
        return Requirement(value=parse_size(self.rest(), self.dims), low=bounds.low, high=bounds.high, text=text)

    def limit(self) -> Limit:
        """Read `limit 'found.count' = 'found.count (all)' : 100`."""
        self.expect("limit")
        name = self.string()
        self.expect("=")
        count = self.string()
        self.expect(":")
        return Limit(name=name, count=count, most=int(self.rest()))

    def text_port(self) -> str:
        """Read `text 'x'`: an input or output of this name is strings."""
        self.expect("text")
        return self.string()

    def node(self) -> Node:
        """Read `%a, _ = Op(%x, _) {field=value} : type, _   # 'origin'`."""
        results = [self.result()]
        while self.take(","):
            results.append(self.result())
        self.expect("=")
        op = self.operator()
        inputs = []
        while not self.take(")"):
            inputs.append(self.operand())
            self.take(",")
        written = {}
        if self.take("{"):
            while not self.take("}"):
                name = self.token("word")
                self.expect("=")
                written[name] = self.literal()
                self.take(",")
        attrs = self.attrs(op, written)
        self.expect(":")
        outputs: list[Value | None] = []
        for number, result in enumerate(results):
            if number:
                self.expect(",")
            if result is None:
                self.expect("_")
                outputs.append(None)
            else:
                outputs.append(self.define(*result, None))
        origin = []
        if self.take("#"):
            origin.append(self.string())
            while self.take(","):
                origin.append(self.string())
        return Node(op, tuple(inputs), tuple(outputs), attrs, tuple(origin))

    def define(self, printed: str, tensor: str | None, constant: np.ndarray | None) -> Value:
        """Read a type and define a value of it."""
        type_, order = self.typed()
        value = Value(type_, tensor, order, constant)
        if printed in self.values:
            raise self.error(f"{printed} is defined twice")
        self.values[printed] = value
        return value

    def typed(self) -> tuple[TensorType, tuple[int, ...] | None]:
        """Read `f32[1, n] order=[1, 0]`."""
        dtype = self.token("word")
        if dtype not in DTYPES:
            raise self.error(f"{dtype!r} is not an element type")
        self.expect("[")
        shape = [self.dim(piece) for piece in self.pieces()]
        order = None
        if self.take("order"):
            self.expect("=")
            order = self.literal()
        return TensorType(DTYPES[dtype], typing.cast(Shape, tuple(shape))), typing.cast("tuple[int, ...] | None", order)

    def dim(self, text: str) -> int | Sym:
        """Return a dimension: a number, an expression, or a name that stands for none yet."""
        match = TOKEN.fullmatch(text)
        name = unquote(text) if match and match["string"] else text
        if name not in self.dims and (name != text or PLAIN.fullmatch(text)):
            return Sym(name)
        return parse_size(text, self.dims)

    def name(self) -> tuple[str, str | None]:
        """Read a value's printed name; return it and the tensor it stands for."""
        start = self.position
        self.expect("%")
        kind, text = self.next()
        tensor = None if kind == "number" else unquote(text) if kind == "string" else text
        if self.take("~"):
            self.token("number")
        return self.text[start : self.position].strip(), tensor

    def result(self) -> tuple[str, str | None] | None:
        """Read a result's name, or `_`."""
        return None if self.take("_") else self.name()

    def operand(self) -> Value | None:
        """Read the name of a defined value, or `_`."""
        if self.take("_"):
            return None
        printed, _ = self.name()
        if printed not in self.values:
            raise self.error(f"{printed} is not defined")
        return self.values[printed]

    def operator(self) -> str:
        """Read an operator's name up to its parenthesis."""
        end = self.text.find("(", self.position)
        if end < 0:
            raise self.error("an operator has no operands")
        op = self.text[self.position : end].strip()
        self.position = end + 1
        return op

    def attrs(self, op: str, written: dict[str, object]) -> object:
        """Build the attribute dataclass of an operator."""
        if op not in self.attributes:
            raise self.error(f"operator {op!r} is not in the table of attributes")
        try:
            return self.attributes[op](**written)
        except TypeError as error:
            raise self.error(f"the attributes of {op} do not fit: {error}") from error

    def literal(self) -> object:
        """Read an attribute's value."""
        kind, text = self.next()
        if kind == "string":
            return unquote(text)
        if kind == "number":
            if text.endswith("f") and text[-2].isdigit():
                return float(np.float32(text[:-1]))
            return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
        if text == "[":
            items = []
            while not self.take("]"):
                items.append(self.literal())
                self.take(",")
            return tuple(items)
        if text == "size":
            self.expect("(")
            size = parse_size(self.string(), self.dims)
            self.expect(")")
            return size
        if text == "array":
            self.expect("(")
            key = self.string()
            self.expect(")")
            return self.contents(key)
        words = {"none": None, "true": True, "false": False, "inf": float("inf"), "nan": float("nan"), **DTYPES}
        if text not in words:
            raise self.error(f"{text!r} is not a value")
        return words[text]

    def contents(self, key: str) -> np.ndarray:
        """Return the array of a key."""
        if key not in self.constants:
            raise self.error(f"constant {key} is not in the table")
        return self.constants[key]
