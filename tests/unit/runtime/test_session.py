from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.session import Session, Timing
from tests.support.fake_library import WEIGHTS


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_times_runs_on_what_was_fed(library_path: Path, launch: str):
    x = np.ones((2, 3), np.float32)
    with nautilus_cli.load(library_path) as library, Session(library, launch=launch) as session:
        outputs = session.feed({"x": x, "y.1": x, "index": np.array([1, 2])})
        np.testing.assert_array_equal(outputs["sum"], 2 * x + WEIGHTS)
        before = outputs["counters"].sum()
        timing = session.time(samples=7, runs=3, warmup=2)
        after = session.feed({"x": x, "y.1": x, "index": np.array([1, 2])})["counters"].sum()
        launches = 1 if launch == "graph" else 5
        assert after - before == (7 * 3 + 2 + 1) * launches
        assert len(timing.samples_us) == 7 and timing.minimum_us > 0


def test_refuses_no_samples_and_missing_inputs(library_path: Path):
    with nautilus_cli.load(library_path) as library, Session(library) as session:
        with pytest.raises(UsageError, match="samples and runs are at least 1"):
            session.time(samples=0)
        with pytest.raises(UsageError, match="missing input 'x'"):
            session.feed({})


def test_statistics():
    timing = Timing((4.0, 1.0, 3.0, 2.0, 5.0))
    assert (timing.median_us, timing.minimum_us, timing.percentile_us(100), timing.spread) == (3.0, 1.0, 5.0, 2 / 3)
