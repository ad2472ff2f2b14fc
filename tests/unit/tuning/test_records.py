"""Records: written, read, merged, and chosen by."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_family import TARGET, Family, Problem, Schedule

from nautilus_cli.errors import FileError
from nautilus_cli.kernels.registry import families
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning import records
from nautilus_cli.tuning.closure import family_digest
from nautilus_cli.tuning.fields import to_fields
from nautilus_cli.tuning.records import Record, append, choice, load, merge, recorded_choice, records_path

PROBLEM = Problem(n=16)
FAST = Schedule(tile=16, is_split=True, kind="b", vector=4)


def record(**changes: Any) -> Record:
    base = Record(
        family="fake",
        closure=family_digest(Family()),
        target="fake",
        gpu="Fake 1",
        problem=to_fields(PROBLEM),
        schedule=to_fields(FAST),
        median_us=3.0,
        spread_us=0.1,
        verdict="ok",
        versions={"nvrtc": "13"},
    )
    return replace(base, **changes)


def chosen(path: Path, problem: Problem = PROBLEM, gpu: str | None = None) -> Any:
    return choice(load(path), gpu=gpu)(Family(), problem, TARGET)


def test_records_come_back(tmp_path: Path):
    path = tmp_path / "tuning" / "records.jsonl"
    written = [record(), record(median_us=None, spread_us=None, verdict="failed")]
    append(path, written[:1])
    append(path, written[1:])
    assert load(path).records == tuple(written)
    assert load(path).notes == ()


def test_no_file_no_records(tmp_path: Path):
    assert load(tmp_path / "none").records == ()
    assert chosen(tmp_path / "none") == Family().analytic


def test_the_fastest_right_schedule_is_chosen(tmp_path: Path):
    path = tmp_path / "r"
    slow = Schedule(tile=4, is_split=False, kind="a", vector=4)
    wrong = Schedule(tile=2, is_split=False, kind="a", vector=2)
    append(
        path,
        [record(schedule=to_fields(slow), median_us=9.0), record(), record(schedule=to_fields(wrong), median_us=1.0, verdict="mismatch")],
    )
    assert chosen(path) == FAST


def test_the_last_measurement_of_a_schedule_counts(tmp_path: Path):
    path = tmp_path / "r"
    other = Schedule(tile=4, is_split=False, kind="a", vector=4)
    append(path, [record(median_us=1.0), record(schedule=to_fields(other), median_us=2.0), record(median_us=5.0)])
    assert chosen(path) == other


@pytest.mark.parametrize(
    "change",
    [
        {"family": "other"},
        {"target": "sm_80"},
        {"closure": "0" * 32},
        {"problem": {"n": 17, "storage": "f32"}},
        {"problem": {"n": 16, "storage": "f16"}},
    ],
)
def test_records_of_something_else_do_not_count(change: dict[str, Any], tmp_path: Path):
    append(tmp_path / "r", [record(**change)])
    assert chosen(tmp_path / "r") == Family().analytic


def test_records_of_another_gpu_count_only_where_none_is_named(tmp_path: Path):
    append(tmp_path / "r", [record()])
    assert chosen(tmp_path / "r", gpu="Fake 2") == Family().analytic
    assert chosen(tmp_path / "r", gpu="Fake 1") == FAST
    assert chosen(tmp_path / "r") == FAST


def test_a_schedule_that_is_no_longer_legal_is_noted_and_not_chosen(tmp_path: Path):
    path = tmp_path / "r"
    append(path, [record(schedule=to_fields(replace(FAST, kind="c")), median_us=1.0), record(schedule={"tile": 1}, median_us=2.0)])
    choose = choice(load(path))
    assert choose(Family(), PROBLEM, TARGET) == Family().analytic
    assert len(choose.notes) == 2
    assert "kind c is not written" in choose.notes[0]
    assert "fields are not those" in choose.notes[1]
    assert not choose.hits


def test_what_was_chosen_by_a_record_is_known(tmp_path: Path):
    append(tmp_path / "r", [record()])
    choose = choice(load(tmp_path / "r"))
    choose(Family(), PROBLEM, TARGET)
    choose(Family(), Problem(n=8), TARGET)
    assert choose.hits == {("fake", '{"n":16,"storage":"f32"}')}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "no JSON"),
        ("\xff\xfe", "no JSON"),
        ("[1]", "no object"),
        ("{}", "schema"),
        ('{"schema":1}', "lacks fields"),
        (record().to_line().replace('"schema":1', '"schema":99'), "schema"),
        (record().to_line().replace("3.0", "-3.0"), "median_us is no time"),
        (record().to_line().replace("3.0", "NaN"), "median_us is no time"),
        (record().to_line().replace("3.0", "null"), "has no time"),
        (record().to_line().replace('"gpu":"Fake 1"', '"gpu":7'), "gpu is no text"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_damaged_lines_are_reported_and_skipped(line: str, message: str, tmp_path: Path):
    path = tmp_path / "r"
    path.write_bytes(
        record().to_line().encode() + b"\n" + line.encode("latin-1") + b"\n\n" + record(median_us=4.0).to_line().encode() + b"\n"
    )
    loaded = load(path)
    assert [r.median_us for r in loaded.records] == [3.0, 4.0]
    (note,) = loaded.notes
    assert f"{path}:2: " in note
    assert message in note
    assert choice(loaded).notes == [note]


def test_a_line_torn_by_a_crash_does_not_swallow_the_next(tmp_path: Path):
    path = tmp_path / "r"
    path.write_text(record().to_line() + "\n" + record().to_line()[:40])
    append(path, [record(median_us=4.0)])
    loaded = load(path)
    assert [r.median_us for r in loaded.records] == [3.0, 4.0]
    assert len(loaded.notes) == 1


def _append_many(path: Path, writer: int) -> None:
    for number in range(50):
        append(path, [record(median_us=float(writer), spread_us=float(number), gpu="x" * 3000)])


def test_processes_may_append_at_once(tmp_path: Path):
    path = tmp_path / "r"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_append_many, args=(path, writer)) for writer in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    loaded = load(path)
    assert not loaded.notes
    assert len(loaded.records) == 200


def test_merging_adds_what_is_missing_once(tmp_path: Path):
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    append(mine, [record()])
    append(theirs, [record(), record(gpu="Fake 2"), record(gpu="Fake 2")])
    merge(mine, theirs)
    merge(mine, theirs)
    assert [r.gpu for r in load(mine).records] == ["Fake 1", "Fake 2"]


def test_the_cache_holds_them(tmp_path: Path):
    store = Cache(tmp_path)
    append(records_path(store), [record()])
    assert recorded_choice(store, TARGET)(Family(), PROBLEM, TARGET) == FAST
    other = replace(TARGET, name="other")
    assert recorded_choice(store, other)(Family(), PROBLEM, other) == Family().analytic


def test_unreadable_and_unwritable_files(tmp_path: Path):
    with pytest.raises(FileError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="NAUTILUS_CACHE_DIR"):
        append(tmp_path / "file" / "records.jsonl", [record()])


def test_reading_imports_no_optuna():
    code = "import sys, nautilus_cli.tuning.records; sys.exit('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_family_has_a_digest_of_its_own():
    digests = {family_digest(family) for family in families().values()}
    assert len(digests) == len(families())


def test_a_changed_header_retires_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    append(tmp_path / "r", [record()])
    monkeypatch.setattr(records, "family_digest", lambda family: "changed")
    assert chosen(tmp_path / "r") == Family().analytic
