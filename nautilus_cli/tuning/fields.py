"""Problems and schedules as JSON types, and schedules back again."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from nautilus_cli.ir.types import DTYPES, DType


def to_fields(data: Any) -> dict[str, Any]:
    """Return the fields of a problem or schedule as JSON types; an element type becomes its name.

    Raises:
        TypeError: a field has no JSON form.
    """
    return {f.name: _plain(getattr(data, f.name), f.name) for f in fields(data)}


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, DType):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(v, where) for v in value]
    if is_dataclass(value):
        return to_fields(value)
    raise TypeError(f"field '{where}' holds a {type(value).__name__}, which records cannot")


def canonical(values: Any) -> str:
    """Return one text for equal fields."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def to_schedule(schedule_type: type, values: dict[str, Any]) -> Any:
    """Return the schedule with these fields.

    Raises:
        ValueError: a field is missing, unknown, or of another type: the record is of another version.
    """
    hints = get_type_hints(schedule_type)
    names = {f.name for f in fields(schedule_type)}
    if set(values) != names:
        odd = ", ".join(sorted(set(values) ^ names))
        raise ValueError(f"its fields are not those of the schedule: {odd}")
    return schedule_type(**{name: _typed(values[name], hints[name], name) for name in values})


def _typed(value: Any, hint: Any, name: str) -> Any:
    if hint is DType:
        if value not in DTYPES:
            raise ValueError(f"{name} is {value!r}, which is no element type")
        return DTYPES[value]
    # A bool is an int to isinstance, so the types must be the same.
    if hint in (bool, int, str, float) and type(value) is not hint:
        raise ValueError(f"{name} is {value!r}, which is no {hint.__name__}")
    return tuple(value) if isinstance(value, list) else value
