"""The search for a fast schedule of one problem, by Optuna's tree-structured Parzen estimator (TPE).

The family's own choice is measured first, so that nothing found can be worse. Then TPE proposes points; those that arithmetic refuses
are counted and told to it as bad, without a build; those already measured are skipped. When the sampler no longer finds new points,
untried legal ones are taken in a seeded order until there are none. The storage keeps every trial, so a later search goes on where this
one ended.

Source: Bergstra et al., Algorithms for Hyper-Parameter Optimization (2011), section 4; Falkner, Klein and Hutter, BOHB (2018), section 3.2
(the multivariate form).
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from nautilus_cli.kernels.base import Family
from nautilus_cli.targets.base import Target
from nautilus_cli.tuning.closure import family_digest
from nautilus_cli.tuning.fields import canonical, to_fields, to_schedule
from nautilus_cli.tuning.measurement import Measure, Measurement
from nautilus_cli.tuning.records import OK, Record
from nautilus_cli.tuning.space import Choice, Space, space

MOST_IDLE_PROPOSALS = 64
"""Proposals in a row without a new legal point, after which untried ones are taken instead."""

_STARTUP_TRIALS = 8
"""Random proposals before TPE has enough to go by. Source: Optuna's default is 10; a tuning budget is 8 to 32 trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found.

    Attributes:
        schedule: the fastest that is right; the family's own choice where nothing was measured to be.
        measurement: of it; None where nothing was right.
        baseline: measurement of the family's own choice.
        trials: schedules measured in this search.
        refused: distinct points of this search that arithmetic refused before any build.
        is_exhausted: whether every legal schedule of the space has been measured.
    """

    schedule: Any
    measurement: Measurement | None
    baseline: Measurement
    trials: int
    refused: int
    is_exhausted: bool


def storage(path: Path | None) -> BaseStorage:
    """Return the database of all trials: a journal file that several processes may share, or one in memory."""
    if path is None:
        return InMemoryStorage()
    path.parent.mkdir(parents=True, exist_ok=True)
    return JournalStorage(JournalFileBackend(str(path)))


def search(
    family: Family,
    problem: Any,
    target: Target,
    measure: Measure,
    *,
    trials: int,
    seed: int = 0,
    gpu: str = "",
    versions: Mapping[str, str] | None = None,
    database: BaseStorage | None = None,
    keep: Callable[[Record], None] | None = None,
) -> Found:
    """Measure up to TRIALS schedules of a problem that have not been measured yet.

    Args:
        family: of the kernel.
        problem: to find a schedule for.
        target: to build for.
        measure: builds, checks and times one schedule.
        trials: most schedules to measure, the family's own choice included.
        seed: of the sampler; the same seed, database and measurements give the same search.
        gpu: name of the device.
        versions: of the tools that build, by name.
        database: where trials are kept; in memory by default.
        keep: told each new record as soon as it is there.
    """
    tuner = _Search(family, problem, target, seed, gpu, storage(None) if database is None else database)
    baseline_schedule = family.choose(problem, target)
    count = 0
    for schedule, trial in tuner.proposals(baseline_schedule):
        try:
            measurement = measure(schedule)
        except BaseException:
            trial.abandon()
            raise
        trial.tell(measurement)
        if keep is not None:
            keep(tuner.record(schedule, measurement, versions or {}))
        count += 1
        if count >= trials:
            break
    schedule, best = tuner.best()
    baseline = tuner.measured.get(canonical(to_fields(baseline_schedule)), Measurement(verdict="failed", detail="not measured"))
    return Found(
        schedule=baseline_schedule if schedule is None else schedule,
        measurement=best,
        baseline=baseline,
        trials=count,
        refused=len(tuner.refused),
        is_exhausted=tuner.is_exhausted(),
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """A proposal of the study, to be told how it went."""

    study: optuna.Study
    trial: optuna.Trial
    search: _Search
    schedule: Any

    def tell(self, measurement: Measurement) -> None:
        """Store the measurement; what is not right counts as worse than all that is."""
        for name in ("verdict", "spread_us", "detail"):
            self.trial.set_user_attr(name, getattr(measurement, name))
        if measurement.verdict == OK:
            self.study.tell(self.trial, measurement.median_us)
        else:
            self.study.tell(self.trial, state=TrialState.PRUNED)
        self.search.measured[canonical(to_fields(self.schedule))] = measurement

    def abandon(self) -> None:
        """End the trial without a result."""
        self.study.tell(self.trial, state=TrialState.FAIL)


class _Search:
    """One study, and what is known of its points."""

    def __init__(self, family: Family, problem: Any, target: Target, seed: int, gpu: str, database: BaseStorage) -> None:
        self.family, self.problem, self.target, self.gpu = family, problem, target, gpu
        self.closure = family_digest(family)
        self.space: Space = space(family, problem, target)
        self.refused: set[tuple[Choice, ...]] = set()
        self.measured: dict[str, Measurement] = {}
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(study_name=self._name(), storage=database, load_if_exists=True)
        done = self._recall()
        self.study.sampler = optuna.samplers.TPESampler(multivariate=True, n_startup_trials=_STARTUP_TRIALS, seed=seed + done)
        self._shuffle = random.Random(seed + done)

    def _name(self) -> str:
        """Return the study's name: family, target and a digest of everything its trials are comparable by."""
        parts = (self.family.name, self.closure, self.target.name, self.gpu, to_fields(self.problem), dict(self.space.choices))
        return f"{self.family.name}-{self.target.name}-{hashlib.sha256(canonical(parts).encode()).hexdigest()[:32]}"

    def _recall(self) -> int:
        """Take over what the study has measured before; returns how many trials it has."""
        trials = self.study.get_trials(deepcopy=False)
        for trial in trials:
            schedule, verdict = trial.user_attrs.get("schedule"), trial.user_attrs.get("verdict")
            if schedule is not None and verdict is not None:
                detail, spread = str(trial.user_attrs.get("detail", "")), trial.user_attrs.get("spread_us")
                self.measured[schedule] = Measurement(verdict=verdict, median_us=trial.value, spread_us=spread, detail=detail)
        return len(trials)

    def proposals(self, first: Any) -> Iterator[tuple[Any, _Trial]]:
        """Yield legal schedules that have not been measured, FIRST before all others; the caller tells each trial its result."""
        point = self.space.point(first)
        if self._is_new(first) and self.space.find(point) == first:
            self.study.enqueue_trial(point)
            # What an interrupted search left in the queue comes before it.
            while self._is_new(first) and tuple(point.values()) not in self.refused:
                is_new, schedule, trial = self._propose()
                if is_new:
                    yield schedule, trial
        elif self._is_new(first):  # outside the space: a trial without parameters
            yield first, self._trial(self.study.ask(), first)
        idle = 0
        while idle < MOST_IDLE_PROPOSALS and self.space.choices:
            if self.is_exhausted():
                return
            is_new, schedule, trial = self._propose()
            if is_new:
                idle = 0
                yield schedule, trial
            else:
                idle += 1
        for schedule in self._untried():
            self.study.enqueue_trial(self.space.point(schedule))
            is_new, proposed, trial = self._propose()
            if is_new:
                yield proposed, trial

    def _propose(self) -> tuple[bool, Any, _Trial]:
        """Ask the sampler for a point; one that is refused, or known, is told and ends here."""
        asked = self.study.ask()
        point: dict[str, Any] = {name: asked.suggest_categorical(name, choices) for name, choices in self.space.choices.items()}
        schedule = self.space.find(point)
        trial = self._trial(asked, schedule)
        reasons = ("not in the family's space",) if schedule is None else self.family.violations(self.problem, schedule, self.target)
        if reasons:
            self.refused.add(tuple(point.values()))
            asked.set_user_attr("refused", reasons[0])
            self.study.tell(asked, state=TrialState.PRUNED)
            return False, schedule, trial
        if not self._is_new(schedule):
            self._tell_again(asked, schedule)
            return False, schedule, trial
        return True, schedule, trial

    def _trial(self, asked: optuna.Trial, schedule: Any) -> _Trial:
        if schedule is not None:
            asked.set_user_attr("schedule", canonical(to_fields(schedule)))
        return _Trial(self.study, asked, self, schedule)

    def _tell_again(self, asked: optuna.Trial, schedule: Any) -> None:
        """Give a point that was drawn again the result that it had."""
        known = self.measured[canonical(to_fields(schedule))]
        if known.verdict == OK:
            self.study.tell(asked, known.median_us)
        else:
            self.study.tell(asked, state=TrialState.PRUNED)

    def _is_new(self, schedule: Any) -> bool:
        return canonical(to_fields(schedule)) not in self.measured

    def _untried(self) -> Iterator[Any]:
        """Yield legal schedules that have not been measured, in a seeded order."""
        order = list(self.space.schedules.items())
        self._shuffle.shuffle(order)
        for point, schedule in order:
            if not self._is_new(schedule):
                continue
            if self.family.violations(self.problem, schedule, self.target):
                self.refused.add(point)
                continue
            yield schedule

    def is_exhausted(self) -> bool:
        """Whether no legal schedule is left; only as many measured points as the space has can say so cheaply."""
        if len(self.measured) + len(self.refused) < len(self.space.schedules):
            return False
        return not any(self._is_new(s) and not self.family.violations(self.problem, s, self.target) for s in self.space.schedules.values())

    def best(self) -> tuple[Any, Measurement | None]:
        """Return the fastest right schedule that is legal today, and its measurement."""
        right = ((m.median_us, name, m) for name, m in self.measured.items() if m.verdict == OK and m.median_us is not None)
        for _, name, measurement in sorted(right, key=lambda r: r[:2]):
            schedule = to_schedule(self.family.schedule_type, json.loads(name))
            if not self.family.violations(self.problem, schedule, self.target):
                return schedule, measurement
        return None, None

    def record(self, schedule: Any, measurement: Measurement, versions: Mapping[str, str]) -> Record:
        """Return the record of a measurement."""
        return Record(
            family=self.family.name,
            closure=self.closure,
            target=self.target.name,
            gpu=self.gpu,
            problem=to_fields(self.problem),
            schedule=to_fields(schedule),
            median_us=measurement.median_us,
            spread_us=measurement.spread_us,
            verdict=measurement.verdict,
            versions=dict(versions),
        )
