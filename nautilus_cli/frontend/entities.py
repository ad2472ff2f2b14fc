"""What a name in a model may stand for: a tensor, or a sequence or optional value whose structure is known at compile time."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value


@dataclass(frozen=True, slots=True, eq=False)
class Unavailable:
    """A value that exists at run time, but not in a form that can be compiled. To read it is an error; to carry it around is none.

    Attributes:
        reason: why it is not to be had, in words that go on from the node that reads it.
        hint: what would help.
    """

    reason: str
    hint: str | None = None

    def error(self, where: str) -> ModelError:
        """Return the error for the node that reads it."""
        return ModelError(self.reason, where=where, hint=self.hint)


@dataclass(frozen=True, slots=True, eq=False)
class TensorSequence:
    """A sequence of tensors; its length is known, and the type of each.

    Attributes:
        items: the tensors.
    """

    items: tuple[Value | Unavailable, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """An optional tensor or sequence; whether it holds one is known.

    Attributes:
        content: what it holds; None where it is empty.
    """

    content: Value | TensorSequence | None


Entity = Value | TensorSequence | OptionalValue | Unavailable


def kind(entity: Entity) -> str:
    """Return what an entity is, with its article."""
    match entity:
        case TensorSequence():
            return "a sequence"
        case OptionalValue():
            return "an optional value"
    return "a tensor"


def as_tensor(entity: Entity, role: str, where: str) -> Value:
    """Return a tensor.

    Args:
        entity: what is read.
        role: what it is for the node that reads it.
        where: that node.

    Raises:
        ModelError: it is no tensor, or cannot be had.
    """
    if isinstance(entity, Unavailable):
        raise entity.error(where)
    if not isinstance(entity, Value):
        raise ModelError(f"{role} is {kind(entity)}; the specification requires a tensor", where=where)
    return entity


def as_sequence(entity: Entity, role: str, where: str) -> TensorSequence:
    """Return a sequence; arguments and errors as those of `as_tensor`."""
    if isinstance(entity, Unavailable):
        raise entity.error(where)
    if not isinstance(entity, TensorSequence):
        raise ModelError(f"{role} is {kind(entity)}; the specification requires a sequence", where=where)
    return entity
