"""Operators that are written in others once: the numpy truth is the decomposition, evaluated step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.evaluate import evaluate_operator
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, NoAttrs, Operator

Build = Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...]]


class ImmediateEmitter:
    """An emitter whose every value is known at once; implements `ops.spec.Emitter`."""

    def constant(self, array: np.ndarray) -> Value:
        """Return a value with these contents."""
        return Value(TensorType(dtype_of(array), array.shape), constant=array)

    def sizes(self, sizes: Sequence[int]) -> Value:
        """Return a vector of int64 numbers."""
        return self.constant(np.array(list(sizes), np.int64))

    def source(self, name: str) -> Value:
        """Refuse: nothing here depends on a run."""
        raise InternalError(f"an operand that is known asks for the input {name!r}")

    def node(self, op: str, inputs: Sequence[Value | None], attrs: object | None = None, **overrides: Any) -> Value:
        """Evaluate an operator with one result."""
        given: Any = operators()[op].attributes(**overrides) if attrs is None else replace(attrs, **overrides)  # type: ignore[type-var]
        return self.results(op, inputs, 1, given)[0]

    def results(self, op: str, inputs: Sequence[Value | None], count: int, attrs: object | None = None) -> tuple[Value, ...]:
        """Evaluate an operator with COUNT results."""
        operator = operators()[op]
        arrays = [None if value is None else value.constant for value in inputs]
        found = evaluate_operator(operator, operator.attributes() if attrs is None else attrs, arrays, count)
        return tuple(self.constant(array) for array in found[:count])


def composed(
    name: str,
    infer: Callable[[Inference], tuple[TensorType, ...]],
    build: Build,
    *,
    source: str,
    attributes: type = NoAttrs,
    since: int = 1,
) -> Operator:
    """Return an operator whose truth is what BUILD gives in numpy; an operator's tests hold it against an implementation of others.

    INFER returns the types of all results, whether they are asked for or not.
    """

    def types(inference: Inference) -> tuple[TensorType, ...]:
        return infer(inference)[: inference.outputs]

    def evaluate(attrs: Any, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
        emitter = ImmediateEmitter()
        values = build(emitter, attrs, tuple(None if array is None else emitter.constant(array) for array in arrays))
        return tuple(value.constant for value in values[:outputs] if value is not None and value.constant is not None)

    return Operator(name=name, infer=types, evaluate=evaluate, lowering=Decompose(build), source=source, attributes=attributes, since=since)
