"""The search, with a fake family and a fake bench."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_family import LEGAL, TARGET, Bench, Family, Problem, Schedule, latency_us

from nautilus_cli.errors import InternalError
from nautilus_cli.tuning import study
from nautilus_cli.tuning.measurement import Measurement
from nautilus_cli.tuning.records import Record, append, choice, load
from nautilus_cli.tuning.study import Found, search, storage

PROBLEM = Problem(n=16)
BEST = Schedule(tile=16, is_split=True, kind="b", vector=4)


def run(bench: Bench, trials: int, seed: int = 0, family: Family | None = None, **options: object) -> Found:
    return search(Family() if family is None else family, PROBLEM, TARGET, bench, trials=trials, seed=seed, **options)


def test_the_familys_own_choice_is_measured_first():
    bench = Bench()
    found = run(bench, 1)
    assert bench.asked == [Family().analytic]
    assert found.schedule == Family().analytic
    assert found.baseline.median_us == latency_us(Family().analytic)
    assert found.trials == 1
    assert not found.is_exhausted


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_never_builds_what_is_illegal_nor_anything_twice(seed: int):
    bench = Bench()
    found = run(bench, 12, seed)
    assert len(bench.asked) == found.trials == 12
    assert len(set(bench.asked)) == 12
    assert not [s for s in bench.asked if Family().violations(PROBLEM, s, TARGET)]
    assert found.refused > 0


def test_the_whole_space_is_measured_before_it_gives_up():
    bench = Bench()
    found = run(bench, 1000)
    assert found.trials == LEGAL
    assert found.is_exhausted
    assert found.schedule == BEST
    assert found.measurement is not None
    assert found.measurement.median_us == latency_us(BEST)


def test_untried_schedules_are_taken_when_the_sampler_repeats_itself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(study, "MOST_IDLE_PROPOSALS", 0)
    bench = Bench()
    found = run(bench, 1000)
    assert bench.asked[0] == Family().analytic
    assert found.trials == LEGAL
    assert found.is_exhausted


def test_it_learns():
    """In a space of 228 legal points it comes near the optimum in 40 trials, for each of several seeds."""
    family = Family(tiles=tuple(range(1, 60)))
    problem = Problem(n=57)
    for seed in range(4):
        found = search(family, problem, TARGET, Bench(), trials=40, seed=seed)
        assert found.measurement is not None
        assert found.measurement.median_us is not None
        assert found.measurement.median_us <= latency_us(BEST) + 2


def test_the_same_seed_searches_alike():
    first, again, other = Bench(), Bench(), Bench()
    run(first, 10, seed=3)
    run(again, 10, seed=3)
    run(other, 10, seed=4)
    assert first.asked == again.asked
    assert first.asked != other.asked


def test_wrong_and_broken_schedules_are_not_chosen():
    found = run(Bench(wrong=("b",), broken=(16,)), 1000)
    assert found.trials == LEGAL
    assert found.schedule.kind == "a"
    assert found.schedule.tile == 8


def test_where_nothing_is_right_the_familys_own_choice_stays():
    found = run(Bench(wrong=("a", "b")), 1000)
    assert found.schedule == Family().analytic
    assert found.measurement is None
    assert found.baseline.verdict == "mismatch"


def test_a_choice_outside_the_space_is_measured_too():
    outside = Schedule(tile=3, is_split=False, kind="a", vector=1, stages=7)
    bench = Bench()
    found = run(bench, 3, family=Family(analytic=outside))
    assert bench.asked[0] == outside
    assert found.baseline.median_us == latency_us(outside)


def test_a_space_of_one_schedule_is_exhausted_by_it():
    class Single(Family):
        def schedules(self, problem, target):
            yield self.analytic

    found = run(Bench(), 5, family=Single())
    assert found.trials == 1
    assert found.is_exhausted


def test_a_later_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(study, "MOST_IDLE_PROPOSALS", 4)  # each is a write to the journal
    path = tmp_path / "tuning" / "studies.journal"
    first, second = Bench(), Bench()
    run(first, 6, database=storage(path))
    found = run(second, 6, database=storage(path))
    assert not set(first.asked) & set(second.asked)
    assert found.baseline.median_us == latency_us(Family().analytic)
    everything = Bench()
    last = run(everything, 1000, database=storage(path))
    assert last.trials == LEGAL - 12
    assert last.schedule == BEST
    assert run(Bench(), 5, database=storage(path)).trials == 0


def test_problems_have_studies_of_their_own(tmp_path: Path):
    database = storage(tmp_path / "studies.journal")
    run(Bench(), 3, database=database)
    bench = Bench()
    search(Family(), Problem(n=8), TARGET, bench, trials=1, database=database)
    search(Family(), PROBLEM, TARGET, bench, trials=1, database=database, gpu="another")
    assert bench.asked == [Family().analytic] * 2


def test_finished_trials_survive_a_device_that_fails(tmp_path: Path):
    class Fails(Bench):
        def __call__(self, schedule: Schedule) -> Measurement:
            if len(self.asked) == 3:
                raise RuntimeError("the device is gone")
            return super().__call__(schedule)

    path = tmp_path / "studies.journal"
    kept: list[Record] = []
    first = Fails()
    with pytest.raises(RuntimeError):
        run(first, 10, database=storage(path), keep=kept.append)
    assert len(kept) == 3
    second = Bench()
    run(second, 3, database=storage(path))
    assert not set(first.asked) & set(second.asked)


def test_records_lead_compilation_to_what_was_found(tmp_path: Path):
    path = tmp_path / "records.jsonl"
    found = run(Bench(), 1000, gpu="Fake 1", versions={"nvrtc": "13.0"}, keep=lambda record: append(path, [record]))
    loaded = load(path)
    assert len(loaded.records) == LEGAL
    assert loaded.records[0].versions == {"nvrtc": "13.0"}
    assert choice(loaded, gpu="Fake 1")(Family(), PROBLEM, TARGET) == found.schedule == BEST


def test_a_measurement_is_right_and_timed_or_neither():
    with pytest.raises(InternalError):
        Measurement(verdict="ok")
    with pytest.raises(InternalError):
        Measurement(verdict="failed", median_us=1.0)
