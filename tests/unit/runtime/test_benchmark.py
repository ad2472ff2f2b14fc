"""measure(): enough samples, enough time, every context, and nothing after an error."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import DeviceError
from nautilus_cli.runtime.benchmark import CHUNK_S, SHORTEST_SAMPLE_US, Load, Measured, host_timer, measure, measure_library
from tests.support import tiny_library


class Machine:
    """A machine whose runs take a given time, on a clock of its own."""

    def __init__(self, run_us: float) -> None:
        self.run_us, self.now_s = run_us, 0.0
        self.calls: list[tuple[int, int]] = []

    def __call__(self, samples: int, runs: int) -> Sequence[float]:
        self.calls.append((samples, runs))
        self.now_s += samples * runs * self.run_us / 1e6
        return [self.run_us] * samples

    def clock(self) -> float:
        return self.now_s


def measured(machine: Machine, **load: float) -> Measured:
    return measure([machine], Load(**load), clock=machine.clock)  # type: ignore[arg-type]


def test_iterations_are_the_least():
    machine = Machine(500.0)
    found = measured(machine, iterations=7, warmup=3, duration_s=0.0)
    assert len(found.samples_us) == 7
    assert found.runs_per_sample == 1
    assert machine.calls[0] == (1, 3)
    assert found.elapsed_s == pytest.approx(7 * 500e-6)
    assert found.throughput_per_s == pytest.approx(2000)


def test_duration_is_the_least_and_hardly_more():
    machine = Machine(500.0)
    found = measured(machine, iterations=7, warmup=0, duration_s=2.0)
    assert len(found.samples_us) == pytest.approx(4000, abs=1)
    assert found.elapsed_s == pytest.approx(2.0, abs=1e-3)
    assert max(samples for samples, _ in machine.calls) == int(CHUNK_S / 500e-6)


def test_short_runs_are_timed_together():
    machine = Machine(30.0)
    found = measured(machine, iterations=5, warmup=0, duration_s=0.0)
    assert found.runs_per_sample * 30.0 >= SHORTEST_SAMPLE_US > (found.runs_per_sample - 1) * 30.0
    assert len(found.samples_us) == 5
    assert found.throughput_per_s == pytest.approx(1e6 / 30)


def test_a_clock_that_stands_still_is_no_trap():
    found = measure([lambda samples, runs: [0.0] * samples], Load(iterations=3, warmup=0, duration_s=0.0), clock=lambda: 0.0)
    assert len(found.samples_us) == 3
    assert found.throughput_per_s == 0


def test_percentiles():
    found = Measured(samples_us=np.arange(1.0, 102.0), runs_per_sample=1, elapsed_s=1.0)
    assert [found.percentile_us(percent) for percent in (0, 50, 99, 100)] == [1, 51, 100, 101]


def test_contexts_run_at_the_same_time():
    together = threading.Barrier(3, timeout=60)

    def timer(samples: int, runs: int) -> list[float]:
        if threading.current_thread() is not threading.main_thread() and samples == 1 and runs == 1:
            together.wait()  # only passed where all three are in it
        return [1000.0] * samples

    looked = []
    found = measure([timer] * 3, Load(iterations=1, warmup=0, duration_s=0.0), lambda: looked.append(threading.get_ident()))
    assert len(found.samples_us) == 3
    assert len(set(looked)) == 1


def test_an_error_stops_all():
    def failing(samples: int, runs: int) -> list[float]:
        raise DeviceError("the device failed")

    def endless(samples: int, runs: int) -> list[float]:
        return [1000.0] * samples

    with pytest.raises(DeviceError, match="the device failed"):
        measure([endless, failing, endless], Load(iterations=1, warmup=1, duration_s=1e9))


def test_the_host_timer_counts_runs():
    runs = []
    times = host_timer(lambda: runs.append(1))(4, 5)
    assert len(runs) == 20
    assert len(times) == 4
    assert min(times) >= 0


@pytest.mark.parametrize("include_transfers", [False, True])
@pytest.mark.parametrize("contexts", [1, 3])
def test_a_library(include_transfers: bool, contexts: int, library_path: Path):
    load = Load(iterations=3, warmup=1, duration_s=0.0, contexts=contexts, include_transfers=include_transfers, has_graph=False)
    with nautilus_cli.load(library_path) as library:
        found = measure_library(library, tiny_library.feeds(), load)
    assert len(found.samples_us) >= 3 * contexts
    assert found.samples_us.min() >= 0
