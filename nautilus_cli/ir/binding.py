"""Symbolic integers inside frozen dataclasses and tuples: finding them, and giving them sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from nautilus_cli.ir.dims import Symbol, Symbolic
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.substitution import substitute

T = TypeVar("T")


def bind(value: T, sizes: Mapping[str, int]) -> T:
    """Return VALUE, a tree of frozen dataclasses and tuples, with dimensions replaced by SIZES; what holds none is the same object."""
    return map_expressions(value, lambda size: substitute(size, sizes))


def map_expressions(value: T, change: Callable[[int], int]) -> T:
    """Return VALUE, a tree of frozen dataclasses and tuples, with each symbolic integer replaced by what CHANGE gives for it."""
    if isinstance(value, Symbolic):
        return change(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        items = tuple(map_expressions(item, change) for item in value)
        changed = any(new is not old for new, old in zip(items, value, strict=True))
        return items if changed else value  # type: ignore[return-value]
    if names := field_names(value):
        old_fields = {name: getattr(value, name) for name in names}
        new_fields = {name: map_expressions(old, change) for name, old in old_fields.items()}
        changes = {name: new for name, new in new_fields.items() if new is not old_fields[name]}
        return replace(value, **changes) if changes else value  # type: ignore[type-var]
    return value


def expressions(value: object) -> Iterator[int]:
    """Yield the symbolic integers in a tree of dataclasses and tuples, in order of the fields; equal ones as often as they stand there."""
    if isinstance(value, Symbolic):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from expressions(item)
    else:
        for name in field_names(value):
            yield from expressions(getattr(value, name))


def is_known(value: object) -> bool:
    """Whether a tree of dataclasses and tuples has no symbolic integers."""
    return next((False for _ in expressions(value)), True)


def dimensions(value: object) -> tuple[Symbol, ...]:
    """Return the dimensions on which a tree of dataclasses and tuples depends, by name."""
    return tuple(sorted({s for e in expressions(value) for s in symbols(e)}, key=lambda s: s.name))


def field_names(value: object) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass; none of anything else."""
    kind = type(value)
    if kind not in _names:
        _names[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
    return _names[kind]


_names: dict[type, tuple[str, ...]] = {}
"""Names of the fields by type: `dataclasses.fields` makes them anew each time."""
