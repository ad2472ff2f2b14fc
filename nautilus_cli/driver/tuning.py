"""tune(): search schedules of a model's kernels by measurement; compile obeys what was found."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.codegen.render import render
from nautilus_cli.driver.compilation import tool_versions
from nautilus_cli.driver.open_dimensions import open_dimensions, points_of
from nautilus_cli.driver.options import Progress, TuneOptions, silent
from nautilus_cli.driver.plan_sections import fields_text
from nautilus_cli.driver.reading import read_model
from nautilus_cli.driver.selection import Selection, select
from nautilus_cli.errors import DeviceError, ToolchainError
from nautilus_cli.ir.binding import bind, dimensions
from nautilus_cli.kernels.base import Choose, Family, KernelRequest
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.choosing.ladders import middle
from nautilus_cli.lowering.choosing.ranges import representative
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.planner import plan_each
from nautilus_cli.lowering.single.alone import alone
from nautilus_cli.numerics import compare
from nautilus_cli.numerics.tolerance import derived
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.runtime.session import Session
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning import records, study
from nautilus_cli.tuning.measurement import Measurement

TUNED_FAMILIES = ("gemm", "gemm_mma", "gemm_skinny", "gemm_wgmma")
"""Families whose schedules are searched so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedProblem:
    """What the search found for one problem.

    Attributes:
        family: kernel family.
        problem: its fields.
        schedule: the best schedule's fields.
        latency_us: of the best.
        baseline_us: of the analytic choice.
        trials: schedules measured.
        refused: points that arithmetic refused.
    """

    family: str
    problem: str
    schedule: str
    latency_us: float
    baseline_us: float
    trials: int
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What a search found.

    Attributes:
        target: name of the target.
        problems: each distinct problem of the model.
        notes: sentences for the user.
    """

    target: str
    problems: tuple[TunedProblem, ...]
    notes: tuple[str, ...]


def tune(options: TuneOptions, progress: Progress = silent) -> TuneResult:
    """Search the schedules of a model's kernels and keep every measurement in the cache's records.

    Raises:
        DeviceError: the target cannot run here, so nothing can be measured.
    """
    selection = select(options.target, options.device)
    if not selection.runs_here:
        why = f"{selection.target.name} cannot be measured here: {selection.notes[0]}"
        raise DeviceError(why, where="--target", hint="Tune on a machine with that GPU.")
    store = Cache.default()
    model = read_model(options)
    points = points_of(options.shapes, options.dims, model)
    asked = _Asked(records.recorded_choice(store, selection.target, gpu=selection.gpu))
    fused = choose_fusion(pipeline.simplify(model.graph), fp32_mode=options.fp32_mode)
    (planned,) = plan_each(fused, ((selection.target, asked),), fp32_mode=options.fp32_mode, points=points)
    problems = {(r.family, r.problem): r for k in planned.kernels for r in _at_points(k.request, points, asked)}
    notes = selection.notes
    if open_dimensions(model) and not points:
        notes = (*notes, "tuned for the largest sizes; --dim NAME=1..512@128,256 says which sizes matter.")
    if selection.target.is_emulated:
        notes = (*notes, "these times are the emulator's, not a GPU's; they are kept apart and serve to try the search.")
    found = []
    for number, request in enumerate(problems.values()):
        progress(f"tuning {request.family}, {options.trials} trials each", number, len(problems))
        found.append(_tune_one(request, selection, store, options))
    return TuneResult(target=selection.target.name, problems=tuple(found), notes=notes)


class _Asked:
    """A choice that remembers what it was asked: for which problems of known sizes `compile` will look for a record."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._problems: set[tuple[str, Any]] = set()

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return the schedule of the choice itself."""
        self._problems.add((family.name, problem))
        return self._choose(family, problem, target)

    def __contains__(self, found: tuple[str, Any]) -> bool:
        return found in self._problems


def _at_points(request: KernelRequest, points: Mapping[str, tuple[int, ...]], asked: _Asked) -> Iterator[KernelRequest]:
    """Yield a kernel with the sizes that the user names, or those just below that share no divisor; else with the largest.

    Of several dimensions every combination counts that `compile` asks for.
    """
    if request.family not in TUNED_FAMILIES:
        return
    dims = dimensions((request.problem, request.functors))
    if not dims:
        yield request
        return
    choices = []
    for dim in dims:
        named = [size for size in points.get(dim.name, ()) if dim.low <= size <= dim.high and size % dim.divisor == 0]
        near = [representative(replace(dim, high=max(dim.low, size))) for size in named or [dim.high]]
        rest = [] if named else [dim.high, *([middle(dim)] if points else [])]
        choices.append(list(dict.fromkeys((*named, *near, *rest))))
    for sizes in product(*choices):
        at = bind(request, {dim.name: size for dim, size in zip(dims, sizes, strict=True)})
        if (request.family, at.problem) in asked:
            yield replace(at, scalars=0)


def _tune_one(request: KernelRequest, selection: Selection, store: Cache, options: TuneOptions) -> TunedProblem:
    """Search one problem."""
    kind, target = family(request.family), selection.target
    with tempfile.TemporaryDirectory(prefix="nautilus-tune-") as folder:
        bench = Bench(request, selection, store, Path(folder), options.jobs, fp32_mode=options.fp32_mode)
        found = study.search(
            kind,
            request.problem,
            target,
            bench.measure,
            trials=options.trials,
            seed=options.seed,
            gpu=selection.gpu or target.name,
            versions=tool_versions(target.is_emulated),
            database=study.storage(store.folder / "tuning" / "studies.journal"),
            keep=lambda record: records.append(records.records_path(store), [record]),
        )
    return TunedProblem(
        family=request.family,
        problem=fields_text(request.problem),
        schedule=fields_text(found.schedule),
        latency_us=_latency(found.measurement),
        baseline_us=_latency(found.baseline),
        trials=found.trials,
        refused=found.refused,
    )


def _latency(measurement: Measurement | None) -> float:
    return float("nan") if measurement is None or measurement.median_us is None else measurement.median_us


class Bench:
    """Builds and times schedules of one kernel, each held against the analytic choice's results.

    Args:
        request: the kernel.
        selection: target and device.
        store: cache of compiled code.
        folder: for libraries; emptied by the caller.
        jobs: compilers at once.
        fp32_mode: how products of f32 are multiplied, for the manifests.
    """

    def __init__(
        self, request: KernelRequest, selection: Selection, store: Cache, folder: Path, jobs: int | None, *, fp32_mode: str
    ) -> None:
        self._fp32_mode = fp32_mode
        self._request, self._selection, self._store, self._folder, self._jobs = request, selection, store, folder, jobs
        self._built = 0
        baseline = family(request.family).choose(request.problem, selection.target)
        with self._library(baseline) as library:
            self._inputs = _random_inputs(library)
            self._expected = library(self._inputs)

    def measure(self, schedule: Any) -> Measurement:
        """Return how a schedule does; a fault of the schedule's is a verdict, a fault of the machine's an error."""
        try:
            with self._library(schedule) as library, Session(library) as session:
                results = session.feed(self._inputs)
                terms = getattr(self._request.problem, "k", 1)
                for name, expected in self._expected.items():
                    comparison = compare(results[name], expected, derived(expected, terms=terms))
                    if not comparison.is_match:
                        return Measurement(verdict="mismatch", detail=f"{name}: {comparison}")
                timing = session.time(samples=5, runs=3, warmup=1) if library.is_emulated else session.time(samples=20, runs=20, warmup=10)
        except ToolchainError as error:
            return Measurement(verdict="failed", detail=str(error))
        return Measurement(verdict="ok", median_us=timing.median_us, spread_us=timing.spread * timing.median_us)

    @contextmanager
    def _library(self, schedule: Any) -> Iterator[Library]:
        """Build a library of this kernel alone with SCHEDULE, and load it."""
        target = self._selection.target
        request = replace(self._request, schedule=schedule)
        kernel = render(request)
        planned = alone(request, family(request.family).geometry(request.problem, schedule), target.name)
        built = build([kernel], target, store=self._store, jobs=self._jobs)
        self._built += 1
        path = self._folder / f"lib{self._built}.so"
        bundle.write(
            path,
            host_library=host_compiler.shared_library(self._store),
            variants=(Variant(target=target, plan=planned, symbols=(kernel.symbol,), images=built.images),),
            model_digest=bytes(32),
            tools={},
            producer=__version__,
            fp32_mode=self._fp32_mode,
        )
        with load_library(path, device=self._selection.device) as library:
            yield library
        path.unlink()


def _random_inputs(library: Library) -> dict[str, np.ndarray]:
    """Return seeded normal numbers; never zeros, on which a GPU runs faster than on data."""
    random = np.random.default_rng(0)
    inputs = {}
    for tensor in library.inputs:
        is_float = np.issubdtype(tensor.dtype, np.floating)
        numbers = random.standard_normal(tensor.shape) if is_float else random.integers(0, 2, tensor.shape)
        inputs[tensor.name] = numbers.astype(tensor.dtype)
    return inputs
