"""Random shapes, one after the other, in one context: what the first run of a shape takes, and what memory."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.library import Library

STEADY_RUNS = 7

COLUMNS = ("batch", "tokens", "reshape", "first_launched", "first", "second", "steady_launched", "steady", "device")
"""Of a row: sizes, and microseconds; what a run takes includes the host's waiting for it, but what the device does alone, back to back."""

SEEDS = (5, 6)
"""Of the random shapes: a sequence each, in contexts of their own."""

WORST = 5
"""So many shapes are told whose first run takes longest against later ones."""

BACK_TO_BACK = 10
"""Runs without a wait in between, of which the device's own time is the mean."""

BUCKETS_FILLED = 10
"""After so many shapes a context has all graphs that it keeps."""

_TO_DEVICE = 0


class Device:
    """A stream of its own, and how much memory of the device is taken, as the driver says."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self._driver.cuInit(0)
        self._driver.cuDeviceGet(ctypes.byref(device), 0)
        self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self._driver.cuCtxSetCurrent(context)
        stream = ctypes.c_void_p()
        self._driver.cuStreamCreate(ctypes.byref(stream), 1)  # that waits for no other
        self.stream = stream.value or 0

    def taken(self) -> int:
        """Return bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value


def resident_bytes() -> int:
    """Return what memory of the host this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def random_shapes(dims: Mapping[str, DimRange], count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Yield shapes, small ones as often as large ones."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        sizes = [round(float(np.exp(random.uniform(np.log(dim.low), np.log(dim.high))))) for dim in dims.values()]
        yield sizes[0], sizes[1]


def in_sequence(dims: Mapping[str, DimRange], library: Library, count: int, seed: int) -> dict[str, Any]:
    """Return how a context does that gets one random shape after the other, after the largest one."""
    device = None if library.is_emulated else Device()
    stream = 0 if device is None else device.stream
    rows: list[list[float]] = []
    taken, resident = [], []
    highs = [dim.high for dim in dims.values()]
    largest = highs[0], highs[1]
    with ExitStack() as stack:
        context = library.model.create_context()
        stack.callback(context.destroy)
        places = []
        for tensor in (*library.inputs, *library.outputs):  # room for any shape; token 0 is in every vocabulary, and no mask hides all
            places.append(library.model.allocate(tensor.bytes))
            stack.callback(library.model.free, places[-1])
        filled = [np.ones(tensor.bytes // tensor.dtype.itemsize, tensor.dtype) for tensor in library.inputs]
        for array, place in zip(filled, places, strict=False):
            library.model.copy(place, array.ctypes.data, array.nbytes, _TO_DEVICE, stream)
        context.synchronize(stream)
        inputs, outputs = places[: len(filled)], places[len(filled) :]

        def run_us(shape: tuple[int, int] | None) -> tuple[float, float, float]:
            """Return when the shape was taken, when all was launched and when it had run."""
            begin = time.perf_counter()
            if shape is not None:
                context.reshape([shape for _ in library.inputs])
            reshaped = time.perf_counter()
            context.run(inputs, outputs, stream)
            launched = time.perf_counter()
            context.synchronize(stream)
            return (reshaped - begin) * 1e6, (launched - begin) * 1e6, (time.perf_counter() - begin) * 1e6

        def back_to_back_us() -> float:
            """Return the time of a run of which the host is ahead: the device's own."""
            begin = time.perf_counter()
            for _ in range(BACK_TO_BACK):
                context.run(inputs, outputs, stream)
            context.synchronize(stream)
            return (time.perf_counter() - begin) * 1e6 / BACK_TO_BACK

        def note_memory() -> None:
            if device is not None:
                taken.append(device.taken())
                resident.append(resident_bytes())

        note_memory()
        for shape in (largest, None, None):
            run_us(shape)
        for shape in random_shapes(dims, count, seed):
            (reshape, launched, first), (_, _, second) = run_us(shape), run_us(None)
            note_memory()  # not ahead of a first run, which it would find in other caches than later runs do
            if rows:
                print(*rows[-1], file=sys.stderr, flush=True)
            steady = [run_us(None) for _ in range(STEADY_RUNS)]
            steady_launched, steady_us = (median(one[part] for one in steady) for part in (1, 2))
            times = reshape, launched, first, second, steady_launched, steady_us, back_to_back_us()
            rows.append([*shape, *(round(us, 1) for us in times)])
    found: dict[str, Any] = {"shapes": len(rows), "seed": seed}
    if device is None:
        return found
    of = {name: [row[number] for row in rows] for number, name in enumerate(COLUMNS)}
    firsts = [first / steady for first, steady in zip(of["first"], of["steady"], strict=True)]
    seconds = [second - steady for second, steady in zip(of["second"], of["steady"], strict=True)]
    slowest = sorted(zip(firsts, rows, strict=True), reverse=True)[:WORST]
    return found | {
        "worst_first": max(firsts),
        "worst": [[round(ratio, 2), *row] for ratio, row in slowest],
        "median_first": median(firsts),
        "median_reshape_us": median(of["reshape"]),
        "median_launched_us": median(all_ - sizes for all_, sizes in zip(of["first_launched"], of["reshape"], strict=True)),
        "median_graph_us": median(seconds),
        "worst_graph_us": max(seconds),
        "grown_bytes": taken[-1] - taken[1 + BUCKETS_FILLED] if count > BUCKETS_FILLED else 0,
        "columns": COLUMNS,
        "rows": rows,
        "taken_bytes": taken,
        "resident_bytes": resident,
    }
