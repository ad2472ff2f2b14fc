"""The shape rule of an operator, applied to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.contents import bound_contents, readable
from nautilus_cli.ops.error_place import ErrorPlace
from nautilus_cli.ops.operands import Cut, OperandsError, RangeError, allowed, shortened
from nautilus_cli.ops.spec import Inference, Operator
from nautilus_cli.ops.tensor_limits import check_size


def infer_types(operator: Operator, attrs: object, inputs: Sequence[Value | None], outputs: int) -> tuple[TensorType, ...]:
    """Apply an operator's shape rule to values."""
    types = tuple(None if v is None else v.type for v in inputs)
    constants = tuple(readable(operator.name, i, v) for i, v in enumerate(inputs))
    return operator.infer(Inference(attrs, types, constants, outputs))


def checked_types(
    operator: Operator,
    attrs: object,
    inputs: Sequence[Value | None],
    outputs: int,
    *,
    place: str,
    most_bytes: int,
    requirements: list[Requirement],
) -> tuple[TensorType, ...]:
    """Return the types of the results, checked for number and size.

    Args:
        operator: what is applied.
        attrs: its attributes.
        inputs: its operands as rules see them.
        outputs: how many results are wanted.
        place: where errors are.
        most_bytes: that a tensor may take.
        requirements: what a run makes sure of; the rule's are appended.

    Raises:
        RangeError: the rule takes fewer values of elements of inputs than there are.
        ModelError: operands or attributes do not fit.
    """
    try:
        with ErrorPlace(place):
            types, own = _applied(operator, attrs, inputs, outputs)
    except ModelError as error:
        if type(error) is not ModelError:
            raise
        raise OperandsError(error.message, where=error.where, hint=error.hint) from error
    requirements += [replace(one, text=f"{place}: {one.text}") for one in own]
    if len(types) < outputs:
        raise ModelError(f"has {outputs} results; the specification allows {len(types)}", where=place)
    with ErrorPlace(place):
        _ask_for_ranges(shortened(types[:outputs]), is_default=True)
    return tuple(check_size(type_, place, most_bytes) for type_ in types[:outputs])


def _applied(
    operator: Operator, attrs: object, inputs: Sequence[Value | None], outputs: int
) -> tuple[tuple[TensorType, ...], list[Requirement]]:
    """Apply the shape rule; where it cannot decide, ask for ranges in which it can."""
    types = tuple(None if v is None else v.type for v in inputs)
    constants = tuple(readable(operator.name, i, v) for i, v in enumerate(inputs))
    inference = Inference(attrs, types, constants, outputs)
    try:
        return operator.infer(inference), inference.requirements
    except UndecidedError:

        def ask(cuts: Mapping[str, int]) -> None:
            bound = tuple(None if t is None else TensorType(t.dtype, bind(t.static, cuts)) for t in types)
            operator.infer(Inference(attrs, bound, tuple(bound_contents(c, cuts) for c in constants), outputs))

        _ask_for_ranges(allowed(ask))
        raise


def _ask_for_ranges(cuts: Mapping[str, Cut], *, is_default: bool = False) -> None:
    """Ask for the ranges of CUTS, if there are any."""
    if cuts:
        raise RangeError({name: (cut.low, cut.high) for name, cut in cuts.items()}, is_default=is_default)
