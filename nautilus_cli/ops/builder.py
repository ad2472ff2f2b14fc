"""Builds graphs: infers types, folds constants, keeps provenance."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nautilus_cli.errors import InternalError, ModelError, NautilusError, nearest
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import count, read
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.floats import is_float
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import I64, TensorType, dtype_of
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.contents import READERS, as_constant, bound_contents, contents, readable
from nautilus_cli.ops.count_bounds import CountBounds
from nautilus_cli.ops.element_limits import ElementLimits
from nautilus_cli.ops.folding import MAX_FOLD_WORK, fold, work
from nautilus_cli.ops.given_numbers import GivenNumbers
from nautilus_cli.ops.operands import Cut, OperandsError, RangeError, UnknownContentsError, allowed, depends_on_values, shortened
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference, Operator

MAX_TENSOR_BYTES = 1 << 38
"""256 GiB: more than the memory of any supported device, so a tensor above it is a mistake or an attack."""


MAX_RANK = 64
"""Source: NumPy 2.0 release notes: the greatest number of dimensions of an array."""

DEFAULT_FOLD_BYTES = 512 << 20
"""Enough for every mask and table that exporters spell out in nodes; it bounds what a hostile model of a few bytes can cost."""

NO_SOURCES: Mapping[str, Value] = {}

Wanted = str | bool | None
"""What is asked of a result: the ONNX tensor that it equals, None where it equals none, False where it is not wanted."""


_LONGEST_MESSAGE = 500

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
        self._fold_bytes = fold_bytes
        self._fold_work = MAX_FOLD_WORK + 4 * fold_bytes
        self._known = operators() if known is None else known
        self._inputs: list[tuple[str, Value]] = []
        self._sources = sources
        self._read: MutableMapping[
            Value, np.ndarray
        ] = {}  # contents, as `Value.contents` has them, of inputs and of what nodes compute of them
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
        inputs, seen, types = self._settled(operator, attrs, inputs, len(outputs))
        constants = self._fold(operator, attrs, inputs, types)
        found = None
        if constants is None:
            self._require(self._limits.of(value for index, value in enumerate(inputs) if self._is_read(op, index, value)))
            found = self._contents(operator, attrs, seen, types)
            if found is not None and not self._is_computed(inputs) and not any(map(is_float, (v for a in found for v in a.reshape(-1)))):
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

    def _settled(
        self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], outputs: int
    ) -> tuple[tuple[Value | None, ...], tuple[Value | None, ...], tuple[TensorType, ...]]:
        """Return the operands, as they are and as rules see them, and the types of the results; what rules ask is made known."""
        for _ in range(_MOST_QUESTIONS):
            seen = tuple(map(self._seen, inputs))
            try:
                return inputs, seen, self.infer(operator, attrs, seen, outputs)
            except UndecidedError as error:
                equal = self._with_equal_sizes(operator, attrs, inputs, outputs, error)
                if equal is None:
                    raise
                inputs = equal
            except UnknownContentsError as error:
                if self._given is None or not self._given.learn(inputs[error.index], error.inputs or (), operator.name):
                    raise
            except RangeError as error:
                if self._given is None or not self._given.cut(error.ranges, is_default=error.is_default):
                    raise
        raise ModelError("asks too much of numbers that kernels give", where=self.place(operator.name))

    def _with_equal_sizes(
        self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], outputs: int, error: UndecidedError
    ) -> tuple[Value | None, ...] | None:
        """Return operands in which a size that values decide is the one that the operator asks it to equal; the run makes sure.

        Where the operator refuses an equal one, and that is the least, the size is a greater one. None where the question is another one.
        """
        if error.relation != "equals":
            return None
        for size, wanted in ((error.left, error.right), (error.right, error.left)):
            is_there = any(same(dim, size) for v in inputs if v is not None and v.constant is None for dim in v.type.static)
            if not is_there or not depends_on_values(size) or depends_on_values(wanted):
                continue
            low, high, new = wanted, wanted, wanted
            if self._is_refused(operator, attrs, inputs, outputs, (size, wanted)):
                if is_symbolic(wanted) or lower(size) != wanted:
                    return None
                low, high, new = wanted + 1, upper(size), maximum(wanted + 1, size)
            text = f"{self.place(operator.name)}: a size of an operand"
            self.requirements.append(Requirement(value=size, low=low, high=high, text=text))
            return tuple(v if v is None or v.constant is not None else self._with_size(v, size, new) for v in inputs)
        return None

    def _is_refused(
        self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], outputs: int, sizes: tuple[int, int]
    ) -> bool:
        """Whether an operator refuses operands in which the first of two sizes is the second one."""
        seen = tuple(map(self._seen, inputs))
        types = tuple(None if v is None else _with_size(v.type, *sizes) for v in seen)
        constants = tuple(readable(operator.name, i, v) for i, v in enumerate(seen))
        try:
            operator.infer(Inference(attrs, types, constants, outputs))
        except UndecidedError:
            return False
        except Exception:  # rules run on operands that nobody has checked
            return True
        return False

    def _with_size(self, value: Value, size: int, wanted: int) -> Value:
        """Return VALUE with the dimensions that are SIZE as WANTED."""
        type_ = _with_size(value.type, size, wanted)
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
        place = self.place(operator.name)
        try:
            with ErrorPlace(place):
                types = self._inferred(operator, attrs, inputs, outputs)
        except ModelError as error:
            if type(error) is not ModelError:
                raise
            raise OperandsError(error.message, where=error.where, hint=error.hint) from error
        if len(types) < outputs:
            raise ModelError(f"has {outputs} results; the specification allows {len(types)}", where=place)
        with ErrorPlace(place):
            _refuse_ranges(shortened(types[:outputs]), is_default=True)
        return tuple(check_size(type_, place, self.most_bytes) for type_ in types[:outputs])

    def _inferred(self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], outputs: int) -> tuple[TensorType, ...]:
        """Apply the shape rule; raises RangeError where it takes fewer values of elements of inputs than there are."""
        types = tuple(None if v is None else v.type for v in inputs)
        constants = tuple(readable(operator.name, i, v) for i, v in enumerate(inputs))
        inference = Inference(attrs, types, constants, outputs)
        try:
            found = operator.infer(inference)
        except UnknownContentsError as error:
            error.inputs = self._inputs_behind(inputs[error.index])
            raise
        except UndecidedError:

            def ask(cuts: Mapping[str, int]) -> None:
                bound = tuple(None if t is None else TensorType(t.dtype, bind(t.static, cuts)) for t in types)
                operator.infer(Inference(attrs, bound, tuple(bound_contents(c, cuts) for c in constants), outputs))

            _refuse_ranges(allowed(ask))
            raise
        place = self.place(operator.name)
        self.requirements += [replace(one, text=f"{place}: {one.text}") for one in inference.requirements]
        return found

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

    def _fold(
        self, operator: Operator, attrs: object, inputs: tuple[Value | None, ...], types: tuple[TensorType, ...]
    ) -> tuple[np.ndarray, ...] | None:
        """Return the results where they are constants, as far as memory for them and time is left."""
        size = sum(type_.bytes for type_ in types)
        if is_symbolic(size) or size > self._fold_bytes:
            return None
        steps = 0
        if all(v is None or v.constant is not None for v in inputs):
            steps = work(operator, [v for v in inputs if v is not None], types)
            if steps > self._fold_work:
                return None
        with ErrorPlace(self.place(operator.name)):
            constants = fold(operator, attrs, inputs, types)
        if constants is not None:
            self._fold_work -= steps
            operands = [v.constant for v in inputs if v is not None and v.constant is not None]
            self._fold_bytes -= sum(c.nbytes for c in constants if not any(np.may_share_memory(c, a) for a in operands))
        return constants

    def place(self, op: str) -> str:
        """Return where an error is: the ONNX node at hand."""
        op = quoted(op)[1:-1]
        return f"node {', '.join(map(quoted, self.origin))} ({op})" if self.origin else op

    def counts(self) -> tuple[tuple[str, Value], ...]:
        """Return (name, value) of the counts so far."""
        return tuple(self._counts)

    def apart(self) -> GraphBuilder:
        """Return a builder of a graph that a node is to hold, with what memory and time for folding is left here.

        What is known of values here is known there, and not the other way round: what an iteration computes is another number in the next.
        """
        inner = GraphBuilder(known=self._known, origin=self.origin, fold_bytes=self._fold_bytes, sources={**self._sources, **self.inputs()})
        inner._fold_work, inner.most_bytes, inner.bounds = self._fold_work, self.most_bytes, self.bounds
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

    def spend_as(self, inner: GraphBuilder) -> None:
        """Count what such a builder has folded."""
        self._fold_bytes, self._fold_work = inner._fold_bytes, inner._fold_work

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


def _with_size(type_: TensorType, size: int, wanted: int) -> TensorType:
    """Return a type with the dimensions that are SIZE as WANTED."""
    return TensorType(type_.dtype, tuple(wanted if same(dim, size) else dim for dim in type_.static))


def _refuse_ranges(cuts: Mapping[str, Cut], *, is_default: bool = False) -> None:
    """Ask for the ranges of CUTS, if there are any."""
    if cuts:
        raise RangeError({name: (cut.low, cut.high) for name, cut in cuts.items()}, is_default=is_default)


def infer_types(operator: Operator, attrs: object, inputs: Sequence[Value | None], outputs: int) -> tuple[TensorType, ...]:
    """Apply an operator's shape rule to values."""
    types = tuple(None if v is None else v.type for v in inputs)
    constants = tuple(readable(operator.name, i, v) for i, v in enumerate(inputs))
    return operator.infer(Inference(attrs, types, constants, outputs))


def check_size(type_: TensorType, place: str, most_bytes: int = MAX_TENSOR_BYTES) -> TensorType:
    """Return the type if a tensor of it can exist.

    Raises:
        ModelError: a dimension is negative, there are more than MAX_RANK, or the tensor is larger than MOST_BYTES.
    """
    if len(type_.shape) > MAX_RANK:
        raise ModelError(f"a tensor has {len(type_.shape)} dimensions", where=place, hint=f"The limit is {MAX_RANK}.")
    if any(lower(dim) < 0 for dim in type_.static):
        raise ModelError(f"the result's type {type_} has a negative dimension", where=place)
    if upper(type_.bytes) > most_bytes:
        raise ModelError(
            f"a tensor of type {type_} takes {upper(type_.bytes)} bytes",
            where=place,
            hint=f"The limit is {MAX_TENSOR_BYTES} bytes (256 GiB).",
        )
    return type_


class ErrorPlace:
    """Adds the node to what an operator's rules raise.

    The rules run on operands and attributes that nobody has checked yet, so whatever they stumble over is the model's fault.
    """

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, NautilusError):
            error.where = error.where or self._place
            if len(error.message) > _LONGEST_MESSAGE:  # operators quote shapes and lists, which a model can make endless
                error.message = f"{error.message[:_LONGEST_MESSAGE]}…"
        elif isinstance(error, MemoryError):
            raise ModelError("needs more memory than there is", where=self._place) from error
        elif isinstance(error, Exception):
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ModelError(f"operands or attributes do not fit the operator ({detail})", where=self._place) from error
