"""How the outputs of a run are printed: for people, or as JSON."""

from __future__ import annotations

import click

from nautilus_cli.cli.result_types import RunResult
from nautilus_cli.cli.text import printable, table, to_json

_NUMBERS = ("min", "mean", "max", "nan", "inf")


def show_run(result: RunResult, as_json: bool) -> None:
    """Print what the outputs are, in a few numbers each."""
    if as_json:
        outputs = [
            {"name": name, "dtype": found.dtype, "shape": found.shape, **{number: getattr(found, number) for number in _NUMBERS}}
            for name, found in result.outputs.items()
        ]
        data = {"target": result.target, "device": result.device, "emulated": result.is_emulated, "file": result.file}
        click.echo(to_json({**data, "outputs": outputs}))
        return
    columns = ("output", "type", "shape", "min", "mean", "max", "NaN", "Inf")
    rows = [
        (name, found.dtype, "x".join(map(str, found.shape)) or "scalar", *(_shown(getattr(found, number)) for number in _NUMBERS))
        for name, found in result.outputs.items()
    ]
    click.echo(table(columns, rows))
    if result.file is not None:
        click.echo(f"{printable(str(result.file))}: outputs on {printable(result.device)}, target {result.target}")


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:.6g}"
