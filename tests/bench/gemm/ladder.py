"""The ladder: 1024³ from one thread a result to wgmma, each step with what the one before has, and a chart of what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nautilus_cli.kernels import mma_product, product, wgmma_product
from nautilus_cli.kernels.base import Geometry
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel
from tests.bench.gemm.jobs import Job, Product, request

Wanted = Iterator[tuple[Product, str, str, Any]]

EXTENT = 1024
_NAIVE_THREADS = 256
_SYMBOL = "naive_product"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """The schedule of the naive kernel."""

    threads: int


def ladder() -> Wanted:
    """fp32 without tensor cores, then fp16 with them; the step before the first is `naive`."""
    p = Product(m=EXTENT, n=EXTENT, k=EXTENT, dtype="fp32")
    narrow = {"fragment": 1, "vector_a": 1, "vector_b": 1, "vector_c": 1}
    square = {"tile_m": 64, "tile_n": 64, "tile_k": 16, "thread_m": 4, "thread_n": 4}
    large = {"tile_m": 64, "tile_n": 128, "tile_k": 32, "thread_m": 8, "thread_n": 8, "slices_k": 2, "stages": 2}
    steps: tuple[tuple[str, dict[str, int]], ...] = (
        ("2 tile in shared memory", {"tile_m": 16, "tile_n": 16, "tile_k": 16, "thread_m": 1, "thread_n": 1, "stages": 1, **narrow}),
        ("3 tile in registers", {**square, "stages": 1, **narrow}),
        ("4 loads of vectors", {**square, "stages": 1}),
        ("5 double buffer", {**square, "stages": 2}),
        ("6 slices of the depth, 8 by 8", large),
    )
    problem = request(p, "gemm", target("sm_90a")).problem.product
    for label, fields in steps:
        schedule = product.Schedule(**fields)
        yield p, label, "gemm", schedule if "vector_a" in fields else product.with_vectors(problem, schedule)
    yield p, "7 copies between the steps", "gemm", None
    p = Product(m=EXTENT, n=EXTENT, k=EXTENT)
    sm_90a = target("sm_90a")
    schedule = mma_product.Schedule(tile_m=128, tile_n=64, tile_k=64, warp_m=64, warp_n=32, stages=3)
    yield p, "8 mma", "gemm_mma", mma_product.with_vectors(request(p, "gemm_mma", sm_90a).problem.product, schedule)
    bulk = wgmma_product.Schedule(tile_m=128, tile_n=64, consumers=2, group_m=8)
    yield (
        p,
        "9 wgmma and bulk copies",
        "gemm_wgmma",
        wgmma_product.completed(request(p, "gemm_wgmma", sm_90a).problem.product, bulk, sm_90a),
    )


def naive(target: Target, store: Cache) -> Job:
    """Return the first step: no tile at all."""
    cubin = compile_kernel((Path(__file__).parent / "naive.cu").read_text(), _SYMBOL, target, store)
    return Job(
        product=Product(m=EXTENT, n=EXTENT, k=EXTENT, dtype="fp32"),
        label="1 a thread a result",
        family="naive",
        schedule=Threads(threads=_NAIVE_THREADS),
        symbol=_SYMBOL,
        cubin=cubin.image,
        geometry=Geometry(grid=(EXTENT * EXTENT // _NAIVE_THREADS, 1, 1), threads=_NAIVE_THREADS),
        maps=(),
        scalars=(),
        resources=cubin.resources[_SYMBOL],
    )


def chart(measured: Path, picture: Path) -> None:
    """Draw what a run of the ladder measured, with cuBLAS beside it; needs matplotlib."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "ladder", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    rows = [row for row in json.loads(measured.read_text()) if "us" in row]
    found = sorted((row for row in rows if row["label"][0].isdigit()), key=lambda row: str(row["label"]))
    bars: list[tuple[str, str, float]] = []
    for dtype, colour in (("fp32", "#4477aa"), ("fp16", "#76b900")):
        bars += [(row["label"], colour, row["tflops"]) for row in found if dtype in row["product"]]
        if dtype == "fp16":
            last = found[-1]
            bars.append(("10 programmatic edges", colour, last["tflops"] * last["us"] / last["us_pdl"]))
        bars += [(f"cuBLAS, {dtype}", "#999999", row["tflops"]) for row in rows if row["label"] == "cublas" and dtype in row["product"]]
    labels, colours, rates = zip(*bars, strict=True)
    figure, axes = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
    drawn = axes.barh(range(len(rates)), rates, color=colours)
    axes.set_yticks(range(len(rates)), labels)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("TFLOP/s at 1024³ on an H200, logarithmic: fp32 blue, fp16 green")
    axes.bar_label(drawn, labels=[f" {rate:.3g}" for rate in rates])
    axes.margins(x=0.12)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(picture, metadata={"Date": None})
