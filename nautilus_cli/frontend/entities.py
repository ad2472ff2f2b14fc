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


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A tensor of strings.

    Attributes:
        points: its code points, u32; the last dimension is the most that a string has, and a shorter one ends in zeros.
    """

    points: Value


Entity = Value | TensorSequence | OptionalValue | Text | Unavailable


def kind(entity: Entity) -> str:
    """Return what an entity is, with its article."""
    match entity:
        case TensorSequence():
            return "a sequence"
        case OptionalValue():
            return "an optional value"
        case Text():
            return "a tensor of strings"
    return "a tensor"


def as_tensor(entity: Entity, role: str, where: str) -> Value:
    """Return an entity that must be a tensor.

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
        raise ModelError(f"{role} is {kind(entity)}; {_wanted(entity)}", where=where, hint=TEXT_HINT if isinstance(entity, Text) else None)
    return entity


TEXT_HINT = (
    "Of the operators on strings only StringNormalizer is compiled. Turn text into numbers outside of the library, and cut the model there."
)


def _wanted(entity: Entity) -> str:
    return "numbers or booleans are supported" if isinstance(entity, Text) else "the specification requires a tensor"


def as_sequence(entity: Entity, role: str, where: str) -> TensorSequence:
    """Return a sequence; arguments and errors as those of `as_tensor`."""
    if isinstance(entity, Unavailable):
        raise entity.error(where)
    if not isinstance(entity, TensorSequence):
        raise ModelError(f"{role} is {kind(entity)}; the specification requires a sequence", where=where)
    return entity
