"""bench_product(): how long a matrix product takes with the schedule that a compilation would take, and how long cuBLAS does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.codegen.render import render
from nautilus_cli.driver.benchmark import EMULATED
from nautilus_cli.driver.cublas import cublas
from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.driver.product_benchmark_result import ProductBenchResult
from nautilus_cli.driver.product_operands import ProductOperands, drawn_operands
from nautilus_cli.driver.selection import Selection, select
from nautilus_cli.errors import DeviceError, ModelError, UsageError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels.base import Choose, KernelRequest, Ranked
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.single.lone_product import LoneProduct, rotated
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
"""Of an operand."""

_RUN_US = 1500.0
"""About what one replay takes, by a rough estimate of a launch: long against what begins and ends it."""


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


def bench_product(options: ProductBenchOptions, progress: Progress = silent) -> ProductBenchResult:
    """Measure a matrix product, and cuBLAS in turns with it where torch is there.

    Raises:
        UsageError: an extent is none, the operands are beyond 4 GiB, or the product is beyond what a launch can be.
        DeviceError: the target cannot run here.
    """
    product = _product(options)
    selection = select(options.target, options.device)
    if not selection.runs_here:
        raise DeviceError(f"{selection.target.name} cannot be measured here: {selection.notes[0]}", where="--target")
    target, store, notes = selection.target, Cache.default(), list(selection.notes)
    choose = records.recorded_choice(store, target, gpu=selection.gpu)
    request = _request(product, target, choose)
    copies, launches = _rotation(product, target.l2_bytes, is_emulated=target.is_emulated)
    operands = drawn_operands(product, copies, options.seed)
    setting = _Setting(selection=selection, store=store, operands=operands, copies=copies, launches=launches)
    with ExitStack() as stack:
        progress("compiling", 0, 1)
        session, error = stack.enter_context(setting.session(product, request))
        contenders: dict[str, Callable[[], float]] = {"own": partial(_replay_us, session)}
        if options.symbolic:
            known = replace(product, symbolic="")
            beside, _ = stack.enter_context(setting.session(known, known.request(target, choose)))
            contenders["known"] = partial(_replay_us, beside)
        rival = setting.rival(product, is_tf32=options.dtype == "tf32")
        if rival is not None:
            contenders["cublas"] = rival
        else:
            notes.append(EMULATED if target.is_emulated else "cuBLAS was not measured: torch, or a GPU for it, is missing.")
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


def _request(product: LoneProduct, target: Target, choose: Choose) -> KernelRequest:
    """Return the kernel that a compilation would take.

    Raises:
        UsageError: the product is beyond what a launch can be.
    """
    try:
        return product.request(target, choose)
    except ModelError as error:
        raise UsageError(f"a product of {product.m}, {product.n}, {product.k} {error.message}", where="--gemm") from error


def _estimate(product: LoneProduct, request: KernelRequest, target: Target) -> float | None:
    """Return the time by the ranking that chose a kernel, None where its family has none."""
    kind = family(request.family)
    return kind.estimated_us(bind(request.problem, product.sizes), request.schedule, target) if isinstance(kind, Ranked) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """What the kernels of one measurement have in common.

    Attributes:
        selection: where they run.
        store: keeps what was compiled.
        operands: what they multiply.
        copies: of B, over which they walk.
        launches: in one replay.
    """

    selection: Selection
    store: Cache
    operands: ProductOperands
    copies: int
    launches: int

    @contextmanager
    def session(self, product: LoneProduct, request: KernelRequest) -> Iterator[tuple[Session, float]]:
        """Open a library of one kernel and give it the operands; yield a session, and how far its results are from float64."""
        target = self.selection.target
        plan = rotated(product, request, target.name, copies=self.copies, launches=self.launches)
        kernel = render(request)
        images = build([kernel], target, store=self.store).images
        variant = Variant(target=target, plan=plan, symbols=(kernel.symbol,), images=images)
        host_library = host_compiler.shared_library(self.store)
        with tempfile.TemporaryDirectory(prefix="nautilus-bench-") as folder:
            path = Path(folder) / "libproduct.so"
            bundle.write(
                path,
                host_library=host_library,
                variants=(variant,),
                model_digest=bytes(32),
                tools={},
                producer=__version__,
                fp32_mode=product.fp32_mode,
            )
            with load_library(path, device=self.selection.device) as library, Session(library) as session:
                yield session, self.operands.error(session.feed(self.operands.inputs)["c"])

    def rival(self, product: LoneProduct, *, is_tf32: bool) -> Callable[[], float] | None:
        """Return what times cuBLAS, None where it is not there, or no GPU is."""
        if self.selection.target.is_emulated:
            return None
        p, device = product, self.selection.device
        return cublas(p.m, p.n, p.k, p.dtype.name, is_tf32=is_tf32, device=device, copies=self.copies, launches=self.launches)


def _rotation(product: LoneProduct, l2_bytes: int, *, is_emulated: bool) -> tuple[int, int]:
    """Return how many copies of B there are, and how many launches walk over them: about what fills a millisecond and a half."""
    if is_emulated:
        return 1, 1
    p, size = product, product.dtype.bytes
    copies = max(1, min(_MOST_COPIES, -(-_ROTATED_L2 * l2_bytes // (p.n * p.k * size)), _MOST_BYTES // (max(p.n * p.k, p.m * p.n) * size)))
    least_us = max(1.0, p.n * p.k * size / 4e6, 2.0 * p.m * p.n * p.k / (8e8 if size == 2 else 5e7))
    return copies, int(max(4, min(256, _RUN_US / least_us)))


def _replay_us(session: Session) -> float:
    return session.time(samples=1, runs=1, warmup=1).median_us


def _in_turns(contenders: Mapping[str, Callable[[], float]], turns: int) -> dict[str, float]:
    """Return the median of each contender, of replays by turns."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, run in contenders.items():
            times[name].append(run())
    return {name: median(found) for name, found in times.items()}
