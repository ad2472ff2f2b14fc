"""nautilus bench --gemm: how long a matrix product takes, beside cuBLAS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nautilus_cli.cli.progress import ProgressLine
from nautilus_cli.cli.settings import Settings
from nautilus_cli.cli.text import printable, to_json

if TYPE_CHECKING:
    from nautilus_cli.driver import ProductBenchOptions, ProductBenchResult

DTYPES = ("fp16", "bf16", "fp32", "tf32", "3xtf32")


def extents(text: str) -> tuple[int, int, int]:
    """Return the numbers of M,N,K.

    Raises:
        click.BadParameter: these are none.
    """
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise click.BadParameter(f"'{printable(text)}' is not M,N,K: three numbers of at least 1, as 4096,4096,1024.")
    m, n, k = (int(part) for part in parts)
    return m, n, k


def symbolic(text: str) -> str:
    """Return the letters of m,n,k, or of some of them, in that order.

    Raises:
        click.BadParameter: these are others.
    """
    parts = [part.strip().lower() for part in text.split(",")]
    if not all(parts.count(part) == 1 and part in ("m", "n", "k") for part in parts):
        raise click.BadParameter(f"'{printable(text)}' is not some of m,n,k, as m or n,k.")
    return "".join(name for name in "mnk" if name in parts)


def measure(options: ProductBenchOptions, settings: Settings, as_json: bool) -> None:
    """Measure and print a product."""
    from nautilus_cli import driver

    with ProgressLine(settings) as progress:
        result = driver.bench_product(options, progress=progress)
    click.echo(to_json(result.to_data()) if as_json else "\n".join(_lines(result)))


def _lines(result: ProductBenchResult) -> list[str]:
    m, n, k = result.extents
    schedule = " ".join(f"{name}={value}" for name, value in result.schedule.items())
    lines = [
        f"{m} × {n} × {k}, {result.dtype}: {result.target} on {printable(result.device)}",
        f"{result.family} {schedule}",
        f"{result.latency_us:.2f} µs, {result.tflops:.1f} TFLOP/s; error {result.error:.1e} against float64",
    ]
    if result.estimated_us is not None:
        lines.append(f"estimated {result.estimated_us:.2f} µs")
    if result.known_us is not None:
        names = ", ".join(result.symbolic)
        ratio = result.latency_us / result.known_us
        lines.append(f"with {names} as arguments; the kernel for these extents alone {result.known_us:.2f} µs: {ratio:.2f} times its time")
    if result.cublas_us is not None:
        lines.append(f"cuBLAS {result.cublas_us:.2f} µs: {result.cublas_us / result.latency_us:.2f} times as long")
    lines.append(f"median of replays of {result.launches} launches over {result.copies} copies of B")
    return [*lines, *map(printable, result.notes)]
