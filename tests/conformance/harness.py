"""Runs cases in two phases: plan all, compile the union of their kernels, then assemble and run each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nautilus_cli.codegen.render import Rendered
from nautilus_cli.errors import NautilusError
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.pool import default_jobs
from tests.conformance import steps, workers
from tests.conformance.building import CubinBuild, EmulatedBuild
from tests.conformance.cases import Case
from tests.conformance.comparing import mismatch

PLAN_TIMEOUT_S = 60.0
RUN_TIMEOUT_S = 120.0
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


def run(cases: Sequence[Case], target: Target, *, store: Cache, jobs: int | None = None, progress: Progress = lambda _: None) -> Run:
    """Run cases.

    Args:
        cases: with distinct keys.
        target: what to compile for; a GPU's must be here.
        store: where compiled kernels are kept.
        jobs: processes and compilers at once; None for one a core.
        progress: told what is being done.
    """
    jobs = jobs or default_jobs()
    by_key = {case.key: case for case in cases}
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="nautilus-conformance-") as name:
        work = Path(name)
        begin = time.monotonic()
        progress(f"planning {len(cases)} cases")
        planned: dict[str, tuple[Rendered, ...]] = {}
        plan = _Planning(by_key, target, store, work)
        for key, result in workers.each(plan, list(by_key), processes=jobs, timeout_s=PLAN_TIMEOUT_S):
            if isinstance(result, _Kernels):
                planned[key] = result.kernels
            else:
                outcomes[key] = _lost(result)
        seconds["plan"] = time.monotonic() - begin

        begin = time.monotonic()
        planned = {key: planned[key] for key in by_key if key in planned}  # in order, whichever ended first
        distinct = {kernel.symbol: kernel for kernels in planned.values() for kernel in kernels}
        progress(f"compiling {len(distinct)} kernels of {len(planned)} cases")
        refused, tasks, units = _build(planned, distinct.values(), target, store, jobs, work)
        seconds["compile"] = time.monotonic() - begin

        begin = time.monotonic()
        for key, kernels in planned.items():
            bad = next((kernel.symbol for kernel in kernels if kernel.symbol in refused), None)
            if bad is not None:
                outcomes[key] = Outcome(status="broken", message=f"kernel {bad}: {refused[bad]}")
        tasks = [task for task in tasks if task[0] not in outcomes]
        progress(f"running {len(tasks)} cases")
        execute = _Running(by_key, target, store, work)
        for (key, _), result in workers.each(execute, tasks, processes=jobs, timeout_s=RUN_TIMEOUT_S):
            outcomes[key] = _lost(result)
        seconds["run"] = time.monotonic() - begin
    return Run(outcomes={key: outcomes[key] for key in by_key}, kernels=len(distinct), units=units, seconds=seconds)


def _build(
    planned: Mapping[str, Sequence[Rendered]], kernels: Iterable[Rendered], target: Target, store: Cache, jobs: int, work: Path
) -> tuple[Mapping[str, str], list[tuple[str, str]], int]:
    """Compile; return what was refused, (case, name of its image) of each, and the number of units."""
    kernels = list(kernels)
    steps.host_library(store)
    if not target.is_emulated:
        cubins = CubinBuild(kernels, target, store, jobs, work)
        return cubins.refused, [(key, "") for key in planned], len(kernels)
    build = EmulatedBuild(kernels, store, jobs)
    good = {key: [k.symbol for k in own] for key, own in planned.items() if not any(k.symbol in build.refused for k in own)}
    tasks = []
    for number, keys in enumerate(build.groups(good)):
        name = f"image{number}.so"
        (work / name).write_bytes(build.image(symbol for key in keys for symbol in good[key]))
        tasks += [(key, name) for key in keys]
    return build.refused, tasks, build.units


@dataclass(frozen=True, slots=True)
class _Planning:
    """Plans a case, in another process."""

    cases: Mapping[str, Case]
    target: Target
    store: Cache
    work: Path

    def __call__(self, key: str) -> _Kernels | Outcome:
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            try:
                planned = steps.plan_case(self.cases[key], self.target, self.store, Path(folder))
            except NautilusError as error:
                return Outcome(status="refused" if error.exit_code != 70 else "broken", message=str(error))
            return _Kernels(planned.kernels)


@dataclass(frozen=True, slots=True)
class _Running:
    """Assembles and runs a case, in another process. It is planned again, which takes less than to bring the plan here."""

    cases: Mapping[str, Case]
    target: Target
    store: Cache
    work: Path

    def __call__(self, task: tuple[str, str]) -> Outcome:
        key, image = task
        case = self.cases[key]
        with tempfile.TemporaryDirectory(dir=self.work) as name:
            folder = Path(name)
            planned = steps.plan_case(case, self.target, self.store, folder)
            symbols = [kernel.symbol for kernel in planned.kernels]
            if self.target.is_emulated:
                images = [steps.image(symbols, (self.work / image).read_bytes(), self.target)]
            else:
                images = [steps.image([s], (self.work / f"{s}.cubin").read_bytes(), self.target) for s in symbols]
            try:
                results = steps.run_case(case, planned, self.target, images, self.store, folder)
            except NautilusError as error:
                return Outcome(status="failed", message=str(error))
        for data, found in zip(case.data_sets, results, strict=True):
            wrong = mismatch(data.outputs, found, rtol=case.rtol, atol=case.atol)
            if wrong:
                return Outcome(status="wrong", message=wrong)
        return Outcome(status="passed")


def _lost(result: object) -> Outcome:
    """Return an outcome, whatever came back from another process."""
    return result if isinstance(result, Outcome) else Outcome(status="broken", message=str(result))
