"""What shape rules ask of a node: operands present, their types, axes in range, contents known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import named
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.indicators import chosen, equal, from_front
from nautilus_cli.ir.types import DType, TensorType
from nautilus_cli.ops.operands import UnknownContentsError, depends_on_values
from nautilus_cli.ops.spec import Inference

T = TypeVar("T")

MOST_INTEGERS = 2**16
"""That a shape, axes or amounts can be: a Split has one a result. Whatever walks over them may take its time for each."""


def operand_count(inference: Inference, low: int, high: int | None) -> None:
    """Check the number of operands, LOW to HIGH (None: any).

    Raises:
        ModelError: there are too few or too many.
    """
    count = len(inference.types)
    if count < low or (high is not None and count > high):
        allowed = f"{low}" if high == low else f"at least {low}" if high is None else f"{low} to {high}"
        raise ModelError(f"has {count} operands; the specification allows {allowed}")


def operand(inference: Inference, index: int, name: str, allowed: Collection[DType] | None = None) -> TensorType:
    """Return the type of a required operand.

    Raises:
        ModelError: it is left out, or its element type is not allowed.
    """
    found = optional_operand(inference, index, name, allowed)
    if found is None:
        raise ModelError(f"operand '{name}' is missing; the specification requires it")
    return found


def optional_operand(inference: Inference, index: int, name: str, allowed: Collection[DType] | None = None) -> TensorType | None:
    """Return the type of an optional operand, None where it is left out.

    Raises:
        ModelError: its element type is not allowed.
    """
    found = inference.types[index] if index < len(inference.types) else None
    if found is not None and allowed is not None and found.dtype not in allowed:
        raise ModelError(f"operand '{name}' has type {found.dtype}; the specification allows {', '.join(d.name for d in allowed)}")
    return found


def same_dtype(first: TensorType, second: TensorType | None, name: str, of: str = "the first operand") -> None:
    """Check that an operand has the element type of the first, or of the one that OF names.

    Raises:
        ModelError: it has another.
    """
    if second is not None and second.dtype != first.dtype:
        raise ModelError(f"operand '{name}' has type {second.dtype}; the specification requires that of {of}, {first.dtype}")


def shaped(found: TensorType | None, name: str, *allowed: tuple[int, ...]) -> None:
    """Check that an operand, where it is given, has one of the shapes ALLOWED.

    Raises:
        ModelError: it has another.
    """
    if found is not None and found.static not in allowed:
        wanted = " or ".join(str(list(shape)) for shape in dict.fromkeys(allowed))
        raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires {wanted}")


def ranked(found: TensorType, name: str, *allowed: int) -> tuple[int, ...]:
    """Return an operand's shape after checking that its rank is one of those ALLOWED.

    Raises:
        ModelError: it has another.
    """
    if len(found.shape) not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires rank {wanted}")
    return found.static


def single(found: TensorType, name: str) -> None:
    """Check that an operand holds one number.

    Raises:
        ModelError: it does not.
    """
    if found.elements != 1 or len(found.shape) > 1:
        raise ModelError(f"operand '{name}' has shape {list(found.static)}; the specification requires a scalar")


def contents(constants: Sequence[np.ndarray | None], index: int, name: str) -> np.ndarray:
    """Return the contents of an operand that decides a shape.

    Raises:
        UnknownContentsError: they are not known.
    """
    array = constants[index] if index < len(constants) else None
    if array is None:
        raise UnknownContentsError(index, name)
    return array


def optional_contents(
    constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None], index: int, name: str
) -> np.ndarray | None:
    """Return the contents of an optional operand that decides a shape, None where it is left out.

    Raises:
        ModelError: it is there, but its contents are not known at compile time.
    """
    if index >= len(types) or types[index] is None:
        return None
    return contents(constants, index, name)


def known(operands: Sequence[Value | None]) -> tuple[np.ndarray | None, ...]:
    """Return what is known of operands when a decomposition is written: constants, and contents made of sizes."""
    return tuple(None if v is None else v.contents if v.constant is None else v.constant for v in operands)


def integers(array: np.ndarray) -> tuple[int, ...]:
    """Return the elements of a shape, of axes or of amounts as Python integers, or as symbolic ones.

    Raises:
        ModelError: there are more than any of these has.
    """
    if np.size(array) > MOST_INTEGERS:
        raise ModelError(f"{np.size(array)} numbers are given for dimensions", hint=f"The limit is {MOST_INTEGERS}.")
    return tuple(v if is_symbolic(v) else int(v) for v in np.asarray(array).reshape(-1))


def vector(array: np.ndarray, name: str) -> tuple[int, ...]:
    """Return the elements of an operand of rank 1 as Python integers.

    Raises:
        ModelError: it has another rank.
    """
    if array.ndim != 1:
        raise ModelError(f"operand '{name}' has shape {list(array.shape)}; the specification requires rank 1")
    return integers(array)


def normal_axis(axis: int, rank: int, name: str = "axis") -> int:
    """Return AXIS counted from the front.

    Raises:
        ModelError: it is outside [-rank, rank).
    """
    if not -rank <= axis < rank:
        raise ModelError(f"{name} is {axis}; for a tensor of rank {rank} the specification allows {-rank} to {rank - 1}")
    return from_front(axis, rank)


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return AXES counted from the front, in the given order.

    Raises:
        ModelError: one is out of range or given twice.
    """
    found = tuple(normal_axis(a, rank, "axes") for a in axes)
    if len(set(found)) != len(found):
        raise ModelError(f"axes {list(axes)} names a dimension twice")
    return found


def broadcast_shape(*shapes: tuple[int, ...], inference: Inference | None = None) -> tuple[int, ...]:
    """Return the shape that all SHAPES broadcast to, as in numpy.

    Args:
        shapes: of the operands.
        inference: where a requirement goes, if values of inputs decide whether they broadcast.

    Raises:
        ModelError: they do not broadcast.
    """
    rank = max((len(s) for s in shapes), default=0)
    result = []
    for place in range(rank):
        meeting = dict.fromkeys(s[place - rank + len(s)] for s in shapes if place - rank + len(s) >= 0)
        sizes = _met([size for size in meeting if not same(size, 1)], inference)
        if any(size != sizes[0] for size in sizes[1:]):
            raise ModelError(
                f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast: dimensions {sorted(sizes, key=str)} meet",
                hint="Sizes must be equal or 1, aligned from the last dimension.",
            )
        result.append(sizes[0] if sizes else 1)
    return tuple(result)


def _met(sizes: Sequence[int], inference: Inference | None) -> list[int]:
    """Return sizes that meet, without those that are 1 wherever they are not another one; one for two of which values decide."""
    found: list[int] = []
    for size in sizes:
        for place, other in enumerate(found):
            if same((size - 1) * (size - other), 0):
                break
            if same((other - 1) * (other - size), 0):
                found[place] = size
                break
            if inference is not None and (depends_on_values(size) or depends_on_values(other)) and not _is_decided(size, other):
                unfit = (1 - equal(size, 1)) * (1 - equal(other, 1)) * (1 - equal(size, other))
                inference.require(unfit, 0, 0, "the number of dimensions that meet, and are neither equal nor 1")
                joint = chosen(equal(other, 1), size, other)
                found[place] = named(f"({joint})", joint)
                break
        else:
            found.append(size)
    return found


def _is_decided(left: int, right: int) -> bool:
    """Whether it is known if two sizes are equal."""
    return same(left, right) or not is_symbolic(left - right) or lower(left - right) > 0 or upper(left - right) < 0


def one_of(value: str, allowed: Sequence[str], name: str) -> str:
    """Return VALUE if it is allowed.

    Raises:
        ModelError: it is not.
    """
    if value not in allowed:
        raise ModelError(f"{name} is '{value}'; the specification allows {', '.join(repr(a) for a in allowed)}")
    return value


def required(values: Sequence[T | None]) -> tuple[T, ...]:
    """Return operands none of which the operator lets be left out."""
    found = tuple(v for v in values if v is not None)
    assert len(found) == len(values), "the shape rule has refused this"
    return found


def first_of(values: Sequence[T | None]) -> T:
    """Return the first operand, which no operator lets be left out."""
    assert values[0] is not None, "the shape rule has refused this"
    return values[0]
