"""Inputs to verify with: drawn from a seed as their use allows, or read from a file.

Drawn values, by element type and by what `usage` finds:

- floats: standard normal; of a Positive use, their absolute values, plus a little
- indices: any inside the axis
- masks: three quarters ones, and the first along the last dimension always one, so that no row is masked as a whole
- strings: words of a few letters, in both cases
- other booleans: evenly; other integers: the whole range of 8-bit types, else 0 to 9
- a range given by the user outranks all: uniform, and for integers with both ends

Each input has a generator of its own, from the seed and its place, so that one does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import UsageError, nearest
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import F8E8M0, ML_DTYPES, DType, TensorType
from nautilus_cli.numerics.strings import is_text
from nautilus_cli.verify.usage import Free, Indices, Mask, Positive, Use, uses

Range = tuple[float, float]
"""Lowest and highest value."""

_LEAST_POSITIVE = 1e-3
_MASK_ONES = 0.75
_OTHER_INTEGERS = (0, 9)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnInput:
    """An input and how it came about.

    Attributes:
        array: the values.
        description: what they are, in a few words.
    """

    array: np.ndarray
    description: str


def draw(graph: Graph, seed: int, ranges: Mapping[str, Range]) -> dict[str, DrawnInput]:
    """Return a value for each graph input by name.

    Raises:
        UsageError: a range names no input, or fits none of its values.
    """
    types = {name: value.type for name, value in graph.inputs}
    for name in ranges:
        if name not in types:
            raise UsageError(f"there is no input {quoted(name)}", where="--range", hint=nearest(name, types))
    found = uses(graph)
    drawn = {}
    for place, (name, type_) in enumerate(types.items()):
        generator = np.random.default_rng([seed, place])
        if name in graph.texts:
            if name in ranges:
                raise UsageError("strings have no range", where=f"--range {quoted(name)}", hint="Leave it out, or pass --inputs.")
            drawn[name] = DrawnInput(array=_words(type_.static, generator), description="words")
            continue
        drawn[name] = _in_range(name, type_, ranges[name], generator) if name in ranges else _by_use(type_, found[name], generator)
    return drawn


def _by_use(type_: TensorType, use: Use, generator: np.random.Generator) -> DrawnInput:
    """Draw what the use allows."""
    shape, dtype = type_.static, type_.dtype
    match use:
        case Indices(low, high):
            return _integers(shape, dtype, low, high, generator, "indices")
        case Mask():
            return _mask(shape, dtype, generator)
        case Positive() if dtype.is_float:
            values = np.abs(generator.standard_normal(shape)) + _LEAST_POSITIVE
            return DrawnInput(array=values.astype(dtype.numpy), description="normal, positive")
        case Free() | Positive():
            return _free(shape, dtype, generator)


def _free(shape: tuple[int, ...], dtype: DType, generator: np.random.Generator) -> DrawnInput:
    if dtype == F8E8M0:  # which has no sign
        return DrawnInput(array=np.abs(generator.standard_normal(shape)).astype(dtype.numpy), description="normal, positive")
    if dtype.is_float:
        return DrawnInput(array=generator.standard_normal(shape).astype(dtype.numpy), description="normal")
    if dtype.kind == "bool":
        return DrawnInput(array=generator.integers(0, 2, shape).astype(np.bool_), description="booleans")
    if dtype.bits <= 8:
        return _integers(shape, dtype, *dtype.limits, generator, "integers")
    return _integers(shape, dtype, *_OTHER_INTEGERS, generator, "integers")


def _integers(shape: tuple[int, ...], dtype: DType, low: int, high: int, generator: np.random.Generator, what: str) -> DrawnInput:
    values = generator.integers(low, high, shape, dtype=np.int64, endpoint=True)
    return DrawnInput(array=np.asarray(values).astype(dtype.numpy), description=f"{what} {low}..{high}")


def _mask(shape: tuple[int, ...], dtype: DType, generator: np.random.Generator) -> DrawnInput:
    values = np.asarray(generator.random(shape) < _MASK_ONES)
    if values.ndim and values.shape[-1]:
        values[..., 0] = True
    return DrawnInput(array=values.astype(dtype.numpy), description="mask")


_LETTERS = np.array([*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäÉñß 0123456789"])


def _words(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Return strings of 1 to 8 letters, or as few as the last dimension, their code points, leaves room for."""
    *shape_of_strings, width = shape
    found = np.empty(shape_of_strings, object)
    for place in np.ndindex(*shape_of_strings):
        length = min(width, int(generator.integers(1, 8, endpoint=True)))
        found[place] = "".join(generator.choice(_LETTERS, length))
    return found


def _in_range(name: str, type_: TensorType, limits: Range, generator: np.random.Generator) -> DrawnInput:
    """Draw evenly from a range.

    Raises:
        UsageError: no value of the element type lies in it.
    """
    low, high = limits
    dtype, where = type_.dtype, f"--range {quoted(name)}"
    description = f"{low:g}..{high:g}"
    if not low <= high:
        raise UsageError(f"{description} is an empty range", where=where, hint="Write the lower end first.")
    if dtype.is_float:
        return DrawnInput(array=generator.uniform(low, high, type_.static).astype(dtype.numpy), description=f"uniform {description}")
    if low != int(low) or high != int(high):
        raise UsageError(f"{description} has an end that is no integer", where=where, hint=f"The input's element type is {dtype}.")
    bounds = dtype.limits
    if low < bounds[0] or high > bounds[1]:
        raise UsageError(f"{description} does not fit {dtype}", where=where, hint=f"Allowed is {bounds[0]} to {bounds[1]}.")
    return _integers(type_.static, dtype, int(low), int(high), generator, "integers")


def check_given(given: Mapping[str, np.ndarray], graph: Graph, where: str) -> dict[str, np.ndarray]:
    """Return arrays given for the graph's inputs, in the graph's order, after checking them.

    Raises:
        UsageError: a name, element type or shape is not the model's.
    """
    return check_arrays(given, {name: value.type for name, value in graph.inputs}, where, texts=graph.texts)


def without_bound(given: Mapping[str, np.ndarray], constants: Mapping[str, np.ndarray], where: str) -> dict[str, np.ndarray]:
    """Return arrays given for a model's inputs without those that the library has bound, after comparing them with it.

    Raises:
        UsageError: one is given another value than it is bound to.
    """
    for name, constant in constants.items():
        if name in given and not np.array_equal(given[name].ravel(), constant.ravel()):
            raise UsageError(
                f"input {quoted(name)} is {_few(given[name])}; the library has it bound to {_few(constant)}",
                where=where,
                hint="Leave it out, or compile with another --bind.",
            )
    return {name: array for name, array in given.items() if name not in constants}


def _few(array: np.ndarray) -> str:
    """Return the first elements as text."""
    return ", ".join(str(element) for element in array.ravel()[:4]) + (", …" if array.size > 4 else "")


def check_arrays(
    given: Mapping[str, np.ndarray],
    types: Mapping[str, TensorType],
    where: str,
    kind: str = "input",
    texts: frozenset[str] = frozenset(),
) -> dict[str, np.ndarray]:
    """Return arrays given for tensors, in their order, after checking them.

    Args:
        given: arrays by name.
        types: static type of each tensor by name.
        where: the file or option that they come from.
        kind: what the tensors are: inputs or outputs.
        texts: names of those that are strings, whose types are those of their code points.

    Raises:
        UsageError: a name, element type or shape is not the model's.
    """
    for name in given:
        if name not in types:
            raise UsageError(f"the model has no {kind} {quoted(name)}", where=where, hint=nearest(name, types))
    missing = [f"{quoted(name)} ({type_})" for name, type_ in types.items() if name not in given]
    if missing:
        raise UsageError(
            f"lacks the {kind}{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            where=where,
            hint="Pass an .npz file with an array of each name, as numpy.savez(path, **arrays) writes it.",
        )
    return {
        name: _checked_text(given[name], name, type_, where, kind) if name in texts else _checked(given[name], name, type_, where, kind)
        for name, type_ in types.items()
    }


def _checked_text(array: np.ndarray, name: str, type_: TensorType, where: str, kind: str) -> np.ndarray:
    shape = type_.static[:-1]
    if not is_text(array) or array.shape != shape:
        found = f"{'strings' if is_text(array) else array.dtype.name}{list(array.shape)}"
        raise UsageError(
            f"{kind} {quoted(name)} is {found}; the model {'takes' if kind == 'input' else 'gives'} strings{list(shape)}", where=where
        )
    return array.astype(object)


def _checked(array: np.ndarray, name: str, type_: TensorType, where: str, kind: str) -> np.ndarray:
    expected = type_.dtype.numpy
    if type_.dtype.name in ML_DTYPES and array.dtype.itemsize == type_.dtype.bytes and array.dtype.kind in "uV":
        array = array.view(expected)  # .npy files know no type of ml_dtypes: its bits come as unsigned integers or as raw bytes
    if array.dtype != expected or array.shape != type_.static:
        found = f"{array.dtype.name}[{', '.join(str(d) for d in array.shape)}]"
        wanted = f"{expected.name}[{', '.join(str(d) for d in type_.static)}]"
        raise UsageError(
            f"{kind} {quoted(name)} is {found}; the model {'takes' if kind == 'input' else 'gives'} {wanted}",
            where=where,
            hint="Convert it with numpy's astype and reshape; nothing is converted silently.",
        )
    return np.ascontiguousarray(array).reshape(type_.static)
