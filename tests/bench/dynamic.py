"""One library for a range of shapes against libraries of one shape each: time, the first run of a shape, and memory.

Usage: python -m tests.bench.dynamic [--model bert_base | --file MODEL] [--target sm_90a] [--dims batch=1..32 tokens=1..512]
       [--shapes 1x128 ...] [--random 100] [--out FILE]

Writes one JSON object: for each sampled shape the time of both libraries, in turns, and how far their results are apart; for random
shapes, one after the other, the first run (with what the host works out for the shape), the second, which makes a graph, and later ones;
and the device memory that is taken before, between and after. On the emulated target times are left out, since they would not be speeds.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from models import catalogue, weightless
from nautilus_cli import driver, load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session

SHAPES = ((1, 16), (1, 128), (1, 384), (4, 64), (8, 128), (7, 93), (16, 256), (32, 512))
"""(batch, tokens) that are compared; two are primes or products of them."""

ROUNDS = 3
"""Both libraries are timed so many times in turns; the median of the medians counts."""

STEADY_RUNS = 5
_TO_DEVICE, _STREAM = 0, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is measured.

    Attributes:
        model: the ONNX file.
        target: of the libraries; None for the device present.
        dims: ranges of the open dimensions, by name, the batch first.
        folder: for the libraries.
    """

    model: Path
    target: str | None
    dims: Mapping[str, DimRange]
    folder: Path

    def library(self, name: str, shape: tuple[int, int] | None = None) -> tuple[Path, dict[str, Any]]:
        """Compile a library of one shape, or of all; return it and what is to be said of it."""
        path = self.folder / f"lib{name}.so"
        begin = time.perf_counter()
        sizes = {dim: DimRange(size, size) for dim, size in zip(self.dims, shape or (), strict=False)}
        options = driver.CompileOptions(model=self.model, output=path, target=self.target, dims=sizes or self.dims, verify=False)
        result = driver.compile(options)
        (built,) = result.targets
        row = {"compile_s": round(time.perf_counter() - begin, 2), "kernels": built.kernels, "launches": built.launches}
        return path, row | {"code_bytes": result.library_bytes - result.weight_bytes, "arena_bytes": built.arena_bytes}


def feeds(library: Library, shape: tuple[int, int], seed: int) -> dict[str, np.ndarray]:
    """Return token ids and whatever else the model takes, all of one shape: a mask leaves a tenth of the tokens out."""
    random = np.random.default_rng(seed)
    found = {}
    for tensor in library.inputs:
        values = random.random(shape) < 0.9 if "mask" in tensor.name else random.integers(0, 50, shape)
        found[tensor.name] = values.astype(tensor.dtype)
        if "mask" in tensor.name:
            found[tensor.name][:, 0] = 1
    return found


def compared(subject: Subject, library: Library, shape: tuple[int, int]) -> dict[str, Any]:
    """Return the row of one shape: both libraries, timed in turns."""
    path, static = subject.library(f"{shape[0]}x{shape[1]}", shape)
    row: dict[str, Any] = {"shape": list(shape), "static": static}
    with load(path) as fixed, Session(fixed) as one, Session(library) as other:
        inputs = feeds(fixed, shape, seed=1)
        expected, found = one.feed(inputs), other.feed(inputs)
        apart = [float(np.abs(found[name].astype(np.float64) - truth.astype(np.float64)).max()) for name, truth in expected.items()]
        row["worst_difference"] = max(apart)
        row["largest_value"] = max(float(np.abs(truth.astype(np.float64)).max()) for truth in expected.values())
        if not library.is_emulated:
            times = [[session.time(samples=10, runs=10, warmup=5).median_us for session in (one, other)] for _ in range(ROUNDS)]
            row["static_us"], row["dynamic_us"] = (round(median(column), 2) for column in zip(*times, strict=True))
            row["ratio"] = round(row["dynamic_us"] / row["static_us"], 4)
    path.unlink()
    return row


class DeviceMemory:
    """How much memory of the device is taken, as the driver says."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self._driver.cuInit(0)
        self._driver.cuDeviceGet(ctypes.byref(device), 0)
        self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self._driver.cuCtxSetCurrent(context)

    def taken(self) -> int:
        """Return bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return total.value - free.value


def random_shapes(dims: Mapping[str, DimRange], count: int) -> Iterator[tuple[int, int]]:
    """Yield shapes, small ones as often as large ones."""
    random = np.random.default_rng(5)
    for _ in range(count):
        sizes = [round(float(np.exp(random.uniform(np.log(dim.low), np.log(dim.high))))) for dim in dims.values()]
        yield sizes[0], sizes[1]


def in_sequence(subject: Subject, library: Library, count: int) -> dict[str, Any]:
    """Return how a context does that gets one random shape after the other, after the largest one."""
    memory = DeviceMemory() if not library.is_emulated else None
    rows, taken = [], []
    highs = [dim.high for dim in subject.dims.values()]
    largest = highs[0], highs[1]
    with ExitStack() as stack:
        context = stack.enter_context(library.model.borrow_context())
        places = []
        for tensor in (*library.inputs, *library.outputs):  # room for any shape; token 0 is in every vocabulary, and no mask hides all
            places.append(library.model.allocate(tensor.bytes))
            stack.callback(library.model.free, places[-1])
        filled = [np.ones(tensor.bytes // tensor.dtype.itemsize, tensor.dtype) for tensor in library.inputs]
        for array, place in zip(filled, places, strict=False):
            library.model.copy(place, array.ctypes.data, array.nbytes, _TO_DEVICE, _STREAM)
        context.synchronize(_STREAM)
        inputs, outputs = places[: len(filled)], places[len(filled) :]

        def run_us(shape: tuple[int, int] | None) -> float:
            begin = time.perf_counter()
            if shape is not None:
                context.reshape([shape for _ in library.inputs])
            context.run(inputs, outputs, _STREAM)
            context.synchronize(_STREAM)
            return (time.perf_counter() - begin) * 1e6

        for _ in range(3):
            run_us(largest)
        for number, shape in enumerate(random_shapes(subject.dims, count)):
            if memory is not None and number % 10 == 0:
                taken.append(memory.taken())
            first, second = run_us(shape), run_us(None)
            steady = median(run_us(None) for _ in range(STEADY_RUNS))
            rows.append((shape, first, second, steady))
            print(shape, first, second, steady, file=sys.stderr, flush=True)
        if memory is not None:
            taken.append(memory.taken())
    found: dict[str, Any] = {"shapes": len(rows), "taken_bytes": taken}
    if not library.is_emulated:
        found |= {
            "worst_first": max(first / steady for _, first, _, steady in rows),
            "median_first": median(first / steady for _, first, _, steady in rows),
            "worst_second": max(second / steady for _, _, second, steady in rows),
            "rows": [[*shape, *(round(us, 1) for us in times)] for shape, *times in rows],
        }
    return found


def dim_of(text: str) -> tuple[str, DimRange]:
    """Return name and range of `NAME=LOW..HIGH`."""
    name, _, sizes = text.partition("=")
    low, _, high = sizes.partition("..")
    return name, DimRange(int(low), int(high))


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bert_base")
    parser.add_argument("--file", type=Path, help="an ONNX file in place of a model of the catalogue")
    parser.add_argument("--target")
    parser.add_argument("--dims", nargs=2, default=["batch=1..32", "tokens=1..512"])
    parser.add_argument("--shapes", nargs="*", default=[f"{b}x{n}" for b, n in SHAPES])
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = options.file or folder / "model.onnx"
        if options.file is None:
            weightless.save(weightless.fill(catalogue.graph(options.model, "dynamo", "fp16", 0)), model)
        subject = Subject(model=model, target=options.target, dims=dict(map(dim_of, options.dims)), folder=folder)
        path, built = subject.library("open")
        found: dict[str, Any] = {"model": options.model, "dynamic": built, "rows": []}
        library = stack.enter_context(load(path))
        found["sequence"] = in_sequence(subject, library, options.random)
        for text in ("", *options.shapes):
            if text:
                batch, tokens = map(int, text.split("x"))
                found["rows"].append(compared(subject, library, (batch, tokens)))
                print(json.dumps(found["rows"][-1]), file=sys.stderr, flush=True)
            if options.out:  # after each shape, so that what ends early has told what it knows
                options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if not options.out:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
