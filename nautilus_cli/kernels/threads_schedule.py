"""The schedule of kernels that only their number of threads tunes: what those of a block do follows from the problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nautilus_cli.kernels.limits import MOST_THREADS, WARP_THREADS


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How many threads share the work of a block.

    Attributes:
        threads: of a block: whole warps, or one thread alone.
    """

    threads: int


def violations(schedule: Schedule) -> tuple[str, ...]:
    """Return why no block has such threads; empty where one can."""
    if schedule.threads == 1 or (schedule.threads % WARP_THREADS == 0 and WARP_THREADS <= schedule.threads <= MOST_THREADS):
        return ()
    return (f"{schedule.threads} threads a block; one, or whole warps up to {MOST_THREADS}, are possible",)


def schedules() -> Iterator[Schedule]:
    """Yield the whole search space: powers of two."""
    threads = WARP_THREADS
    while threads <= MOST_THREADS:
        yield Schedule(threads=threads)
        threads *= 2
