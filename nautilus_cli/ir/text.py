"""The textual form of a graph: what `print_graph` writes, `parse_graph` of `text_reader` reads back.

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

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from hashlib import sha256

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Symbol, Symbolic
from nautilus_cli.ir.dims_text import in_order, size_text, symbol_text
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.types import ML_DTYPES, DType, Sym, dtype_of

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./:-]*")
"""A name that stands in the text as it is."""


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
    lines += [f"  limit {limit.name!r} = {limit.count!r} : {limit.most}" for limit in graph.limits]
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
    return name if PLAIN.fullmatch(name) else repr(name)


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
