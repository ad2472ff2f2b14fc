"""A node about to be appended, and what turns an older form of it into a newer one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.attributes import AttributeValue
from nautilus_cli.ir.graph import Value
from nautilus_cli.ops.builder import GraphBuilder, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A node about to be appended.

    Attributes:
        op: operator.
        inputs: operands.
        attributes: by name.
        outputs: as `GraphBuilder.apply` takes them.
    """

    op: str
    inputs: tuple[Value | None, ...]
    attributes: Mapping[str, AttributeValue]
    outputs: tuple[Wanted, ...]

    def without(self, *names: str) -> Call:
        """Return the call without some attributes."""
        return replace(self, attributes={name: value for name, value in self.attributes.items() if name not in names})

    def with_operand(self, position: int, value: Value | None) -> Call:
        """Return the call with an operand added or replaced."""
        inputs = list(self.inputs) + [None] * (position + 1 - len(self.inputs))
        inputs[position] = value
        return replace(self, inputs=tuple(inputs))

    def operand(self, position: int) -> Value:
        """Return a required operand."""
        value = self.inputs[position] if position < len(self.inputs) else None
        if value is None:
            raise ModelError(f"operand {position} of {self.op} is missing; the specification requires it")
        return value


Results = tuple[Value | None, ...]
Variant = Callable[[GraphBuilder, Call], Call | Results]


def dropped(*names: str) -> Variant:
    """Return the variant that drops attributes which mean nothing at inference."""
    return lambda _, call: call.without(*names)


def unchanged(_: GraphBuilder, call: Call) -> Call:
    """Every node of the older form means the same in the newer one, which only allows more."""
    return call


def reshape(builder: GraphBuilder, value: Value, shape: tuple[int, ...]) -> Value:
    """Append a Reshape."""
    return builder.node("Reshape", [value, integers(builder, shape)])


def integers(builder: GraphBuilder, values: tuple[int, ...]) -> Value:
    """Return an int64 constant."""
    return builder.constant(np.array(values, np.int64))
