"""Tells cycles from clocks: what takes time may be instructions, or a chip that slows down to keep its power.

A contender's replay is a graph of a stamp on every multiprocessor, launches with programmatic edges, and another stamp. Stamps hold the
cycle counter and the global timer, so that a ratio of times is that of cycles over that of clocks, of the same interval. What two stamps
with nothing between them take is taken off. See stamp.cu.
"""

from __future__ import annotations

import ctypes
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel
from tests.bench.gemm.jobs import Job, Product
from tests.bench.gemm.measure import Cuda, Operands, Run, captured, checked, timed

_CAPACITY = 8192
_RECORDS = 256
_SHARED_BYTES = 200 * 1024  # of a stamp: most of a multiprocessor's
_MAX_DYNAMIC_SHARED_BYTES = 8
_EMPTY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How contenders take turns.

    Attributes:
        name: for rows of results.
        graph_us: about how long a replay takes.
        replays: of a turn; the first third of them, whose clock is the last contender's, does not count.
        rounds: turns of each contender.
        idle_s: how long the chip does nothing after a turn.
        is_zero: whether operands are zeros, which switch few transistors.
    """

    name: str
    graph_us: float
    rounds: int
    replays: int = 1
    idle_s: float = 0.0
    is_zero: bool = False


REGIMES = (
    Regime(name="turns of 1.5 ms", graph_us=1500, rounds=13),
    Regime(name="turns of 0.2 ms", graph_us=200, rounds=100),
    Regime(name="turns of 20 ms", graph_us=1500, rounds=4, replays=13),
    Regime(name="turns of 0.2 ms, 3 ms idle", graph_us=200, rounds=15, idle_s=0.003),
    Regime(name="zeros", graph_us=1500, rounds=9, is_zero=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a launch takes: medians over the turns of a regime."""

    cycles: float
    us: float
    mhz: float


class Stamps:
    """Launches of stamps, and what they left."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        text = (Path(__file__).parent / "stamp.cu").read_text()
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        cuda.call("cuModuleLoadData", ctypes.byref(module), compile_kernel(text, "stamp", target("sm_90a"), Cache.default()).image)
        cuda.call("cuModuleGetFunction", ctypes.byref(self._function), module, b"stamp")
        cuda.call("cuFuncSetAttribute", self._function, _MAX_DYNAMIC_SHARED_BYTES, _SHARED_BYTES)
        self._multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
        self._launches = torch.zeros(_RECORDS, dtype=torch.int32, device="cuda")
        self._records = torch.zeros(_CAPACITY, _RECORDS, 2, dtype=torch.int64, device="cuda")

    def launch(self) -> None:
        """Launch a stamp on torch's current stream."""
        arguments = (
            ctypes.c_void_p(self._launches.data_ptr()),
            ctypes.c_void_p(self._records.data_ptr()),
            ctypes.c_uint(_CAPACITY),
        )
        parameters = (ctypes.c_void_p * 3)(*(ctypes.addressof(argument) for argument in arguments))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self._cuda.call("cuLaunchKernel", self._function, self._multiprocessors, 1, 1, 1, 1, 1, _SHARED_BYTES, stream, parameters, None)

    def reset(self) -> None:
        """Number stamps from zero again."""
        torch.cuda.synchronize()
        self._launches.zero_()
        torch.cuda.synchronize()

    def intervals(self, count: int) -> np.ndarray:
        """Return cycles and nanoseconds between the stamps of each of COUNT pairs, [count, 2]: medians over multiprocessors."""
        torch.cuda.synchronize()
        launches = self._launches.cpu().numpy()
        used = np.flatnonzero(launches)
        if 2 * count > _CAPACITY or len(used) != self._multiprocessors or (launches[used] != 2 * count).any():
            raise RuntimeError(f"{count} pairs of stamps: {np.unique(launches[used])} of each on {len(used)} multiprocessors")
        records = self._records[: 2 * count].cpu().numpy()[:, used].reshape(count, 2, len(used), 2)
        return np.asarray(np.median(records[:, 1] - records[:, 0], axis=1))


def stamped(stamps: Stamps, run: Run, launches: int) -> torch.cuda.CUDAGraph:
    """Return a graph of launches between two stamps."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        stamps.launch()
        for number in range(launches):
            run(number)
        stamps.launch()
        graph.capture_end()
    return graph


def in_regime(
    stamps: Stamps, graphs: Mapping[str, torch.cuda.CUDAGraph], regime: Regime, launches: int, bare: Sequence[float]
) -> dict[str, Row]:
    """Return what each graph's launches take; BARE is what two stamps do."""
    stamps.reset()
    labels, shuffled = list(graphs), random.Random(0)
    counted: list[tuple[str, bool]] = []
    for turn in range(regime.rounds):
        shuffled.shuffle(labels)
        for label in labels:
            for replay in range(regime.replays):
                graphs[label].replay()
                counted.append((label, turn > 0 and replay >= regime.replays // 3))
            if regime.idle_s:
                torch.cuda.synchronize()
                time.sleep(regime.idle_s)
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    for (label, counts), interval in zip(counted, stamps.intervals(len(counted)), strict=True):
        if counts:
            found[label].append(interval)
    return {
        label: Row(
            cycles=(statistics.median(float(cycles) for cycles, _ in found[label]) - bare[0]) / launches,
            us=(statistics.median(float(ns) for _, ns in found[label]) - bare[1]) / launches / 1e3,
            mhz=statistics.median(float(cycles / ns) for cycles, ns in found[label]) * 1e3,
        )
        for label in graphs
    }


def measure(product: Product, jobs: Sequence[Job], cuda: Cuda, stamps: Stamps) -> Iterator[tuple[Regime, dict[str, Row]]]:
    """Yield what the jobs of a product, with any epilogue, take in each regime.

    Raises:
        RuntimeError: A job's result is wrong.
    """
    operands = Operands(product)
    runs: dict[str, Run] = {}
    for job in jobs:
        row, launch = checked(job, operands, cuda)
        if not row["is_right"]:
            raise RuntimeError(f"{product.name} {job.label}: error {row['error']}")
        runs[job.label] = partial(launch, is_dependent=True)
    estimate = timed(captured(next(iter(runs.values())), 4)) / 4
    empty = stamped(stamps, next(iter(runs.values())), 0)
    stamps.reset()
    for _ in range(_EMPTY):
        empty.replay()
    bare = [float(of) for of in np.median(stamps.intervals(_EMPTY), axis=0)]
    graphs: dict[int, dict[str, torch.cuda.CUDAGraph]] = {}
    for regime in REGIMES:
        launches = max(1, round(regime.graph_us / estimate))
        if launches not in graphs:
            graphs[launches] = {label: stamped(stamps, run, launches) for label, run in runs.items()}
        if regime.is_zero:
            for operand in (operands.a, *operands.b):
                operand.zero_()
        yield regime, in_regime(stamps, graphs[launches], regime, launches, bare)


def run(jobs: Sequence[Job], out: Path) -> int:
    """Measure jobs; of each product the first is what others are compared to."""
    products: dict[Product, list[Job]] = defaultdict(list)
    for job in jobs:
        products[job.product.plain].append(job)
    cuda = Cuda()
    stamps = Stamps(cuda)
    rows = []
    for product, contenders in products.items():
        print(f"-- {product.name}")
        for regime, found in measure(product, contenders, cuda, stamps):
            first = next(iter(found.values()))
            for label, row in found.items():
                rows.append({"product": product.name, "regime": regime.name, "label": label, **asdict(row)})
                print(
                    f"   {regime.name:<28} {label:<40} {row.us:9.2f} us {100 * (row.us / first.us - 1):+6.1f} %  {row.cycles:9.0f} cycles"
                    f" {100 * (row.cycles / first.cycles - 1):+6.1f} %  {row.mhz:5.0f} MHz"
                )
            out.write_text(json.dumps(rows, indent=1))
    return 0
