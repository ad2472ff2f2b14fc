"""Matrix products to measure: kernels as data that can travel to a machine with a GPU."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nautilus_cli.codegen import render
from nautilus_cli.errors import ToolchainError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import BF16, F16, F32, DType
from nautilus_cli.kernels import boxes, gemm, gemm_mma, gemm_skinny, gemm_wgmma
from nautilus_cli.kernels.base import Geometry, KernelRequest, TensorMap, scalar_values
from nautilus_cli.kernels.registry import family, tensor_maps
from nautilus_cli.lowering.choosing.ranges import MULTIPLE
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import Resources, compile_kernel
from tests.emulated.building import Steps

TYPES: dict[str, DType] = {"fp16": F16, "bf16": BF16, "fp32": F32, "tf32": F32, "3xtf32": F32}
MOST = {"m": 8192, "n": 1 << 17, "k": 8192}
"""Greatest extents of products with open dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product to measure: C[m, n] = A B with A [m, k] or [k, m], and B [n, k] or [k, n].

    Attributes:
        m, n, k: extents.
        dtype: a key of TYPES; of A, B and C.
        a_k_last: whether A is [m, k].
        b_k_last: whether B is [n, k], as packed weights are.
        epilogue: `plain`; `bias`: C = A B + bias[n]; or `gelu`: C = gelu(A B + bias[n]).
        symbolic: the letters of those extents that are arguments of the kernel.
        has_multiples: whether these, of n and k, are known to be multiples of MULTIPLE.
    """

    m: int
    n: int
    k: int
    dtype: str = "fp16"
    a_k_last: bool = True
    b_k_last: bool = True
    epilogue: str = "plain"
    symbolic: str = ""
    has_multiples: bool = True

    @property
    def plain(self) -> Product:
        """The product alone: those with the same one are measured together."""
        return replace(self, epilogue="plain", symbolic="", has_multiples=True)

    @property
    def name(self) -> str:
        """For rows of results."""
        layout = ("k" if self.a_k_last else "m") + ("k" if self.b_k_last else "n")
        return f"{self.m}x{self.n}x{self.k}-{self.dtype}-{layout}" + ("" if self.epilogue == "plain" else f"-{self.epilogue}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A kernel for a product, compiled.

    Attributes:
        product: what it computes; pointers are A, B, C, and the bias of a `gelu`.
        label: the kernel among others for the product.
        family: kernel family.
        schedule: its schedule.
        symbol: name in the cubin.
        cubin: the code.
        geometry: how it is launched.
        maps: tensor maps ahead of the pointers.
        scalars: integers behind the pointers.
        resources: as the compiler counts them.
    """

    product: Product
    label: str
    family: str
    schedule: Any
    symbol: str
    cubin: bytes
    geometry: Geometry
    maps: tuple[TensorMap, ...]
    scalars: tuple[int, ...]
    resources: Resources


def extents(product: Product) -> tuple[int, int, int]:
    """Return m, n and k, symbolic where they are arguments."""
    p = product
    found = []
    for name, size in (("m", p.m), ("n", p.n), ("k", p.k)):
        divisor = MULTIPLE if p.has_multiples and name != "m" else 1
        found.append(symbol(name, divisor, MOST[name], divisor) if name in p.symbolic else size)
    return found[0], found[1], found[2]


def request(product: Product, kind: str, target: Target, schedule: Any = None) -> KernelRequest:
    """Return the request of a family's kernel for a product; the analytic choice where no schedule is given."""
    p, dtype = product, TYPES[product.dtype]
    m, n, k = extents(p)
    at_a, at_b = ((m, k) if p.a_k_last else (k, m)), ((n, k) if p.b_k_last else (k, n))
    shape: dict[str, Any] = {"batch": 1, "m": m, "n": n, "k": k, "a_k_last": p.a_k_last, "b_k_last": p.b_k_last}
    problem: Any
    constant = p.b_k_last  # as weights are
    if kind == "gemm":
        problem = gemm.Problem(**shape, accumulate=F32, a_storage=dtype, b_storage=dtype, is_straight=dtype == F32)
    elif kind == "gemm_mma":
        problem = gemm_mma.Problem(
            **shape, multiply=dtype, a_storage=dtype, b_storage=dtype, terms=3 if p.dtype == "3xtf32" else 1, b_is_constant=constant
        )
    elif kind == "gemm_skinny":
        problem = gemm_skinny.Problem(**shape, multiply=dtype, a_storage=dtype, b_storage=dtype, b_is_constant=constant)
    else:
        is_boxed = not boxes.result_violations(_epilogue(p, dtype))
        problem = gemm_wgmma.Problem(
            **shape,
            multiply=dtype,
            terms=3 if p.dtype == "3xtf32" else 1,
            b_is_constant=constant,
            result_bytes=dtype.bytes * is_boxed,
        )
    chosen = family(kind).choose(problem, target) if schedule is None else schedule
    functors = (("A", _loaded(0, dtype, at_a)), ("B", _loaded(1, dtype, at_b)), ("Epilogue", _epilogue(p, dtype)))
    pointers = 3 if p.epilogue == "plain" else 4
    scalars = len(scalar_values(problem, functors))
    return KernelRequest(family=kind, problem=problem, schedule=chosen, functors=functors, pointers=pointers, scalars=scalars)


def _loaded(slot: int, dtype: DType, shape: tuple[int, int]) -> Expression:
    steps = Steps()
    return steps.expression(steps.load(slot, dtype, identity((1, *shape))))


def _epilogue(product: Product, dtype: DType) -> Expression:
    m, n, _ = extents(product)
    steps, where = Steps(), (1, m, n)
    result = steps.parameter(0, F32)
    if product.epilogue != "plain":
        result = steps.apply("add", result, steps.load(3, dtype, from_strides(where, (0, 0, 1))))
    if product.epilogue == "gelu":
        result = steps.apply("gelu", result, steps.constant(2.0 if dtype.bits == 16 else 0.0))
    steps.store(result, 2, dtype, identity(where))
    return steps.expression()


def compile_jobs(
    wanted: Iterable[tuple[Product, str, str, Any]], target: Target, store: Cache, *, workers: int
) -> tuple[list[Job], list[str]]:
    """Compile (product, label, family, schedule or None); return the jobs, and why others are none."""
    jobs: list[Job] = []
    refused: list[str] = []

    def one(item: tuple[Product, str, str, Any]) -> Job | str:
        product, label, kind, schedule = item
        sizes = {"m": product.m, "n": product.n, "k": product.k}
        found = request(product, kind, target, schedule)
        if reasons := family(kind).violations(found.problem, found.schedule, target):
            return f"{product.name} {label}: {reasons[0]}"
        kernel = render(found)
        try:
            cubin = compile_kernel(kernel.text, kernel.symbol, target, store)
        except ToolchainError as error:
            return f"{product.name} {label}: {error}"
        used = cubin.resources[kernel.symbol]
        if used.spill_store_bytes or used.stack_bytes:
            refused.append(f"{product.name} {label}: spills {used.spill_store_bytes} bytes, a stack of {used.stack_bytes}")
        return Job(
            product=product,
            label=label,
            family=kind,
            schedule=found.schedule,
            symbol=kernel.symbol,
            cubin=cubin.image,
            geometry=bind(family(kind).geometry(found.problem, found.schedule), sizes),
            maps=bind(tensor_maps(found), sizes),
            scalars=bind(found.scalar_values, sizes),
            resources=used,
        )

    with ThreadPoolExecutor(workers) as pool:
        for result in pool.map(one, wanted):
            if isinstance(result, Job):
                jobs.append(result)
            else:
                refused.append(result)
    return jobs, refused


def save(jobs: Sequence[Job], path: Path) -> None:
    """Write jobs for a machine that has the same tree."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(list(jobs)))


def load(path: Path) -> list[Job]:
    """Read what `save` wrote."""
    jobs: list[Job] = pickle.loads(path.read_bytes())
    return jobs


__all__ = ["Job", "Product", "compile_jobs", "load", "replace", "request", "save"]
