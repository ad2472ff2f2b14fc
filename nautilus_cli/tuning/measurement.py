"""What the search asks of whoever builds and runs a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from nautilus_cli.errors import InternalError


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How one schedule did.

    Attributes:
        verdict: `ok`, `mismatch` (wrong results) or `failed` (did not build or run).
        median_us: median latency; None unless ok.
        spread_us: interquartile range of the latency; None unless ok.
        detail: why, unless ok.
    """

    verdict: str
    median_us: float | None = None
    spread_us: float | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if (self.verdict == "ok") != (self.median_us is not None):
            raise InternalError(f"a measurement is '{self.verdict}' with a latency of {self.median_us}", hint="Only what is right has one.")


class Measure(Protocol):
    """Builds a schedule for the problem in hand, checks its results against the family's own choice, and times it.

    It is called for one schedule at a time, so that timings do not disturb each other, and returns a verdict instead of raising when
    the schedule is at fault. What it raises (a device that failed, an interrupt) ends the search; finished trials are kept.
    """

    def __call__(self, schedule: Any) -> Measurement:
        """Return how the schedule did."""
        ...
