"""Evaluates operators whose operands' elements are symbols: lowered once, then run by numpy and by index maps for values of the symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import element
from nautilus_cli.ir.dims import Element, FloatOperation, lower, upper
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.movement import context
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Movement
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes.rewriting.decompose import decompose
from nautilus_cli.passes.rewriting.remove_identity import remove_identity
from tests.unit.ops.lowered import moved


def elements(name: str, *ranges: tuple[int, int], is_scalar: bool = False) -> np.ndarray:
    """Return symbols with RANGES for the elements of an input, as the contents of a value."""
    array = np.empty(len(ranges), dtype=object)
    array[:] = [element(Element(name, number), f"{name}[{number}]", *limits) for number, limits in enumerate(ranges)]
    return array.reshape(()) if is_scalar else array


FRACTION = 1 << 20


def reals(name: str, *ranges: tuple[int, int]) -> np.ndarray:
    """Return numbers with RANGES for the elements of a float input: quotients of a symbol and FRACTION."""
    found = elements(name, *((low * FRACTION, high * FRACTION) for low, high in ranges))
    array = np.empty(len(ranges), dtype=object)
    array[:] = [FloatOperation("divide", element, FRACTION) for element in found]
    return array


class Open:
    """One application of an operator, lowered for all values of its symbols.

    Args:
        op: the operator.
        operands: by name: a type is a run-time input, an array of objects the contents of one, other arrays are constants.
        outputs: how many results.
        attributes: of the operator.
    """

    def __init__(self, op: str, operands: Mapping[str, Any], *, outputs: int = 1, **attributes: Any) -> None:
        builder = GraphBuilder()
        self.op, self.attrs = op, operators()[op].attributes(**attributes)
        self.operands = operands
        values: list[Value | None] = []
        for name, given in operands.items():
            if given is None or isinstance(given, Value):
                values.append(given)
            elif isinstance(given, TensorType):
                values.append(builder.input(name, given))
            elif given.dtype == object:
                type_ = TensorType(F32 if isinstance(given.reshape(-1)[0], FloatOperation) else I64, given.shape)
                values.append(builder.known(type_, given, name))
            else:
                values.append(builder.constant(given))
        found = builder.apply(op, values, self.attrs, outputs=(None,) * outputs)
        graph = builder.graph([(f"y{number}", value) for number, value in enumerate(found) if value is not None])
        self.inferred = tuple(value.type for _, value in graph.outputs)
        self.graph = remove_identity(decompose(graph))
        verify_graph(self.graph)

    def check(self, arrays: Mapping[str, np.ndarray], tolerance: float = 0.0) -> tuple[np.ndarray, ...]:
        """Hold the results for these operands, whose open elements are values now, against the operator's truth.

        Args:
            arrays: contents of inputs and of open operands.
            tolerance: greatest difference; 0 where the results are to be equal.
        """
        full = {name: arrays.get(name, given) for name, given in self.operands.items()}
        wanted = evaluate_operator(operators()[self.op], self.attrs, list(full.values()), len(self.inferred))
        sizes = sizes_of(self.operands, arrays)
        found = evaluate_bound(self.graph, arrays, sizes)
        for type_, truth, result in zip(self.inferred, wanted, found, strict=True):
            assert bind(type_.static, sizes) == truth.shape, (sizes, type_, truth.shape)
            assert all(lower(d) <= n <= upper(d) for d, n in zip(type_.static, truth.shape, strict=True))
            assert result.shape == truth.shape and result.dtype == truth.dtype
            if tolerance:
                difference = np.abs(result.astype(np.float64) - truth.astype(np.float64)).max(initial=0)
                assert difference <= tolerance, (sizes, difference)
            else:
                np.testing.assert_array_equal(result, truth, err_msg=str(sizes))
        return wanted


def sizes_of(operands: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Return what the symbols stand for: dimensions of inputs that are plain symbols, and elements."""
    sizes: dict[str, int] = {}
    for name, given in operands.items():
        if name not in arrays:
            continue
        if isinstance(given, TensorType):
            sizes |= {str(dim): size for dim, size in zip(given.static, arrays[name].shape, strict=True)}
        else:
            scale = FRACTION if arrays[name].dtype == np.float32 else 1
            sizes |= {f"{name}[{number}]": int(value * scale) for number, value in enumerate(arrays[name].reshape(-1).tolist())}
    return sizes


def evaluate_bound(graph: Graph, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> list[np.ndarray]:
    """Return the outputs for values of the symbols; what movement does is read off its index maps."""
    known: dict[Value, np.ndarray] = {value: arrays[name] for name, value in graph.inputs}

    def read(value: Value | None) -> np.ndarray | None:
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        if value not in known and value.contents is not None:
            numbers = bind(tuple(value.contents.reshape(-1)), sizes)
            known[value] = np.array(numbers).astype(value.type.dtype.numpy).reshape(value.type.static)
        return known[value]

    for node in graph.nodes:
        operands = [read(value) for value in node.inputs]
        for value, array in zip(node.outputs, _results(node, operands, sizes), strict=False):
            if value is not None:
                assert bind(value.type.static, sizes) == array.shape, (node.op, value.type, array.shape, sizes)
                known[value] = array
    return [found for _, value in graph.outputs if (found := read(value)) is not None]


def _results(node: Node, operands: Sequence[np.ndarray | None], sizes: Mapping[str, int]) -> tuple[np.ndarray, ...]:
    operator = operators()[node.op]
    if not isinstance(operator.lowering, Movement):
        return evaluate_operator(operator, bind(node.attrs, sizes), operands, len(node.outputs))
    results = []
    for number in range(len(node.outputs)):
        seen = context(node, number)
        pieces = tuple(bind(piece, sizes) for piece in operator.lowering.pieces(seen))
        bound = type(seen)(
            attrs=bind(seen.attrs, sizes),
            types=bind(seen.types, sizes),
            constants=tuple(operands),
            results=bind(seen.results, sizes),
            output=number,
        )
        results.append(moved(Movement(lambda _, found=pieces: found), bound))  # type: ignore[misc]
    return tuple(results)
