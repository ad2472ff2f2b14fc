"""What was measured, as JSON lines: all that compilation reads.

A line is one measurement. Its key is the family and the digest of its device code, the target, the GPU's name and the problem; so a changed
header retires the lines of its family, and lines of several machines may be put into one file. Lines that cannot be read are reported and
skipped. Writers append whole lines under a lock: several processes may tune at once.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any

from nautilus_cli.errors import FileError
from nautilus_cli.kernels.base import Family
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.closure import family_digest
from nautilus_cli.tuning.fields import canonical, to_fields, to_schedule

SCHEMA = 1
"""Of a line; lines of another schema are skipped."""

OK = "ok"
"""Verdict of a schedule whose results are right; only these are chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement of one schedule.

    Attributes:
        family: name of the kernel family.
        closure: digest of the family's device code.
        target: name of the target.
        gpu: name of the device it was measured on.
        problem: fields of the problem.
        schedule: fields of the schedule.
        median_us: median latency; None where there is none.
        spread_us: interquartile range of the latency; None where there is none.
        verdict: `ok`, `mismatch` (wrong results) or `failed` (did not build or run).
        versions: of the tools that built it, by name.
    """

    family: str
    closure: str
    target: str
    gpu: str
    problem: dict[str, Any]
    schedule: dict[str, Any]
    median_us: float | None
    spread_us: float | None
    verdict: str
    versions: dict[str, str] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return the record as a line of JSON without its end."""
        return canonical({"schema": SCHEMA, **asdict(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The records of a file.

    Attributes:
        records: in order.
        notes: sentences on the lines that were skipped.
    """

    records: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()


def records_path(store: Cache) -> Path:
    """Return where the records lie in the cache."""
    return store.folder / "tuning" / "records.jsonl"


def load(path: Path) -> Loaded:
    """Return the records of a file; none where there is no file.

    Raises:
        FileError: the file is there but cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Loaded()
    except OSError as error:
        raise FileError(
            f"cannot be read: {error.strerror or error}", where=str(path), hint="Set NAUTILUS_CACHE_DIR to a folder that can be."
        ) from error
    records, notes = [], []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(_parse(line))
        except ValueError as error:
            notes.append(f"{path}:{number}: skipped a tuning record: {error}.")
    return Loaded(records=tuple(records), notes=tuple(notes))


def append(path: Path, records: Iterable[Record]) -> None:
    """Add records to a file, all or none, after whatever other processes add.

    Raises:
        FileError: the file cannot be written.
    """
    lines = [record.to_line() for record in records]
    if not lines:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # ends with the file
            size = file.seek(0, os.SEEK_END)
            is_torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
            file.write((("\n" if is_torn else "") + "\n".join(lines) + "\n").encode())
    except OSError as error:
        raise FileError(
            f"cannot be written: {error.strerror or error}", where=str(path), hint="Set NAUTILUS_CACHE_DIR to a folder that can be."
        ) from error


def merge(path: Path, other: Path) -> Loaded:
    """Add to PATH the records of OTHER that it lacks; returns what was read of OTHER.

    Raises:
        FileError: a file cannot be read or written.
    """
    known = {record.to_line() for record in load(path).records}
    found = load(other)
    append(path, {line: record for record in found.records if (line := record.to_line()) not in known}.values())
    return found


def _parse(line: bytes) -> Record:
    """Return the record of a line.

    Raises:
        ValueError: it is none; says why.
    """
    try:
        values = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("it is no JSON") from error
    if not isinstance(values, dict):
        raise ValueError("it is no object")
    if values.pop("schema", None) != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    if set(values) != {f.name for f in fields(Record)}:
        raise ValueError("it lacks fields, or has others")
    for name in ("family", "closure", "target", "gpu", "verdict"):
        if not isinstance(values[name], str):
            raise ValueError(f"{name} is no text")
    for name in ("problem", "schedule", "versions"):
        if not isinstance(values[name], dict):
            raise ValueError(f"{name} is no object")
    for name in ("median_us", "spread_us"):
        value = values[name]
        if value is not None and not (type(value) in (int, float) and isfinite(value) and value >= 0):
            raise ValueError(f"{name} is no time")
    if values["verdict"] == OK and values["median_us"] is None:
        raise ValueError("it has no time")
    return Record(**values)


@dataclass(slots=True)
class RecordedChoice:
    """Chooses the fastest recorded schedule that is right and still legal, else the family's own choice.

    Attributes:
        notes: sentences on records that could not be used.
        hits: problems for which a record was chosen, as (family, problem's fields in one text).
    """

    notes: list[str]
    hits: set[tuple[str, str]]
    _records: Mapping[tuple[str, str, str], list[Record]]
    _closures: dict[str, str]

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return a legal schedule; see `kernels.base.Choose`."""
        name = canonical(to_fields(problem)) if self._records else ""
        for record in self._records.get((family.name, target.name, name), ()):
            if record.closure != self._closure(family):
                continue
            try:
                schedule = to_schedule(family.schedule_type, record.schedule)
            except ValueError as error:
                self._note(f"a tuning record of {family.name} is not used: {error}.")
                continue
            reasons = family.violations(problem, schedule, target)
            if reasons:
                self._note(f"a tuning record of {family.name} is not used: {reasons[0]}.")
                continue
            self.hits.add((family.name, name))
            return schedule
        return family.choose(problem, target)

    def _closure(self, family: Family) -> str:
        if family.name not in self._closures:
            self._closures[family.name] = family_digest(family)
        return self._closures[family.name]

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def choice(loaded: Loaded, *, gpu: str | None = None) -> RecordedChoice:
    """Return the choice by these records.

    Args:
        loaded: the records.
        gpu: name of the device to compile for; None takes the records of any device of the target.
    """
    grouped: dict[tuple[str, str, str], list[Record]] = {}
    for record in loaded.records:
        if record.verdict == OK and gpu in (None, record.gpu):
            grouped.setdefault((record.family, record.target, canonical(record.problem)), []).append(record)
    for records in grouped.values():
        # The last measurement of a schedule counts; then the fastest schedule, and the text decides between equals.
        latest = {canonical(record.schedule): record for record in records}
        records[:] = sorted(latest.values(), key=lambda r: (r.median_us or 0.0, canonical(r.schedule)))
    return RecordedChoice(notes=list(loaded.notes), hits=set(), _records=grouped, _closures={})


def recorded_choice(store: Cache, target: Target, *, gpu: str | None = None) -> RecordedChoice:
    """Return the choice by the cache's records for a target.

    Raises:
        FileError: the records cannot be read.
    """
    loaded = load(records_path(store))
    mine = tuple(record for record in loaded.records if record.target == target.name)
    return choice(Loaded(records=mine, notes=loaded.notes), gpu=gpu)
