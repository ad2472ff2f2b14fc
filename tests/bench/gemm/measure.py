"""Times products on a GPU beside cuBLAS (torch.mm), in the same run, and checks every kernel against float64.

Each contender is a CUDA graph of launches that walk over copies of B and C, so that weights come from device memory as in a model; A stays.
Contenders take turns, one replay each, in another order every time; the median over the turns counts. Data are random.
"""

from __future__ import annotations

import ctypes
import random
import statistics
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from tests.bench.gemm.jobs import Job, Product
from tests.emulated.driver import PROGRAMMATIC_STREAM_SERIALIZATION, LaunchAttribute, LaunchConfig
from tests.emulated.tensor_maps import MAP_ALIGNMENT, TensorMap, aligned_buffer, encode

ROTATED_BYTES = 160 << 20
"""Of all copies of B: more than twice an H200's L2."""
MOST_COPIES = 64
GRAPH_US = 1500
TURNS = 11
CHECKED_ROWS = 48

TORCH = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "tf32": torch.float32, "3xtf32": torch.float32}
ERRORS = {"fp16": 2e-3, "bf16": 1.2e-2, "fp32": 1e-5, "tf32": 2e-3, "3xtf32": 1e-5}
"""Greatest norm of the error over that of the result."""

_MAX_DYNAMIC_SHARED_BYTES = 8
_CLUSTER_DIMENSION = 4
_PROMOTION_256_BYTES = 3


Run = Callable[[int], None]
"""Launches something once, told the number of the launch."""


class Cuda:
    """The driver, in the context that torch has made."""

    def __init__(self) -> None:
        torch.zeros(1, device="cuda")
        self._library = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *arguments: object) -> None:
        """Call a function and check its status."""
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {status}")

    def function(self, job: Job) -> ctypes.c_void_p:
        """Load a job's kernel."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), job.cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, job.symbol.encode())
        self.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_BYTES, job.geometry.smem_bytes)
        return function

    def clusters(self, job: Job, function: ctypes.c_void_p) -> int | None:
        """Return how many clusters are resident at once; None for blocks without one."""
        size = getattr(job.schedule, "cluster", getattr(job.schedule, "cluster_k", 1))
        if size == 1:
            return None
        attribute = LaunchAttribute(id=_CLUSTER_DIMENSION)
        attribute.value[0], attribute.value[1], attribute.value[2] = size, 1, 1
        config = LaunchConfig(
            grid=job.geometry.grid,
            block=(job.geometry.threads, 1, 1),
            shared_bytes=job.geometry.smem_bytes,
            attributes=ctypes.pointer(attribute),
            attribute_count=1,
        )
        found = ctypes.c_int()
        self.call("cuOccupancyMaxActiveClusters", ctypes.byref(found), function, ctypes.byref(config))
        return found.value

    def block(self, job: Job, pointers: Sequence[int]) -> ctypes.Array[ctypes.c_char]:
        """Return a job's argument block."""
        maps = b""
        for tensor in job.maps:
            described = TensorMap.of(tensor)
            status, encoded = encode(self._library.cuTensorMapEncodeTiled, described, pointers[tensor.slot], _PROMOTION_256_BYTES)
            if status:
                raise RuntimeError(f"cuTensorMapEncodeTiled: {status} for {tensor}")
            maps += encoded
        content = maps + struct.pack(f"<{len(pointers)}Q{len(job.scalars)}q", *pointers, *job.scalars)
        block = aligned_buffer(-(-len(content) // MAP_ALIGNMENT) * MAP_ALIGNMENT, MAP_ALIGNMENT)
        block[: len(content)] = content
        return block

    def launch(self, job: Job, function: ctypes.c_void_p, block: ctypes.Array[ctypes.c_char], *, is_dependent: bool) -> None:
        """Launch on torch's current stream, with programmatic dependent launch or without."""
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        attribute = LaunchAttribute(id=PROGRAMMATIC_STREAM_SERIALIZATION)
        attribute.value[0] = 1
        config = LaunchConfig(
            grid=job.geometry.grid,
            block=(job.geometry.threads, 1, 1),
            shared_bytes=job.geometry.smem_bytes,
            stream=torch.cuda.current_stream().cuda_stream,
            attributes=ctypes.pointer(attribute),
            attribute_count=int(is_dependent),
        )
        self.call("cuLaunchKernelEx", ctypes.byref(config), function, parameters, None)


class Operands:
    """A, and copies of B and C, of random numbers."""

    def __init__(self, product: Product) -> None:
        p, dtype = product, TORCH[product.dtype]
        generator = torch.Generator("cuda").manual_seed(p.m + 3 * p.n + 7 * p.k)
        size = torch.empty(0, dtype=dtype).element_size()
        copies = max(1, min(MOST_COPIES, -(-ROTATED_BYTES // (p.n * p.k * size))))

        def random(*shape: int) -> torch.Tensor:
            return torch.randn(shape, device="cuda", generator=generator, dtype=torch.float32).to(dtype)

        self.a = random(*((p.m, p.k) if p.a_k_last else (p.k, p.m)))
        self.b = [random(*((p.n, p.k) if p.b_k_last else (p.k, p.n))) for _ in range(copies)]
        self.c = [torch.full((p.m, p.n), float("nan"), device="cuda", dtype=dtype) for _ in range(copies)]
        self.bias = random(p.n)
        self.left = self.a if p.a_k_last else self.a.t()
        self.right = [b.t() if p.b_k_last else b for b in self.b]

    def pointers(self, product: Product, copy: int) -> list[int]:
        """Return the pointer arguments of a kernel."""
        found = [self.a.data_ptr(), self.b[copy].data_ptr(), self.c[copy].data_ptr()]
        return found if product.epilogue == "plain" else [*found, self.bias.data_ptr()]

    def expected(self, product: Product, copy: int, rows: torch.Tensor) -> torch.Tensor:
        """Return some rows of the result in float64."""
        result = self.left[rows].double() @ self.right[copy].double()
        if product.epilogue != "plain":
            result = result + self.bias.double()
        return torch.nn.functional.gelu(result) if product.epilogue == "gelu" else result


def error_of(product: Product, operands: Operands, copy: int) -> float:
    """Return the norm of the error of some rows over that of the rows; NaN where an element of the result is."""
    result = operands.c[copy]
    if bool(torch.isnan(result).any()):
        return float("nan")
    rows = torch.unique(torch.randint(0, product.m, (CHECKED_ROWS,), device="cuda"))
    expected = operands.expected(product, copy, rows)
    return float((result[rows].double() - expected).norm() / expected.norm())


def captured(run: Run, launches: int) -> torch.cuda.CUDAGraph:
    """Return a graph of launches."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for number in range(launches):
            run(number)
    graph.replay()
    torch.cuda.synchronize()
    return graph


def timed(graph: torch.cuda.CUDAGraph) -> float:
    """Return the microseconds of a replay."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def in_turns(graphs: Mapping[str, tuple[torch.cuda.CUDAGraph, int]], turns: int) -> dict[str, list[float]]:
    """Return the microseconds a launch of every turn of some graphs, each with the number of its launches."""
    times: dict[str, list[float]] = {label: [] for label in graphs}
    labels, shuffled = list(graphs), random.Random(0)
    for _ in range(turns):
        shuffled.shuffle(labels)  # who follows one that heats the chip has lower clocks
        for label in labels:
            graph, launches = graphs[label]
            times[label].append(timed(graph) / launches)
    return times


def rivals(operands: Operands, epilogues: Collection[str]) -> dict[str, Run]:
    """Return what cuBLAS has: the product alone, and with each of some epilogues."""
    copies = len(operands.b)

    def plain(number: int) -> None:
        torch.mm(operands.left, operands.right[number % copies], out=operands.c[number % copies])

    def biased(number: int) -> None:
        torch.addmm(operands.bias, operands.left, operands.right[number % copies], out=operands.c[number % copies])

    def activated(number: int) -> None:  # by the tanh, which is what cuBLAS has
        torch._addmm_activation(
            operands.bias, operands.left, operands.right[number % copies], use_gelu=True, out=operands.c[number % copies]
        )

    return {"cublas": plain} | {f"cublas {name}": run for name, run in (("bias", biased), ("gelu", activated)) if name in epilogues}


def checked(job: Job, operands: Operands, cuda: Cuda) -> tuple[dict[str, Any], Callable[[int, bool], None]]:
    """Return the row of a job without times, and what launches it, told the number of the launch and whether it has a programmatic edge."""
    copies = len(operands.b)
    function = cuda.function(job)
    blocks = [cuda.block(job, operands.pointers(job.product, copy)) for copy in range(copies)]

    def launch(number: int, is_dependent: bool) -> None:
        cuda.launch(job, function, blocks[number % copies], is_dependent=is_dependent)

    operands.c[copies - 1].fill_(float("nan"))
    launch(copies - 1, False)
    torch.cuda.synchronize()
    error = error_of(job.product, operands, copies - 1)
    row = {
        "product": job.product.name,
        "label": job.label,
        "family": job.family,
        "symbolic": job.product.symbolic,
        "schedule": asdict(job.schedule),
        "registers": job.resources.registers,
        "clusters": cuda.clusters(job, function),
        "error": error,
        "is_right": error < ERRORS[job.product.dtype],
    }
    return row, launch


def measure(product: Product, jobs: Sequence[Job], cuda: Cuda, *, turns: int = TURNS) -> list[dict[str, Any]]:
    """Check and time the jobs of a product, with any epilogue, and torch.mm beside them."""
    torch.backends.cuda.matmul.allow_tf32 = product.dtype == "tf32"
    operands = Operands(product)
    epilogues = sorted({job.product.epilogue for job in jobs} - {"plain"})
    contenders = rivals(operands, epilogues)
    contenders["cublas"](0)
    rows = []
    for job in jobs:
        row, launch = checked(job, operands, cuda)
        rows.append(row)
        if row["is_right"]:
            contenders[job.label] = partial(launch, is_dependent=False)
            contenders[f"{job.label}+pdl"] = partial(launch, is_dependent=True)
    estimate = timed(captured(contenders["cublas"], 4)) / 4
    launches = int(max(4, min(256, GRAPH_US / estimate)))
    graphs = {label: captured(run, launches) for label, run in contenders.items()}
    times = in_turns({label: (graph, launches) for label, graph in graphs.items()}, turns)
    median = {label: statistics.median(found) for label, found in times.items()}
    flops = 2.0 * product.m * product.n * product.k
    best = median["cublas"]
    for job, row in zip(jobs, rows, strict=True):
        if not row["is_right"]:
            continue
        own, dependent = median[job.label], median[f"{job.label}+pdl"]
        row |= {"us": own, "us_pdl": dependent, "cublas_us": best, "spread_us": max(times[job.label]) - min(times[job.label])}
        row |= {"ratio": best / own, "ratio_pdl": best / dependent, "tflops": flops / own / 1e6}
        row["error_after"] = _error_under_load(job, graphs[job.label], operands, launches)
    rows += [{"product": f"{product.name}-{name}", "label": f"cublas {name}", "us": median[f"cublas {name}"]} for name in epilogues]
    rows.append(
        {
            "product": product.name,
            "label": "cublas",
            "us": best,
            "tflops": flops / best / 1e6,
            "launches": launches,
            "copies": len(operands.b),
        }
    )
    return rows


def _error_under_load(job: Job, graph: torch.cuda.CUDAGraph, operands: Operands, launches: int) -> float:
    """Return the greatest error of what was timed: a race shows there."""
    for c in operands.c:
        c.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    return max(error_of(job.product, operands, copy) for copy in {0, min(launches, len(operands.b)) - 1})
