"""The textual form of a graph: what `print_graph` writes, `parse_graph` reads back.

    graph {
      dim 'batch' = 1..64
      input 'x' = %x : f32[1, 3, 224, 224]
      constant %w1 : f32[64, 3, 7, 7] = 3f7a90cc51d2e8b4
      %0 = Conv(%x, %w1, _) {strides=[2, 2], pads=[3, 3, 3, 3]} : f32[1, 64, 112, 112]   # 'conv1'
      %y, _ = MaxPool(%0) {kernel_shape=[3, 3]} : f32[1, 64, 56, 56] order=[0, 2, 3, 1], _
      output 'probabilities' = %y
    }

A value is called by the ONNX tensor it equals (quoted where that is not a plain word), or by a number where it equals none; `~2` tells
values of one tensor apart. `_` is an operand or result left out. A dimension that is open to the run (here one is, though no shape has it)
stands in shapes as an expression of the names in lines of `dim`, see `dims_text`; `sizes %2 : i64[2] = [batch, 4]` is a small tensor whose
contents are known so. Attributes that have their default are not written. A constant is its type and a hash of its bytes; whoever parses
supplies the contents in a table by that hash.
"""

from __future__ import annotations

import ast
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from hashlib import sha256

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Symbol, Symbolic
from nautilus_cli.ir.dims_text import in_order, parse_size, parse_symbol, size_text, symbol_text
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import DTYPES, ML_DTYPES, DType, Shape, Sym, TensorType, dtype_of

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./:-]*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<number>[+-]inf\b|[+-]?\d[\w.]*(?:(?<=[eE])[+-]?\d+f?)?)"""
    r"""|(?P<word>[A-Za-z_][A-Za-z0-9_./:-]*)|(?P<mark>\S))"""
)


def constant_key(array: np.ndarray) -> str:
    """Return the hash by which the text names an array: 16 hexadecimal digits of the SHA-256 of type, shape and bytes."""
    name = dtype_of(array).name
    digest = sha256(f"{name if name in ML_DTYPES else array.dtype.str}{array.shape}".encode())  # theirs are all the same
    digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size and array.ndim else array.tobytes())
    return digest.hexdigest()[:16]


def constants_by_key(graph: Graph) -> dict[str, np.ndarray]:
    """Return the table with which the text of GRAPH parses back: its constants and array attributes."""
    table = {constant_key(v.constant): v.constant for v in _values(graph) if v.constant is not None}
    for node in graph.nodes:
        for _, value in _written_attributes(node.attrs):
            if isinstance(value, np.ndarray):
                table[constant_key(value)] = value
    return table


def print_graph(graph: Graph) -> str:
    """Return GRAPH as text; equal graphs give equal text."""
    names = _value_names(graph)
    lines = ["graph {"]
    lines += [f"  dim {symbol_text(symbol)}" for symbol in in_order(_symbols(graph))]
    lines += [f"  input {name!r} = {names[value]} : {_typed(value)}" for name, value in graph.inputs]
    for value in _values(graph):
        if value.constant is not None:
            lines.append(f"  constant {names[value]} : {_typed(value)} = {constant_key(value.constant)}")
        elif value.contents is not None:
            sizes = ", ".join(size_text(size) for size in value.contents.reshape(-1))
            lines.append(f"  sizes {names[value]} : {_typed(value)} = [{sizes}]")
    lines += [f"  {print_node(node, names)}" for node in graph.nodes]
    lines += [f"  output {name!r} = {names[value]}" for name, value in graph.outputs]
    lines += [f"  text {name!r}" for name in sorted(graph.texts)]
    lines += [f"  count {name!r} = {names[value]}" for name, value in graph.counts]
    lines += [f"  require {r.text!r} : {r.low}..{r.high} = {size_text(r.value)}" for r in graph.requirements]
    return "\n".join([*lines, "}", ""])


def print_node(node: Node, names: Mapping[Value, str]) -> str:
    """Return one node as a line."""
    results = ", ".join("_" if v is None else names[v] for v in node.outputs)
    operands = ", ".join("_" if v is None else names[v] for v in node.inputs)
    attributes = ", ".join(f"{name}={_literal(value)}" for name, value in _written_attributes(node.attrs))
    types = ", ".join("_" if v is None else _typed(v) for v in node.outputs)
    origin = f"   # {', '.join(map(repr, node.origin))}" if node.origin else ""
    return f"{results} = {node.op}({operands}){f' {{{attributes}}}' if attributes else ''} : {types}{origin}"


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
    nodes: list[Node] = []
    values: dict[str, Value] = {}
    dims: dict[str, Symbol] = {}
    lines = [line.strip() for line in text.strip().split("\n")]
    if not lines or lines[0] != "graph {" or lines[-1] != "}":
        raise InternalError("the text of a graph starts with 'graph {' and ends with '}'")
    for number, line in enumerate(lines[1:-1], start=2):
        reader = _Reader(line, f"line {number}", values, attributes, constants, dims)
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
            case "require":
                requirements.append(reader.requirement())
            case _:
                nodes.append(reader.node())
        reader.finish()
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), frozenset(texts), tuple(requirements), tuple(counts))


def _symbols(graph: Graph) -> Iterator[Symbol]:
    """Yield the open dimensions that the graph speaks of, as often as it does."""
    for value in _values(graph):
        for dim in (*value.type.shape, *(() if value.contents is None else value.contents.reshape(-1))):
            yield from symbols(dim)
    for node in graph.nodes:
        for _, attribute in _written_attributes(node.attrs):
            yield from symbols(attribute)
    for requirement in graph.requirements:
        yield from symbols(requirement.value)


def _values(graph: Graph) -> Iterator[Value]:
    """Yield every value once, in order of first appearance."""

    def appearances() -> Iterator[Value]:
        for _, value in graph.inputs:
            yield value
        for node in graph.nodes:
            yield from node.operands()
            yield from node.results()
        for _, value in (*graph.outputs, *graph.counts):
            yield value

    yield from dict.fromkeys(appearances())


def _value_names(graph: Graph) -> dict[Value, str]:
    """Name every value: `%tensor`, `%'odd tensor'`, `%tensor~2`, or `%number` where it equals no tensor."""
    names: dict[Value, str] = {}
    seen: dict[str, int] = {}
    anonymous = 0
    for value in _values(graph):
        if value.tensor is None:
            names[value] = f"%{anonymous}"
            anonymous += 1
            continue
        count = seen[value.tensor] = seen.get(value.tensor, 0) + 1
        names[value] = f"%{_symbol(value.tensor)}" if count == 1 else f"%{_symbol(value.tensor)}~{count}"
    return names


def _typed(value: Value) -> str:
    """Return type and, where it is not ONNX order, dimension order."""
    dims = ", ".join(_symbol(d.name) if isinstance(d, Sym) else size_text(d) for d in value.type.shape)
    order = "" if value.order is None else f" order={list(value.order)}"
    return f"{value.type.dtype}[{dims}]{order}"


def _symbol(name: str) -> str:
    """Return a name from outside as a token: itself where it is a plain word, else quoted."""
    return name if _PLAIN.fullmatch(name) else repr(name)


def _written_attributes(attrs: object) -> Iterator[tuple[str, object]]:
    """Yield the fields of an attribute dataclass that differ from their defaults."""
    for field in fields(attrs):  # type: ignore[arg-type]
        value = getattr(attrs, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if default is MISSING or isinstance(value, np.ndarray) or not _same(value, default):
            yield field.name, value


def _same(value: object, default: object) -> bool:
    """Compare as written, so that 1, 1.0 and True differ and NaN equals itself."""
    return type(value) is type(default) and repr(value) == repr(default)


def _literal(value: object) -> str:
    """Return an attribute's value as text."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case DType():
            return value.name
        case tuple():
            return f"[{', '.join(map(_literal, value))}]"
        case np.ndarray():
            return f"array({constant_key(value)!r})"
        case float():
            return _float(value)
        case int() | str():
            return repr(value)
        case Symbolic():
            return f"size({size_text(value)!r})"
        case Graph():
            return " ".join(line.strip() for line in print_graph(value).splitlines())
    raise InternalError(f"an attribute of type {type(value).__name__} has no textual form")


def _float(value: float) -> str:
    """Return the shortest text of a number; an `f` ends the text of one that only single precision makes short (ONNX attributes are)."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if float(single) == value and len(str(single)) < len(repr(value)):
        return f"{single!s}f"
    return repr(value)


@dataclass(slots=True)
class _Reader:
    """Reads one line, token by token.

    Attributes:
        text: the line.
        where: its place, for messages.
        values: the values defined so far by printed name; definitions add to it.
        attributes: attribute dataclasses by operator.
        constants: contents by key.
        dims: the open dimensions so far by name; definitions add to it.
        position: of the next token.
    """

    text: str
    where: str
    values: dict[str, Value]
    attributes: Mapping[str, type]
    constants: Mapping[str, np.ndarray]
    dims: dict[str, Symbol]
    position: int = 0

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
        match = _TOKEN.fullmatch(text)
        name = _unquote(text) if match and match["string"] else text
        if name not in self.dims and (name != text or _PLAIN.fullmatch(text)):
            return Sym(name)
        return parse_size(text, self.dims)

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

    def name(self) -> tuple[str, str | None]:
        """Read a value's printed name; return it and the tensor it stands for."""
        start = self.position
        self.expect("%")
        kind, text = self.next()
        tensor = None if kind == "number" else _unquote(text) if kind == "string" else text
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
            return _unquote(text)
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

    def next(self) -> tuple[str, str]:
        """Take the next token; return its kind and text."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise self.error("ends too early")
        self.position = match.end()
        assert match.lastgroup is not None
        return match.lastgroup, match[match.lastgroup]

    def peek(self) -> str:
        """Return the text of the next token without taking it; empty at the end."""
        match = _TOKEN.match(self.text, self.position)
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
        return _unquote(self.token("string"))

    def rest(self) -> str:
        """Take everything that is left."""
        text = self.text[self.position :].strip()
        self.position = len(self.text)
        return text

    def finish(self) -> None:
        """Make sure that nothing is left."""
        if self.peek():
            raise self.error(f"{self.rest()!r} is left over")

    def error(self, message: str) -> InternalError:
        """Return an error at this line."""
        return InternalError(message, where=f"text of a graph, {self.where}")


def _unquote(text: str) -> str:
    """Return the string that a Python literal denotes."""
    value = ast.literal_eval(text)
    assert isinstance(value, str)
    return value
