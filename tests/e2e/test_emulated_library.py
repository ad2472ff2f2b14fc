"""The host code on the real emulator: a library of two hand-written kernels."""

import gc
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.description import EmulatorOptions
from nautilus_cli.runtime.session import Session
from nautilus_cli.targets.registry import target
from tests.support import tiny_library
from tests.support.alive import comes, os_threads, resident_bytes
from tests.support.fake_library import compile_c


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_library.write(tmp_path_factory.mktemp("library") / "libtiny.so", target("emulated"))


@pytest.fixture
def library(path: Path):
    with nautilus_cli.load(path) as library:
        yield library


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_runs(path, launch):
    with nautilus_cli.load(path, launch=launch) as library:
        for seed in range(3):
            inputs = tiny_library.feeds(seed)
            tiny_library.check(library(inputs), inputs)


@pytest.mark.parametrize("order", ["fifo", "reverse", "random"])
def test_takes_the_emulators_options(library, order):
    library.configure_emulator(EmulatorOptions(order=order, seed=3, lazy=True, poison=True, threads=2))
    inputs = tiny_library.feeds()
    tiny_library.check(library(inputs), inputs)


def test_reports_an_index_out_of_range_and_goes_on(library):
    inputs = tiny_library.feeds()
    with pytest.raises(UsageError, match="index outside"):
        library({**inputs, "index": np.array([-1, 6])})
    tiny_library.check(library(inputs), inputs)


def test_threads_run_at_the_same_time(library):
    tiny_library.check_side_by_side(library, runs=20)


def test_times(library):
    with Session(library) as session:
        session.feed(tiny_library.feeds())
        assert session.time(samples=3, runs=2).minimum_us > 0


def test_loading_again_and_again_leaves_nothing(path):
    inputs = tiny_library.feeds()

    def cycle(times: int) -> tuple[set[str], int, int]:
        for _ in range(times):
            with nautilus_cli.load(path) as library:
                library(inputs)
        gc.collect()  # what other tests have left
        return os_threads(), len(os.listdir("/proc/self/fd")), resident_bytes()

    threads, files, before = cycle(50)
    grown = []
    while len(grown) < 5 and (
        not grown or grown[-1] >= 100 * 4096
    ):  # a page for each; the allocator and huge pages grow once, a leak always
        after_threads, after_files, memory = cycle(100)
        assert after_files == files
        assert comes(lambda: not (after_threads - threads) & os_threads(), 60)  # noqa: B023
        grown.append(memory - before)
        before = memory
    assert grown[-1] < 100 * 4096, grown


def test_the_example_runs_on_it(tmp_path, path):
    program = tmp_path / "example"
    source = Path(__file__).with_name("example.c")
    compile_c(program, "-std=c99", "-pedantic", source, path)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["sum[0] = 2", "picked[0] = 2"]
