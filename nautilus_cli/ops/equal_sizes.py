"""Sizes that the values of inputs decide and that an operator asks to equal others: the run makes sure of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.contents import readable
from nautilus_cli.ops.operands import depends_on_values
from nautilus_cli.ops.spec import Inference, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualSize:
    """A size of operands that a run holds in a range, so that it is another one.

    Attributes:
        size: that values decide.
        becomes: what it is then.
        low: least value in a run.
        high: greatest value in a run.
    """

    size: int
    becomes: int
    low: int
    high: int

    def of(self, type_: TensorType) -> TensorType:
        """Return a type with what the size becomes."""
        return _with_size(type_, self.size, self.becomes)


def equal_size(
    operator: Operator,
    attrs: object,
    operands: Sequence[Value | None],
    seen: Sequence[Value | None],
    outputs: int,
    error: UndecidedError,
) -> EqualSize | None:
    """Return which size is taken for which one where a shape rule asks whether they are equal; None where the question is another one.

    Where the operator refuses an equal one, and that is the least, the size is a greater one.

    Args:
        operator: whose rule asks.
        attrs: its attributes.
        operands: as they are.
        seen: the same as its rule sees them.
        outputs: how many results are wanted.
        error: the question.
    """
    if error.relation != "equals":
        return None
    for size, wanted in ((error.left, error.right), (error.right, error.left)):
        is_there = any(same(dim, size) for v in operands if v is not None and v.constant is None for dim in v.type.static)
        if not is_there or not depends_on_values(size) or depends_on_values(wanted):
            continue
        if not _is_refused(operator, attrs, seen, outputs, size, wanted):
            return EqualSize(size=size, becomes=wanted, low=wanted, high=wanted)
        if is_symbolic(wanted) or lower(size) != wanted:
            return None
        return EqualSize(size=size, becomes=maximum(wanted + 1, size), low=wanted + 1, high=upper(size))
    return None


def _is_refused(operator: Operator, attrs: object, operands: Sequence[Value | None], outputs: int, size: int, wanted: int) -> bool:
    """Whether an operator refuses operands in which a size is the wanted one."""
    types = tuple(None if v is None else _with_size(v.type, size, wanted) for v in operands)
    constants = tuple(readable(operator.name, i, v) for i, v in enumerate(operands))
    try:
        operator.infer(Inference(attrs, types, constants, outputs))
    except UndecidedError:
        return False
    except Exception:  # rules run on operands that nobody has checked
        return True
    return False


def _with_size(type_: TensorType, size: int, wanted: int) -> TensorType:
    """Return a type with the dimensions that are SIZE as WANTED."""
    return TensorType(type_.dtype, tuple(wanted if same(dim, size) else dim for dim in type_.static))
