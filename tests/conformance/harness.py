"""Runs cases in two phases: plan all, compile the union of their kernels, then assemble and run each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nautilus_cli.codegen.render import Rendered
from nautilus_cli.errors import InternalError, NautilusError
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.pool import default_jobs
from tests.conformance import steps, workers
from tests.conformance.building import CubinBuild, EmulatedBuild
from tests.conformance.cases import Case, hash_of
from tests.conformance.comparing import mismatch

PLAN_TIMEOUT_S = 600.0
RUN_TIMEOUT_S = 600.0
"""Of one case. The light networks take longest; a case of one operator takes milliseconds."""

STATUSES = ("passed", "refused", "wrong", "failed", "broken")
"""passed; refused: Nautilus says why it does not compile; wrong: other numbers; failed: it compiles and does not run; broken: anything
else, such as an exception that is not meant for users, a kernel that no compiler takes, a crash, a hang."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a case.

    Attributes:
        status: one of STATUSES.
        message: what was wrong.
    """

    status: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What became of all.

    Attributes:
        outcomes: by key of the case.
        kernels: distinct kernels.
        units: translation units; kernels where each is one.
        seconds: of each phase.
    """

    outcomes: Mapping[str, Outcome]
    kernels: int
    units: int
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Kernels:
    """What planning a case gives, in another process."""

    kernels: tuple[Rendered, ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """What the processes share. Where they are forked, none of it is sent."""

    cases: Mapping[str, Case]
    target: Target
    store: Cache
    folder: Path

    @contextmanager
    def place(self) -> Iterator[Path]:
        """Yield an empty folder."""
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            yield Path(name)

    def plan(self, key: str) -> _Kernels | Outcome:
        """Plan a case."""
        with self.place() as place:
            try:
                planned = steps.plan_case(self.cases[key], self.target, self.store, place)
            except NautilusError as error:
                return Outcome(status="refused" if error.exit_code != InternalError.exit_code else "broken", message=str(error))
            return _Kernels(planned.kernels)

    def run(self, task: tuple[str, str]) -> Outcome:
        """Assemble a case with the image of a name, and run it."""
        with self.place() as place:
            return self._run(task[0], self._assemble(*task, place))

    def keep(self, task: tuple[str, str]) -> tuple[str, bytes]:
        """Assemble a case, and return its library."""
        with self.place() as place:
            return task[0], self._assemble(*task, place).read_bytes()

    def replay(self, key: str) -> Outcome:
        """Run a case whose library is there already."""
        return self._run(key, self.folder / f"{hash_of(key):016x}.so")

    def _assemble(self, key: str, image: str, place: Path) -> Path:
        """Return the library of a case. It is planned again, which takes less than to bring the plan here."""
        planned = steps.plan_case(self.cases[key], self.target, self.store, place)
        symbols = [kernel.symbol for kernel in planned.kernels]
        if self.target.is_emulated:
            images = [steps.image(symbols, (self.folder / image).read_bytes(), self.target)]
        else:
            images = [steps.image([symbol], (self.folder / f"{symbol}.cubin").read_bytes(), self.target) for symbol in symbols]
        path = place / "libmodel.so"
        steps.write_library(planned, self.target, images, self.store, path)
        return path

    def _run(self, key: str, library: Path) -> Outcome:
        case = self.cases[key]
        try:
            results = steps.run_library(case, library, is_emulated=self.target.is_emulated)
        except NautilusError as error:
            return Outcome(status="failed", message=str(error))
        for data, found in zip(case.data_sets, results, strict=True):
            wrong = mismatch(data.outputs, found, rtol=case.rtol, atol=case.atol)
            if wrong:
                return Outcome(status="wrong", message=wrong)
        return Outcome(status="passed")


class _Bench:
    """One run: its folder, its processes, how long its phases took, what became of the cases."""

    def __init__(self, cases: Sequence[Case], target: Target, store: Cache, jobs: int | None, progress: Progress, folder: Path) -> None:
        self.jobs = jobs or default_jobs()
        self.work = _Work({case.key: case for case in cases}, target, store, folder)
        self.progress = progress
        self.outcomes: dict[str, Outcome] = {}
        self.seconds: dict[str, float] = {}
        self.kernels = self.units = 0

    @contextmanager
    def phase(self, name: str, what: str) -> Iterator[None]:
        """Measure a phase."""
        self.progress(what)
        begin = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - begin

    def each(self, work: Callable[[Any], Any], tasks: Sequence[Any], timeout_s: float) -> Iterator[tuple[Any, Any]]:
        """Do tasks in other processes."""
        is_forked = self.work.target.is_emulated
        return workers.each(work, tasks, processes=self.jobs, timeout_s=timeout_s, is_forked=is_forked)

    def tasks(self) -> list[tuple[str, str]]:
        """Plan all and compile their kernels; return (case, name of its image) of those that can be assembled."""
        keys = list(self.work.cases)
        planned: dict[str, tuple[Rendered, ...]] = {}
        with self.phase("plan", f"planning {len(keys)} cases"):
            for key, result in self.each(self.work.plan, keys, PLAN_TIMEOUT_S):
                if isinstance(result, _Kernels):
                    planned[key] = result.kernels
                else:
                    self.outcomes[key] = _outcome(result)
        planned = {key: planned[key] for key in keys if key in planned}  # in order, whichever ended first
        distinct = {kernel.symbol: kernel for kernels in planned.values() for kernel in kernels}
        self.kernels = len(distinct)
        with self.phase("compile", f"compiling {len(distinct)} kernels of {len(planned)} cases"):
            refused, tasks, self.units = self._build(planned, list(distinct.values()))
        for key, kernels in planned.items():
            bad = next((kernel.symbol for kernel in kernels if kernel.symbol in refused), None)
            if bad is not None:
                self.outcomes[key] = Outcome(status="broken", message=f"kernel {bad}: {refused[bad]}")
        return [task for task in tasks if task[0] not in self.outcomes]

    def _build(
        self, planned: Mapping[str, Sequence[Rendered]], kernels: Sequence[Rendered]
    ) -> tuple[Mapping[str, str], list[tuple[str, str]], int]:
        """Compile; return what was refused, the tasks, and the number of units."""
        work = self.work
        steps.host_library(work.store)
        if not work.target.is_emulated:
            cubins = CubinBuild(kernels, work.target, work.store, self.jobs, work.folder)
            return cubins.refused, [(key, "") for key in planned], len(kernels)
        build = EmulatedBuild(kernels, work.store, self.jobs)
        good = {key: [k.symbol for k in own] for key, own in planned.items() if not any(k.symbol in build.refused for k in own)}
        tasks = []
        for number, keys in enumerate(build.groups(good)):
            name = f"image{number}.so"
            (work.folder / name).write_bytes(build.image(symbol for key in keys for symbol in good[key]))
            tasks += [(key, name) for key in keys]
        return build.refused, tasks, build.units

    def result(self) -> Run:
        """Return what became of all, in order."""
        outcomes = {key: self.outcomes[key] for key in self.work.cases}
        return Run(outcomes=outcomes, kernels=self.kernels, units=self.units, seconds=self.seconds)


def run(cases: Sequence[Case], target: Target, *, store: Cache, jobs: int | None = None, progress: Progress = lambda _: None) -> Run:
    """Run cases.

    Args:
        cases: with distinct keys.
        target: what to compile for; a GPU's must be here.
        store: where compiled kernels are kept.
        jobs: processes and compilers at once; None for one a core.
        progress: told what is being done.
    """
    with tempfile.TemporaryDirectory(prefix="nautilus-conformance-") as name:
        bench = _Bench(cases, target, store, jobs, progress, Path(name))
        tasks = bench.tasks()
        with bench.phase("run", f"running {len(tasks)} cases"):
            for (key, _), result in bench.each(bench.work.run, tasks, RUN_TIMEOUT_S):
                bench.outcomes[key] = _outcome(result)
        return bench.result()


def libraries(
    cases: Sequence[Case], target: Target, *, store: Cache, jobs: int | None = None, progress: Progress = lambda _: None
) -> tuple[dict[str, bytes], dict[str, Outcome]]:
    """Compile cases for a target that need not be here; return the library of each, and what became of those that have none.

    Arguments are those of `run`.
    """
    with tempfile.TemporaryDirectory(prefix="nautilus-conformance-") as name:
        bench = _Bench(cases, target, store, jobs, progress, Path(name))
        found: dict[str, bytes] = {}
        for (key, _), result in bench.each(bench.work.keep, bench.tasks(), RUN_TIMEOUT_S):
            if isinstance(result, tuple):
                found[key] = result[1]
            else:
                bench.outcomes[key] = _outcome(result)
        return found, bench.outcomes


def replay(
    cases: Sequence[Case], libraries: Mapping[str, bytes], target: Target, *, jobs: int | None = None, progress: Progress = lambda _: None
) -> Run:
    """Run cases from their libraries; neither onnx's operators nor a compiler is needed.

    Args:
        cases: with distinct keys.
        libraries: of those that have one; the others are refused.
        target: that they were compiled for.
        jobs: processes at once; None for one a core.
        progress: told what is being done.
    """
    with tempfile.TemporaryDirectory(prefix="nautilus-conformance-") as name:
        bench = _Bench(cases, target, Cache(Path(name)), jobs, progress, Path(name))
        for key in bench.work.cases:
            if key in libraries:
                (Path(name) / f"{hash_of(key):016x}.so").write_bytes(libraries[key])
            else:
                bench.outcomes[key] = Outcome(status="refused", message="the archive has no library of it")
        tasks = [key for key in bench.work.cases if key in libraries]
        with bench.phase("run", f"running {len(tasks)} cases"):
            for key, result in bench.each(bench.work.replay, tasks, RUN_TIMEOUT_S):
                bench.outcomes[key] = _outcome(result)
        return bench.result()


def _outcome(result: object) -> Outcome:
    """Return an outcome, whatever came back from another process."""
    return result if isinstance(result, Outcome) else Outcome(status="broken", message=str(result))
