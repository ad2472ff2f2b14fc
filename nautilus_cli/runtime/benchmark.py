"""Measures how long runs take, over and over until there is enough: of a library, or of whatever else runs a model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session

SHORTEST_SAMPLE_US = 100.0
"""Shorter runs are timed several at a time: an event between two of them costs a microsecond or two."""

CHUNK_S = 0.25
"""Samples are taken in chunks of about so long; between them the stream is empty for a moment."""

_LARGEST_CHUNK = 10_000

Timer = Callable[[int, int], Sequence[float]]
"""Given samples and runs, returns microseconds of one run, once a sample of so many runs back to back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much is measured, and of what.

    Attributes:
        iterations: samples of each context, at least.
        warmup: runs of each context before.
        duration_s: how long is measured, at least.
        contexts: how many run at the same time, each in a thread of its own.
        include_transfers: whether a run copies its inputs from host memory and its outputs back.
        has_graph: whether a run replays a CUDA graph.
    """

    iterations: int = 10
    warmup: int = 10
    duration_s: float = 3.0
    contexts: int = 1
    include_transfers: bool = False
    has_graph: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was measured.

    Attributes:
        samples_us: microseconds of one run, of all contexts.
        runs_per_sample: runs back to back that a sample is the mean of.
        elapsed_s: from the first run timed to the last.
    """

    samples_us: np.ndarray
    runs_per_sample: int
    elapsed_s: float

    @property
    def throughput_per_s(self) -> float:
        """Runs in a second, of all contexts."""
        return len(self.samples_us) * self.runs_per_sample / self.elapsed_s if self.elapsed_s else 0.0

    def percentile_us(self, percent: float) -> float:
        """Return the value below which PERCENT of the samples lie, interpolated."""
        return float(np.percentile(self.samples_us, percent))


def measure_library(library: Library, inputs: Mapping[str, Any], load: Load, between: Callable[[], None] = lambda: None) -> Measured:
    """Measure a library on host arrays.

    Without transfers, times are those of the device between two events on a context's stream; with them, those of the host.

    Args:
        library: loaded.
        inputs: by name; every context has a copy on the device.
        load: how much.
        between: called between chunks, for example to look at the device's clocks.

    Raises:
        NautilusError: a run fails, or an input is not what the model takes.
    """
    with ExitStack() as stack:
        timers = []
        for _ in range(load.contexts):
            session = stack.enter_context(Session(library, launch="graph" if load.has_graph else "stream"))
            run = session.bind(inputs)
            run()
            timers.append(host_timer(run) if load.include_transfers else _device_timer(session))
        return measure(timers, load, between)


def _device_timer(session: Session) -> Timer:
    return lambda samples, runs: session.time(samples=samples, runs=runs, warmup=0).samples_us


def host_timer(run: Callable[[], object]) -> Timer:
    """Return a timer by the host's clock of what waits for its end itself."""

    def timed(samples: int, runs: int) -> list[float]:
        found = []
        for _ in range(samples):
            begin = time.perf_counter_ns()
            for _ in range(runs):
                run()
            found.append((time.perf_counter_ns() - begin) / 1e3 / runs)
        return found

    return timed


def measure(
    timers: Sequence[Timer], load: Load, between: Callable[[], None] = lambda: None, clock: Callable[[], float] = time.perf_counter
) -> Measured:
    """Measure with several timers at the same time, each in a thread of its own.

    Args:
        timers: one for each context.
        load: iterations, warm-up and duration.
        between: called by the first timer's thread between chunks.
        clock: seconds; a test passes its own.

    Raises:
        BaseException: what a timer raises; the others then stop after their chunk.
    """
    begun = threading.Barrier(len(timers))
    stop = threading.Event()
    runs = _runs_per_sample(timers[0], load.warmup)

    def work(number: int) -> tuple[list[float], float, float]:
        timer = timers[number]
        found: list[float] = []
        try:
            if number > 0 and load.warmup:
                timer(1, load.warmup)
            begun.wait()
            begin = now = clock()
            chunk = 1
            while not stop.is_set() and (len(found) < load.iterations or now - begin < load.duration_s):
                found.extend(timer(chunk, runs))
                now = clock()
                if number == 0:
                    between()
                chunk = _chunk(len(found), now - begin, load)
            return found, begin, now
        except BaseException:
            stop.set()
            begun.abort()
            raise

    if len(timers) == 1:
        done = [work(0)]
    else:
        done = _in_threads(work, len(timers), stop)
    elapsed_s = max(end for _, _, end in done) - min(begin for _, begin, _ in done)
    return Measured(samples_us=np.concatenate([found for found, _, _ in done]), runs_per_sample=runs, elapsed_s=elapsed_s)


def _in_threads(
    work: Callable[[int], tuple[list[float], float, float]], count: int, stop: threading.Event
) -> list[tuple[list[float], float, float]]:
    """Run work in threads; an interruption of this one stops them, and the first error that is no consequence of another is raised."""
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(work, number) for number in range(count)]
        try:
            errors = [future.exception() for future in futures]
        except BaseException:
            stop.set()
            raise
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    return [future.result() for future in futures]


def _runs_per_sample(timer: Timer, warmup: int) -> int:
    """Warm up, and return how many runs make a sample that is long enough."""
    if warmup:
        timer(1, warmup)
    one_us = timer(1, 1)[0]
    return 1 if one_us >= SHORTEST_SAMPLE_US else min(ceil(SHORTEST_SAMPLE_US / max(one_us, 1.0)), int(SHORTEST_SAMPLE_US))


def _chunk(samples: int, elapsed_s: float, load: Load) -> int:
    """Return how many samples to take next: about CHUNK_S of them, but no more than are wanted."""
    sample_s = elapsed_s / samples
    wanted = max(load.iterations - samples, ceil((load.duration_s - elapsed_s) / sample_s) if sample_s > 0 else 0, 1)
    return min(wanted, max(1, int(CHUNK_S / sample_s)) if sample_s > 0 else wanted, _LARGEST_CHUNK)
