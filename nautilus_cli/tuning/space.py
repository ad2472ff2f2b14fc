"""A family's schedules as categorical fields that a sampler can choose.

The space is what `Family.schedules` yields. Fields that never vary are left out, and so are those that follow from the others (a vector
width that is always the longest that divides its extent): what remains determines a schedule, and is what a sampler draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from nautilus_cli.kernels.base import Family
from nautilus_cli.targets.base import Target
from nautilus_cli.tuning.fields import to_fields

Choice = bool | int | str
"""A field's value as samplers store it."""


@dataclass(frozen=True, slots=True)
class Space:
    """The schedules of one problem.

    Attributes:
        choices: values of each field that is drawn, by name, in ascending order.
        schedules: by the values of those fields, in the order of `choices`. Not every combination need be there.
    """

    choices: Mapping[str, tuple[Choice, ...]]
    schedules: Mapping[tuple[Choice, ...], Any]

    def point(self, schedule: Any) -> dict[str, Choice]:
        """Return the drawn fields of a schedule."""
        values = to_fields(schedule)
        return {name: values[name] for name in self.choices}

    def find(self, point: Mapping[str, Choice]) -> Any | None:
        """Return the schedule at a point, or None where the space has a gap."""
        return self.schedules.get(tuple(point[name] for name in self.choices))


def space(family: Family, problem: Any, target: Target) -> Space:
    """Return the search space of a problem."""
    schedules = list(dict.fromkeys(family.schedules(problem, target)))
    names = [f.name for f in fields(family.schedule_type)]
    columns = {name: [to_fields_value(schedule, name) for schedule in schedules] for name in names}
    drawn = [name for name in names if len(set(columns[name])) > 1]
    for name in reversed(drawn.copy()):  # later fields tend to follow from earlier ones
        rest = [columns[other] for other in drawn if other != name]
        if rest and len(set(zip(*rest, strict=True))) == len(schedules):
            drawn.remove(name)
    choices = {name: tuple(sorted(set(columns[name]), key=lambda v: (str(type(v)), v))) for name in drawn}
    keys = zip(*(columns[name] for name in drawn), strict=True) if drawn else [()] * len(schedules)
    return Space(choices, dict(zip(keys, schedules, strict=True)))


def to_fields_value(schedule: Any, name: str) -> Choice:
    """Return one field of a schedule as samplers store it."""
    value = getattr(schedule, name)
    return value if isinstance(value, (bool, int, str)) else str(value)
