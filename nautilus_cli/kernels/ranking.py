"""The choice among candidates: the legal one of least estimated time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Schedule = TypeVar("Schedule")


def fastest(
    candidates: Iterable[Schedule],
    estimated: Callable[[Schedule], float],
    violations: Callable[[Schedule], tuple[str, ...]],
    *,
    otherwise: Schedule,
) -> Schedule:
    """Return the candidate of least estimated time, the first of those that take as long, among the legal ones.

    Legality is asked in order of time, since it costs more than an estimate.

    Args:
        candidates: schedules, legal or not.
        estimated: time of one; any unit.
        violations: why one is not legal; empty where it is.
        otherwise: what is returned where none is legal.
    """
    return next((schedule for schedule in sorted(candidates, key=estimated) if not violations(schedule)), otherwise)
