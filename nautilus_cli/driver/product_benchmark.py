"""bench_product(): how long a matrix product takes with the schedule that a compilation would take, and how long cuBLAS does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.codegen.render import render
from nautilus_cli.driver.benchmark import EMULATED
from nautilus_cli.driver.cublas import cublas
from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.driver.selection import select
from nautilus_cli.errors import DeviceError, UsageError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels.base import KernelRequest, Ranked
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.lowering.single.lone_product import LoneProduct, rotated, stride
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.runtime.session import Session
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning import records
from nautilus_cli.verify import report

PRODUCT_TYPES: dict[str, tuple[DType, str]] = {
    "fp16": (F16, "ffma"),
    "bf16": (BF16, "ffma"),
    "fp32": (F32, "ffma"),
    "tf32": (F32, "tf32"),
    "3xtf32": (F32, "3xtf32"),
}
"""Element type, and how floats of 32 bits are multiplied, by the names that --dtype takes."""

_ROTATED_L2 = 2
"""Copies of B take so many times L2, so that it comes from memory, as weights do."""
_MOST_COPIES = 64
_MOST_BYTES = 4 << 30
_RUN_US = 1500.0
_CHECKED_ROWS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductBenchOptions:
    """Which product to measure, and where.

    Attributes:
        extents: m, n and k of C [m, n] = A [m, k] Bᵀ.
        dtype: a key of PRODUCT_TYPES.
        symbolic: the letters of those of m, n and k that are arguments, as in a library that is compiled for all sizes of them.
        target: name of the target; None for the device present, else the emulator.
        device: number of the GPU; None for the first that fits.
        turns: replays of each contender.
        seed: of the data.
        export: .json file for the result; None to keep none.
    """

    extents: tuple[int, int, int]
    dtype: str = "fp16"
    symbolic: str = ""
    target: str | None = None
    device: int | None = None
    turns: int = 15
    seed: int = 0
    export: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductBenchResult:
    """What was measured; times are microseconds of one product.

    Attributes:
        extents: m, n and k.
        dtype: as asked for.
        symbolic: as asked for.
        target: name of the target.
        device: name of the GPU, or of the emulator.
        is_emulated: whether it ran on the CPU: the time is then no speed.
        family: of the kernel.
        schedule: its fields.
        estimated_us: by the ranking that chose it; None where the family has none.
        launches: in one replay.
        copies: of B, over which these walk.
        latency_us: median over the replays.
        known_us: the same of the kernel for these extents alone; None where none of them is symbolic.
        cublas_us: the same of cuBLAS; None where it was not measured.
        error: norm of the difference to float64 over the norm of the result, of some rows.
        notes: sentences for the user.
    """

    extents: tuple[int, int, int]
    dtype: str
    symbolic: str
    target: str
    device: str
    is_emulated: bool
    family: str
    schedule: dict[str, Any]
    estimated_us: float | None
    launches: int
    copies: int
    latency_us: float
    known_us: float | None
    cublas_us: float | None
    error: float
    notes: tuple[str, ...]

    @property
    def tflops(self) -> float:
        """Operations a microsecond, in millions."""
        m, n, k = self.extents
        return 2.0 * m * n * k / self.latency_us / 1e6

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON types."""
        ratio = None if self.cublas_us is None else self.cublas_us / self.latency_us
        slower = None if self.known_us is None else self.latency_us / self.known_us
        lists = {"extents": list(self.extents), "notes": list(self.notes)}
        return {**asdict(self), **lists, "tflops": self.tflops, "ratio": ratio, "symbolic_ratio": slower}


def bench_product(options: ProductBenchOptions, progress: Progress = silent) -> ProductBenchResult:
    """Measure a matrix product, and cuBLAS in turns with it where torch is there.

    Raises:
        UsageError: an extent is none, or the operands are beyond 4 GiB.
        DeviceError: the target cannot run here.
    """
    product = _product(options)
    selection = select(options.target, options.device)
    if not selection.runs_here:
        raise DeviceError(f"{selection.target.name} cannot be measured here: {selection.notes[0]}", where="--target")
    target, store, notes = selection.target, Cache.default(), list(selection.notes)
    choose = records.recorded_choice(store, target, gpu=selection.gpu)
    request = product.request(target, choose)
    copies, launches = _rotation(product, target.l2_bytes, is_emulated=target.is_emulated)
    operands = _operands(product, copies, options.seed)
    with ExitStack() as stack:

        def fed(one: LoneProduct, kernel: KernelRequest) -> tuple[Session, float]:
            """Return a session, and how far its results are from float64."""
            plan = rotated(one, kernel, target.name, copies=copies, launches=launches)
            session = stack.enter_context(_session(plan, target, store, selection.device, fp32_mode=one.fp32_mode))
            return session, operands.error(session.feed(operands.inputs)["c"])

        progress("compiling", 0, 1)
        session, error = fed(product, request)
        contenders = {"own": lambda: _replay_us(session)}
        if options.symbolic:
            known = replace(product, symbolic="")
            beside, _ = fed(known, known.request(target, choose))
            contenders["known"] = lambda: _replay_us(beside)
        if target.is_emulated:
            notes.append(EMULATED)
        elif rival := _rival(options, product, selection.device, copies=copies, launches=launches):
            contenders["cublas"] = rival
        else:
            notes.append("cuBLAS was not measured: torch, or a GPU for it, is missing.")
        progress("measuring", 0, 1)
        times = {name: us / launches for name, us in _in_turns(contenders, options.turns).items()}
        device = session.library.info.device
    result = ProductBenchResult(
        extents=options.extents,
        dtype=options.dtype,
        symbolic=options.symbolic,
        target=target.name,
        device=device,
        is_emulated=target.is_emulated,
        family=request.family,
        schedule=asdict(request.schedule),
        estimated_us=_estimate(product, request, target),
        launches=launches,
        copies=copies,
        latency_us=times["own"],
        known_us=times.get("known"),
        cublas_us=times.get("cublas"),
        error=error,
        notes=tuple(notes),
    )
    if options.export is not None:
        report.write(result.to_data(), options.export)
    return result


def _product(options: ProductBenchOptions) -> LoneProduct:
    """Return the product, of which no operand is beyond what can be measured."""
    m, n, k = options.extents
    dtype, fp32_mode = PRODUCT_TYPES[options.dtype]
    if min(m, n, k) < 1:
        raise UsageError(f"a product of {m}, {n}, {k}", where="--gemm", hint="Extents are at least 1.")
    if max(m * k, n * k, m * n) * dtype.bytes > _MOST_BYTES:
        raise UsageError(f"a product of {m}, {n}, {k} is too large to measure", where="--gemm", hint="An operand may have 4 GiB.")
    return LoneProduct(m=m, n=n, k=k, dtype=dtype, fp32_mode=fp32_mode, symbolic=options.symbolic)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operands:
    """What a product is measured on.

    Attributes:
        a: [m, k].
        b: [n, k].
        weights: copies of B, flat, each with what lies between it and the next.
    """

    a: np.ndarray
    b: np.ndarray
    weights: np.ndarray

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """What a session takes."""
        return {"a": self.a.reshape(-1), "b": self.weights}

    def error(self, results: np.ndarray) -> float:
        """Return the norm of some rows' error over theirs, of the first of the results [m, n] that lie behind each other."""
        m, n = len(self.a), len(self.b)
        return _error(self.a, self.b, results[: m * n].reshape(m, n))


def _operands(product: LoneProduct, copies: int, seed: int) -> _Operands:
    """Return random operands."""
    p, random = product, np.random.default_rng(seed)
    a, b = _drawn(random, p.m * p.k, p.dtype), _drawn(random, p.n * p.k, p.dtype)
    weights = np.tile(_padded(b, stride(p, p.n * p.k)), copies)
    return _Operands(a=a.reshape(p.m, p.k), b=b.reshape(p.n, p.k), weights=weights)


def _estimate(product: LoneProduct, request: KernelRequest, target: Target) -> float | None:
    """Return the time by the ranking that chose a kernel, None where its family has none."""
    kind = family(request.family)
    return kind.estimated_us(bind(request.problem, product.sizes), request.schedule, target) if isinstance(kind, Ranked) else None


def _rival(options: ProductBenchOptions, product: LoneProduct, device: int, *, copies: int, launches: int) -> Callable[[], float] | None:
    """Return what times cuBLAS, None where it is not there."""
    p, is_tf32 = product, options.dtype == "tf32"
    return cublas(p.m, p.n, p.k, p.dtype.name, is_tf32=is_tf32, device=device, copies=copies, launches=launches)


@contextmanager
def _session(plan: Plan, target: Target, store: Cache, device: int, *, fp32_mode: str) -> Iterator[Session]:
    """Open a library of a plan of one kernel."""
    with tempfile.TemporaryDirectory(prefix="nautilus-bench-") as folder:
        kernel = render(plan.kernels[0].request)
        path = Path(folder) / "libproduct.so"
        variant = Variant(target=target, plan=plan, symbols=(kernel.symbol,), images=build([kernel], target, store=store).images)
        host_library = host_compiler.shared_library(store)
        bundle.write(
            path,
            host_library=host_library,
            variants=(variant,),
            model_digest=bytes(32),
            tools={},
            producer=__version__,
            fp32_mode=fp32_mode,
        )
        with load_library(path, device=device) as library, Session(library) as session:
            yield session


def _rotation(product: LoneProduct, l2_bytes: int, *, is_emulated: bool) -> tuple[int, int]:
    """Return how many copies of B there are, and how many launches walk over them: about what fills a millisecond and a half."""
    if is_emulated:
        return 1, 1
    p, size = product, product.dtype.bytes
    copies = max(1, min(_MOST_COPIES, -(-_ROTATED_L2 * l2_bytes // (p.n * p.k * size)), _MOST_BYTES // (max(p.n * p.k, p.m * p.n) * size)))
    least_us = max(1.0, p.n * p.k * size / 4e6, 2.0 * p.m * p.n * p.k / (8e8 if size == 2 else 5e7))
    return copies, int(max(4, min(256, _RUN_US / least_us)))


def _drawn(random: np.random.Generator, elements: int, dtype: DType) -> np.ndarray:
    """Return normal numbers; never zeros, on which a GPU runs faster than on data."""
    return random.standard_normal(elements, np.float32).astype(dtype.numpy)


def _padded(array: np.ndarray, elements: int) -> np.ndarray:
    return np.concatenate([array, np.zeros(elements - array.size, array.dtype)])


def _error(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Return the norm of some rows' error over theirs."""
    rows = np.unique(np.linspace(0, len(a) - 1, _CHECKED_ROWS).astype(int))
    expected = a[rows].astype(np.float64) @ b.astype(np.float64).T
    return float(np.linalg.norm(c[rows].astype(np.float64) - expected) / np.linalg.norm(expected))


def _replay_us(session: Session) -> float:
    return session.time(samples=1, runs=1, warmup=1).median_us


def _in_turns(contenders: Mapping[str, Callable[[], float]], turns: int) -> dict[str, float]:
    """Return the median of each contender, of replays by turns."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, run in contenders.items():
            times[name].append(run())
    return {name: median(found) for name, found in times.items()}
