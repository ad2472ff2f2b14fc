"""Expand: a tensor repeated to a shape.

Where only the run knows the shape, a declared output of the model may say what comes of it, and then the run checks that it does.
"""

from __future__ import annotations

from collections.abc import Sequence

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.constructs.selection import all_hold, required_to_hold
from nautilus_cli.frontend.entities import Entity
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Value


def _build(call: Occurrence) -> Sequence[Entity | None]:
    call.count(2, 2)
    x, shape, tensor = call.tensor(0), call.tensor(1), call.tensor_name(0)
    wanted = _declared(call)
    is_open = any(map(is_symbolic, (*x.type.static, *shape.type.static)))
    if wanted is None or is_open or shape.constant is not None or shape.contents is not None or len(shape.type.static) != 1:
        return call.builder.apply("Expand", [x, shape], outputs=(tensor,))
    allowed = _allowed(call, x.type.static, shape.type.static[0], wanted)
    (expanded,) = call.builder.apply("Expand", [x, call.constant(list(wanted))], outputs=(tensor,))
    assert expanded is not None
    return [required_to_hold(call.builder, expanded, [_agrees(call, shape, allowed)]) if allowed else expanded]


def _declared(call: Occurrence) -> tuple[int, ...] | None:
    """Return the shape that an output of the model declares for the result, None where none does."""
    dims = call.declared(0)
    return tuple(int(dim) for dim in dims if isinstance(dim, int)) if dims and all(isinstance(dim, int) for dim in dims) else None


def _allowed(call: Occurrence, x: tuple[int, ...], rank: int, wanted: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the two values, often the same, that each element of the shape may have: the size itself, or 1 where X has it."""
    both = max(len(x), rank)
    operand = (1,) * (both - len(x)) + x
    fits = len(wanted) == both and all(size in (1, found) for size, found in zip(operand, wanted, strict=True))
    if not fits or operand[: both - rank] != wanted[: both - rank]:
        raise call.error(f"its result is declared as {list(wanted)}; {list(x)} cannot be expanded to that by a shape of {rank} sizes")
    return [(found, 1 if size == found else found) for size, found in zip(operand[both - rank :], wanted[both - rank :], strict=True)]


def _agrees(call: Occurrence, shape: Value, allowed: Sequence[tuple[int, int]]) -> Value:
    """Return whether each element of the shape is one of the two values allowed, a scalar."""
    node = call.builder.node
    first, second = (node("Equal", [shape, call.constant(list(values))]) for values in zip(*allowed, strict=True))
    return all_hold(call.builder, node("Or", [first, second]))


CONSTRUCT = Construct(name="Expand", build=_build, source="ONNX 28, Expand-13", since=8)
