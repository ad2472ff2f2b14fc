"""How the outputs of a run, and generated tokens, are printed: for people, or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nautilus_cli.cli.text import printable, table, to_json

if TYPE_CHECKING:
    from nautilus_cli.driver import GenerateResult, RunResult

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


def show_generation(result: GenerateResult, as_json: bool) -> None:
    """Print the ids on a line, and how long they took."""
    if as_json:
        times = {"first_ms": result.first_ms, "later_ms": result.later_ms}
        data = {"target": result.target, "device": result.device, "emulated": result.is_emulated, "tokens": result.tokens, **times}
        click.echo(to_json(data))
        return
    click.echo(",".join(map(str, result.tokens)))
    later = "" if result.later_ms is None else f", then {result.later_ms:.3g} ms a token"
    place = f"on {printable(result.device)}, target {result.target}{' (emulated: not a speed)' if result.is_emulated else ''}"
    click.echo(f"first token after {result.first_ms:.3g} ms{later}; {place}")


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:.6g}"
