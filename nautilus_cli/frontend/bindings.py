"""`--bind NAME=TEXT`: the constant that a text means for an input."""

from __future__ import annotations

import re
from math import prod

import numpy as np

from nautilus_cli.errors import UsageError
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import DType, TensorType

_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def bound_array(name: str, text: str, type_: TensorType) -> np.ndarray:
    """Return the contents that TEXT gives an input.

    One number fills the whole tensor; several, separated by commas, are its elements in row-major order.

    Raises:
        UsageError: the text is not of the input's element type, or has the wrong number of elements.
    """
    words = [word.strip() for word in text.strip().removeprefix("[").removesuffix("]").split(",")]
    shape = type_.static
    elements = np.array([_element(word, type_.dtype, name) for word in words], type_.dtype.numpy)
    if len(elements) == 1:
        array = np.full(shape, elements[0])
    elif len(elements) == prod(shape):
        array = elements.reshape(shape)
    else:
        raise UsageError(
            f"{len(elements)} values are given for an input of type {type_}",
            where=f"--bind {quoted(name)}",
            hint=f"Give one value for all elements, or {prod(shape)}.",
        )
    array.flags.writeable = False
    return array


def _element(word: str, dtype: DType, name: str) -> bool | int | float:
    """Return one element."""
    where = f"--bind {quoted(name)}"
    if dtype.kind == "bool":
        if word.lower() not in _BOOLEANS:
            raise UsageError(f"{word!r} is not a boolean", where=where, hint="Allowed are true and false.")
        return _BOOLEANS[word.lower()]
    if dtype.is_float:
        try:
            return float(word)
        except ValueError as error:
            raise UsageError(f"{word!r} is not a number", where=where, hint=f"The input's element type is {dtype}.") from error
    if not re.fullmatch(r"[+-]?\d{1,20}", word, re.ASCII):
        raise UsageError(f"{word!r} is not an integer", where=where, hint=f"The input's element type is {dtype}.")
    value = int(word)
    low, high = dtype.limits
    if not low <= value <= high:
        raise UsageError(f"{value} does not fit {dtype}", where=where, hint=f"Allowed is {low} to {high}.")
    return value
