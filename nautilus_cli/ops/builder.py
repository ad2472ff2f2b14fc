"""Builds graphs: infers types, folds constants, keeps provenance."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nautilus_cli.errors import InternalError, ModelError, nearest
from nautilus_cli.ir.constructors import count, read
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.floats import is_float
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.contents import READERS, as_constant, contents, may_wrap
from nautilus_cli.ops.count_bounds import CountBounds
from nautilus_cli.ops.element_limits import ElementLimits
from nautilus_cli.ops.equal_sizes import EqualSize, equal_size
from nautilus_cli.ops.error_place import ErrorPlace
from nautilus_cli.ops.fold_budget import DEFAULT_FOLD_BYTES, FoldBudget
from nautilus_cli.ops.given_numbers import GivenNumbers
from nautilus_cli.ops.inference import checked_types
from nautilus_cli.ops.operands import RangeError, UnknownContentsError
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Operator
from nautilus_cli.ops.tensor_limits import MAX_TENSOR_BYTES, check_size

NO_SOURCES: Mapping[str, Value] = {}

Wanted = str | bool | None
"""What is asked of a result: the ONNX tensor that it equals, None where it equals none, False where it is not wanted."""


_MOST_QUESTIONS = 64
"""That one node's rules may ask of numbers that kernels give."""


class GraphBuilder:
    """Appends nodes one by one; each is typed by its operator's shape rule.

    Implements `ops.spec.Emitter`, so a decomposition can write into it.

    Attributes:
        nodes: what was appended so far.
        origin: ONNX nodes that the next nodes come from.
        most_bytes: that a tensor may take.
        requirements: what a run makes sure of.
        conditions: bool scalars that have to be true in a run.
        places: where elements of tensors are not zero, by tensor (`ops/places.py`).
        bounds: what the user says of counts.
    """

    def __init__(
        self,
        *,
        known: Mapping[str, Operator] | None = None,
        origin: tuple[str, ...] = (),
        fold_bytes: int = DEFAULT_FOLD_BYTES,
        sources: Mapping[str, Value] = NO_SOURCES,
    ) -> None:
        """Start an empty graph.

        Args:
            known: operators by name; None for the registry.
            origin: ONNX nodes that the first nodes come from.
            fold_bytes: how much memory all constants that folding makes may take together; 0 folds nothing but empty tensors.
            sources: run-time inputs by name, where the nodes will be part of a graph that has them already.
        """
        self.nodes: list[Node] = []
        self.origin = origin
        self.most_bytes = MAX_TENSOR_BYTES
        self._budget = FoldBudget(fold_bytes)
        self._known = operators() if known is None else known
        self._inputs: list[tuple[str, Value]] = []
        self._sources = sources
        # Contents, as `Value.contents` has them, of inputs and of what nodes compute of them.
        self._read: MutableMapping[Value, np.ndarray] = {}
        self._limits = ElementLimits(lambda name: self.source(name).type.dtype)
        self.requirements: list[Requirement] = []
        self.conditions: list[Value] = []
        self.places: dict[Value, Value] = {}
        self.bounds = CountBounds()
        self._given: GivenNumbers | None = None
        self._counts: list[tuple[str, Value]] = []
        self._around: GraphBuilder | None = None  # of the graph around one that a node is to hold
        self._names: set[str] = set()  # of the counts, those of other builders of the same model included

    def input(self, name: str, type_: TensorType, elements: np.ndarray | None = None) -> Value:
        """Declare a run-time input; ELEMENTS are symbols for its elements, in an array of objects, where rules may compute with them."""
        value = Value(check_size(type_, f"input {name!r}"), tensor=name)
        self._inputs.append((name, value))
        if elements is not None:
            self._read[value] = elements
        return value

    def source(self, name: str) -> Value:
        """Return a run-time input of the graph, whose elements are expressions' atoms: a kernel reads them as data."""
        return self._sources[name] if name in self._sources else self.inputs()[name]

    def inputs(self) -> dict[str, Value]:
        """Return the run-time inputs so far by name."""
        return dict(self._inputs)

    def known(self, type_: TensorType, array: np.ndarray, tensor: str | None = None) -> Value:
        """Return a value of which ARRAY says the contents: integers, and expressions of dimensions."""
        constant = as_constant(array, type_.dtype)
        return Value(type_, tensor=tensor, constant=constant, contents=None if constant is not None else array)

    def sizes(self, sizes: Sequence[int]) -> Value:
        """Return a vector of int64 sizes, of which some may be known by name and range alone."""
        return self.known(TensorType(I64, (len(sizes),)), np.array(list(sizes), dtype=object))

    def count(self, name: str, bound: int) -> int:
        """Return a size from 0 to BOUND that a kernel will give; `holds` says in which value. NAME is made one of its own."""
        own = self.own_name(name)
        size = (read if own in self.bounds.read else count)(own, bound)
        if is_symbolic(size):
            self._names.add(own)
            self._counts.append((own, Value(TensorType(I64, ()))))
        return size

    def own_name(self, name: str) -> str:
        """Return what the next count called NAME will be called: that, or with a number behind it where there is one already."""
        return next(one for one in (name, *(f"{name}'{number}" for number in range(2, len(self._names) + 3))) if one not in self._names)

    def holds(self, size: int, value: Value) -> None:
        """Say that VALUE, an int64 scalar that a node computes, is what `count` returned as SIZE; a number needs none."""
        for symbol in symbols(size):
            place = [name for name, _ in self._counts].index(symbol.name)
            self._counts[place] = (symbol.name, value)

    def constant(self, array: np.ndarray, tensor: str | None = None) -> Value:
        """Return a constant value; TENSOR is the ONNX tensor that it equals."""
        return Value(TensorType(dtype_of(array), array.shape), tensor=tensor, constant=array)

    def node(self, op: str, inputs: Sequence[Value | None], attrs: object | None = None, **overrides: Any) -> Value:
        """Append a node with one output and return it; OVERRIDES set fields of the operator's attribute dataclass."""
        (value,) = self.apply(op, inputs, attrs, **overrides)
        assert value is not None
        return value

    def results(self, op: str, inputs: Sequence[Value | None], count: int, attrs: object | None = None) -> tuple[Value, ...]:
        """Append a node with COUNT outputs and return them all."""
        found = self.apply(op, inputs, attrs, outputs=(None,) * count)
        return tuple(value for value in found if value is not None)

    def apply(
        self, op: str, inputs: Sequence[Value | None], attrs: object | None = None, *, outputs: Sequence[Wanted] = (None,), **overrides: Any
    ) -> tuple[Value | None, ...]:
        """Append a node and return its outputs.

        Args:
            op: operator.
            inputs: operands; None where one is left out.
            attrs: attribute dataclass; None for the operator's defaults.
            outputs: what is asked of each result.
            overrides: fields of the attribute dataclass.

        Raises:
            ModelError: the operator is unknown, or operands or attributes do not fit it; names the ONNX node.
        """
        operator = self.operator(op)
        attrs = self.attributes(operator, attrs, overrides)
        inputs = tuple(inputs)
        inputs, seen, types = self._answered(operator, attrs, inputs, len(outputs))
        with ErrorPlace(self.place(op)):
            constants = self._budget.fold(operator, attrs, inputs, types)
        found = None
        if constants is None:
            self._require(self._limits.of(value for index, value in enumerate(inputs) if self._is_read(op, index, value)))
            found = self._contents(operator, attrs, seen, types)
            is_data = found is None or self._is_computed(inputs) or may_wrap(found, types)
            if found is not None and not is_data and not any(map(is_float, (v for a in found for v in a.reshape(-1)))):
                values = tuple(
                    None if tensor is False else self.known(type_, array, tensor or None)  # type: ignore[arg-type]
                    for tensor, type_, array in zip(outputs, types, found, strict=True)
                )
                self._keep_limits(operator, attrs, inputs, types, found, values)
                return values
        results = tuple(
            None if tensor is False else Value(type_, tensor=tensor or None, constant=None if constants is None else constants[number])  # type: ignore[arg-type]
            for number, (tensor, type_) in enumerate(zip(outputs, types, strict=True))
        )
        if constants is None:
            self.nodes.append(Node(op, self._operands(op, inputs), results, attrs, self.origin))
            self._read.update((value, array) for value, array in zip(results, found or (), strict=False) if value is not None)
            if found is not None:
                self._keep_limits(operator, attrs, inputs, types, found, results)
        return results

    def sizes_in(self, value: Value) -> np.ndarray | None:
        """Return the contents of a value as integers and expressions, where they are known as such; None where they are data."""
        self._require(self._limits.of([value]))
        seen = self._seen(value)
        return None if seen is None else seen.contents

    def _answered(
        self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], outputs: int
    ) -> tuple[tuple[Value | None, ...], tuple[Value | None, ...], tuple[TensorType, ...]]:
        """Return the operands, as they are and as rules see them, and the types of the results; what rules ask is made known."""
        for _ in range(_MOST_QUESTIONS):
            seen = tuple(map(self._seen, inputs))
            try:
                return inputs, seen, self.infer(operator, attrs, seen, outputs)
            except UndecidedError as error:
                equal = equal_size(operator, attrs, inputs, seen, outputs, error)
                if equal is None:
                    raise
                text = f"{self.place(operator.name)}: a size of an operand"
                self.requirements.append(Requirement(value=equal.size, low=equal.low, high=equal.high, text=text))
                inputs = tuple(v if v is None or v.constant is not None else self._viewed(v, equal) for v in inputs)
            except UnknownContentsError as error:
                if self._given is None or not self._given.learn(inputs[error.index], error.inputs or (), operator.name):
                    raise
            except RangeError as error:
                if self._given is None or not self._given.cut(error.ranges, is_default=error.is_default):
                    raise
        raise ModelError("asks too much of numbers that kernels give", where=self.place(operator.name))

    def _viewed(self, value: Value, equal: EqualSize) -> Value:
        """Return VALUE with a size that values decide as the one that it equals in a run."""
        type_ = equal.of(value.type)
        return value if type_ == value.type else self.node("nautilus::View", [value], shape=type_.static)

    def let_numbers_decide(self, readable: frozenset[str]) -> None:
        """Let numbers that kernels compute decide shapes; not those that follow from READABLE inputs, which the host may read."""
        self._given = GivenNumbers(self, self._read, readable)

    def keep_numbers_out(self) -> None:
        """Let no number that a kernel computes decide a shape."""
        self._given = None

    @property
    def lets_numbers_decide(self) -> bool:
        """Whether numbers that kernels compute may decide shapes."""
        return self._given is not None

    def _seen(self, value: Value | None) -> Value | None:
        """Return a value with what is known of its contents, though a node or the caller gives it."""
        return self.known(value.type, self._read[value], value.tensor) if value is not None and value in self._read else value

    def _is_computed(self, inputs: Sequence[Value | None]) -> bool:
        """Whether operands are data as well: inputs, or computed of them, and constants."""
        return any(v in self._read for v in inputs) and all(v is None or v in self._read or v.constant is not None for v in inputs)

    def _operands(self, op: str, inputs: Sequence[Value | None]) -> tuple[Value | None, ...]:
        """Return the operands of a node: one of which the operator only asks what it holds is no tensor that is read."""
        return tuple(self._seen(v) if number in READERS.get(op, ()) else v for number, v in enumerate(inputs))

    def _contents(
        self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], types: tuple[TensorType, ...]
    ) -> tuple[np.ndarray, ...] | None:
        """Return the results where they are expressions of dimensions."""
        with ErrorPlace(self.place(operator.name)):
            return contents(operator, attrs, inputs, types)

    def _require(self, found: Iterable[Requirement]) -> None:
        """Let the run make sure of what is not among the requirements yet."""
        known = set(self.requirements)
        self.requirements += [one for one in found if one not in known]

    def _is_read(self, op: str, index: int, value: Value | None) -> bool:
        """Whether an operator's rules take the contents of an operand that is data as well."""
        seen = self._seen(value)
        return seen is not None and (index in READERS.get(op, ()) or (value is not seen and seen.constant is not None))

    def _keep_limits(
        self,
        operator: Operator,
        attrs: object,
        inputs: tuple[Value | None, ...],
        types: tuple[TensorType, ...],
        found: tuple[np.ndarray, ...],
        results: tuple[Value | None, ...],
    ) -> None:
        """Keep what must hold for FOUND, the contents of RESULTS, to be what a kernel computes."""
        seen = tuple(map(self._seen, inputs))
        place = self.place(operator.name)
        self._limits.keep(inputs, seen, results, found, types, lambda v: self._contents(operator, attrs, v, types), place)

    def operator(self, op: str) -> Operator:
        """Return the operator of this name."""
        if op not in self._known:
            raise ModelError(f"operator {quoted(op)} is not supported", where=self.place(op), hint=nearest(op, self._known))
        return self._known[op]

    def attributes(self, operator: Operator, attrs: object | None, overrides: Mapping[str, Any]) -> object:
        """Return the attribute dataclass with OVERRIDES; None stands for the defaults."""
        try:
            return operator.attributes(**overrides) if attrs is None else replace(attrs, **overrides) if overrides else attrs  # type: ignore[type-var]
        except TypeError as error:
            raise InternalError(f"attributes {sorted(overrides)} do not fit: {error}", where=self.place(operator.name)) from error

    def infer(self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], outputs: int) -> tuple[TensorType, ...]:
        """Return the types of the results, checked for number and size."""
        try:
            return checked_types(
                operator,
                attrs,
                inputs,
                outputs,
                place=self.place(operator.name),
                most_bytes=self.most_bytes,
                requirements=self.requirements,
            )
        except UnknownContentsError as error:
            error.inputs = self._inputs_behind(inputs[error.index])
            raise

    def unread_inputs(self, value: Value) -> dict[str, Value]:
        """Return the inputs of which VALUE is computed, by name, as long as rules do not compute with the elements of all of them."""
        found = {name: self.source(name) for name in self._inputs_behind(value)}
        return {} if all(source in self._read for source in found.values()) else found

    def _inputs_behind(self, value: Value | None) -> tuple[str, ...]:
        """Return the names of the inputs of which VALUE is computed; none where it follows from what an iteration begins with, too."""
        producers: dict[Value, Node] = {}
        names: dict[Value, str] = {}
        around: GraphBuilder | None = self
        while around is not None:
            producers |= {v: node for node in around.nodes for v in node.results()}
            names |= {v: name for name, v in around._inputs}
            around = around._around
        found: dict[str, None] = {}
        waiting, met = [value], {value}
        while waiting:
            one = waiting.pop()
            if one in names:
                found[names[one]] = None
            elif one is not None and one not in producers and one.constant is None and one.contents is None:
                return ()
            for operand in producers[one].operands() if one in producers else ():
                if operand not in met:
                    met.add(operand)
                    waiting.append(operand)
        return tuple(found)

    def place(self, op: str) -> str:
        """Return where an error is: the ONNX node at hand."""
        op = quoted(op)[1:-1]
        return f"node {', '.join(map(quoted, self.origin))} ({op})" if self.origin else op

    def counts(self) -> tuple[tuple[str, Value], ...]:
        """Return (name, value) of the counts so far."""
        return tuple(self._counts)

    def apart(self) -> GraphBuilder:
        """Return a builder of a graph that a node is to hold, which folds with what is left here.

        What is known of values here is known there, and not the other way round: what an iteration computes is another number in the next.
        """
        inner = GraphBuilder(known=self._known, origin=self.origin, sources={**self._sources, **self.inputs()})
        inner._budget, inner.most_bytes, inner.bounds = self._budget, self.most_bytes, self.bounds
        inner._read, inner._names, inner._around = ChainMap({}, self._read), set(self._names), self
        inner._limits = self._limits
        if self._given is not None:
            inner._given = self._given.apart(inner, inner._read)
        return inner

    def take(self, inner: GraphBuilder) -> None:
        """Append what such a builder has, in place of a node that would hold it."""
        self.nodes += inner.nodes
        self._counts += inner._counts
        assert isinstance(inner._read, ChainMap)
        self._read.update(inner._read.maps[0])

    def keep(self, inner: GraphBuilder) -> None:
        """Let the run make sure of what such a builder asks for; its numbers keep their names."""
        self._require(inner.requirements)
        self._names |= inner._names

    def discard(self) -> None:
        """Forget what such a builder asks for, and its numbers' names: what it has is built anew."""
        assert self._around is not None
        self.requirements, self._names = [], set(self._around._names)

    def gives(self, size: int) -> bool:
        """Whether SIZE depends on a count of this graph."""
        own = {name for name, _ in self._counts}
        return any(symbol.name in own for symbol in symbols(size))

    def has(self, value: Value) -> bool:
        """Whether VALUE is an input, or what a node of this graph computes."""
        return any(value is own for _, own in self._inputs) or any(value is own for node in self.nodes for own in node.outputs)

    def producer(self, value: Value) -> Node | None:
        """Return the node of this graph that computes VALUE; None where none does."""
        return next((node for node in reversed(self.nodes) if any(value is own for own in node.outputs)), None)

    def contents_of(self, node: Node) -> np.ndarray | None:
        """Return what is known of what the first result of a node holds, by what is known of its operands now."""
        found = self._contents(operators()[node.op], node.attrs, tuple(map(self._seen, node.inputs)), tuple(v.type for v in node.results()))
        return None if found is None else found[0]

    def graph(self, outputs: Sequence[tuple[str, Value]]) -> Graph:
        """Return the finished graph."""
        return Graph(
            tuple(self._inputs),
            tuple(outputs),
            tuple(self.nodes),
            counts=tuple(self._counts),
            requirements=tuple(self.requirements),
            limits=tuple(self.bounds.limits),
        )
