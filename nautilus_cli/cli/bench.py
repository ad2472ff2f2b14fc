"""nautilus bench: how long a library takes."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

import click

from nautilus_cli.cli.bench_product import DTYPES, measure
from nautilus_cli.cli.bench_product import extents as product_extents
from nautilus_cli.cli.bench_product import symbolic as symbolic_extents
from nautilus_cli.cli.options import (
    device_option,
    json_option,
    percents,
    place_option,
    ranges_option,
    seed_option,
)
from nautilus_cli.cli.settings import Settings, common_options

_PERCENTILES = (10.0, 90.0, 99.0)


class LoadChoice(TypedDict):
    """How a library is run to be measured: `driver.Load` as a mapping."""

    iterations: int
    warmup: int
    duration_s: float
    contexts: int
    include_transfers: bool


@click.command("bench", short_help="Measure how long a library takes.")
@click.argument("library", type=click.Path(path_type=Path), metavar="LIB.so", required=False)
@click.option("--iterations", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Samples to take, at least.")
@click.option("--warmup", type=click.IntRange(min=0), default=10, show_default=True, metavar="N", help="Runs before the first sample.")
@click.option(
    "--duration",
    "duration_s",
    type=click.FloatRange(min=0),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to measure, at least.",
)
@click.option(
    "--contexts", type=click.IntRange(1, 256), default=1, show_default=True, metavar="N", help="Contexts that run at the same time."
)
@click.option("--include-transfers", is_flag=True, help="Count the copies from and to host memory, too.")
@click.option("--no-graph", is_flag=True, help="Launch kernel after kernel instead of one CUDA graph.")
@click.option(
    "--percentile", "percentiles", type=percents, multiple=True, metavar="P[,P...]", help="A percentile to show beside 10, 50, 90 and 99."
)
@click.option("--inputs", type=click.Path(path_type=Path), metavar="X.npz", help="Inputs by name. Default: drawn, as their use allows.")
@seed_option("the inputs drawn")
@ranges_option
@click.option(
    "--against", type=click.Path(path_type=Path), metavar="MODEL", help="Measure onnxruntime on that model and the same inputs, too."
)
@click.option(
    "--gemm", "extents", type=product_extents, metavar="M,N,K", help="In place of a library: C [M, N] = A [M, K] B, beside cuBLAS."
)
@click.option(
    "--symbolic",
    type=symbolic_extents,
    metavar="m[,n,k]",
    help="Extents of --gemm that only a run knows: their kernel beside the one for known extents.",
)
@click.option("--dtype", type=click.Choice(DTYPES), default="fp16", show_default=True, help="What --gemm multiplies.")
@device_option
@place_option
@click.option("--export", type=click.Path(path_type=Path), metavar="FILE.json", help="Write the result with every sample there.")
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    library: Path | None,
    no_graph: bool,
    percentiles: tuple[tuple[float, ...], ...],
    inputs: Path | None,
    seed: int,
    ranges: dict[str, tuple[float, float]],
    against: Path | None,
    extents: tuple[int, int, int] | None,
    symbolic: str | None,
    dtype: str,
    device: int,
    place: str,
    export: Path | None,
    as_json: bool,
    **load: Unpack[LoadChoice],
) -> None:
    """Measure how long one run of LIB.so takes, and how many there are in a second.

    A sample is the time between two events on the GPU around a run; runs shorter than 100 µs are timed several at a time. With
    --include-transfers it is the host's time for copies and run together. An emulated library says nothing about the speed of a GPU.

    With --gemm a matrix product is measured with the schedule that a compilation would take, weights coming from memory, and cuBLAS in
    turns with it where torch is installed; of the other options only --symbolic, --dtype, --seed, --device, --emulated, --export and
    --json count.
    """
    if (library is None) == (extents is None):
        raise click.UsageError("Give either LIB.so or --gemm M,N,K.")
    if symbolic and extents is None:
        raise click.UsageError("--symbolic names extents of --gemm M,N,K.")
    from nautilus_cli import driver
    from nautilus_cli.cli.bench_results import show_bench
    from nautilus_cli.cli.progress import ProgressLine

    if extents is not None:
        measure(
            driver.ProductBenchOptions(
                extents=extents,
                dtype=dtype,
                symbolic=symbolic or "",
                target="emulated" if place == "emulated" else None,
                device=device or None,
                seed=seed,
                export=export,
            ),
            settings,
            as_json,
        )
        return
    assert library is not None
    options = driver.BenchOptions(
        library=library,
        against=against,
        inputs=inputs,
        seed=seed,
        ranges=ranges,
        load=driver.Load(**load, has_graph=not no_graph),
        percentiles=(*_PERCENTILES, *(percent for group in percentiles for percent in group)),
        device=device,
        place=place,
        export=export,
    )
    with ProgressLine(settings) as progress:
        result = driver.bench(options, progress=progress)
    show_bench(result, as_json)
