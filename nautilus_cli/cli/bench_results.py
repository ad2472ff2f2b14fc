"""How measurements are printed: for people, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nautilus_cli.cli.text import printable, table, to_json

if TYPE_CHECKING:
    from nautilus_cli.driver import BenchResult


def show_bench(result: BenchResult, as_json: bool) -> None:
    """Print microseconds of one run, and runs in a second."""
    data = result.to_data()
    click.echo(to_json(data) if as_json else "\n".join(_lines(data)))


def _lines(data: Mapping[str, Any]) -> list[str]:
    load = data["load"]
    how = [
        f"{load['contexts']} contexts" if load["contexts"] > 1 else "1 context",
        "CUDA graph" if load["has_graph"] else "no CUDA graph",
        "with transfers" if load["include_transfers"] else "without transfers",
    ]
    lines = [f"{printable(data['library'])}: {data['target']} on {printable(data['device'])}; {', '.join(how)}"]
    lines.append(_table(data["series"]))
    lines += [
        f"{series['name']}: µs of one run; {series['samples']} samples of {series['runs_per_sample']} in {series['elapsed_s']:.1f} s"
        for series in data["series"]
    ]
    lines.append(f"inputs: {', '.join(f'{printable(name)}: {what}' for name, what in data['inputs'].items()) or 'none'}")
    clocks = data["clocks"]
    if clocks:
        lines.append(
            f"clocks: {clocks['sm_mhz']:g} MHz ({clocks['lowest_sm_mhz']} to {clocks['highest_sm_mhz']}, at most {clocks['most_sm_mhz']}), "
            f"memory {clocks['memory_mhz']:g} MHz"
        )
    lines.append("versions: " + ", ".join(f"{name} {version}" for name, version in data["versions"].items()))
    if len(data["series"]) == 2 and not data["emulated"]:
        ours, theirs = (series["latency_us"]["median"] for series in data["series"])
        lines.append(f"{data['series'][1]['name']} takes {theirs / ours:.2f} times as long as the library (median)")
    return [*lines, *map(printable, data["notes"])]


def _table(series: Sequence[Mapping[str, Any]]) -> str:
    """Return the latencies in ascending order of their percentile, the mean, and the throughput."""
    percentiles = sorted((float(name[1:]), name) for name in series[0]["latency_us"] if name.startswith("p"))
    below = [name for percent, name in percentiles if percent < 50]
    above = [name for percent, name in percentiles if percent >= 50]
    columns = ["min", *below, "median", *above, "max", "mean"]
    rows = [
        (found["name"], *(f"{found['latency_us'][column]:.2f}" for column in columns), f"{found['throughput_per_s']:.1f}")
        for found in series
    ]
    return table(("", *columns, "runs/s"), rows)
