"""How the answer of a check is printed: for people, or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nautilus_cli.cli.text import counted, printable, table, to_json
from nautilus_cli.errors import ModelError, shortened

if TYPE_CHECKING:
    from nautilus_cli.driver import CheckResult

_NUMBERS = ("model", "targets", "opset", "producer", "nodes", "launches", "unexamined", "notes")

_LONGEST_CELL = 200
"""Of a reason or a name in the table; JSON has them whole."""


def show_check(result: CheckResult, as_json: bool) -> None:
    """Print what keeps a model from being compiled, if anything does."""
    if as_json:
        obstacles = [{"node": o.node, "op": o.op, "reason": o.reason, "hint": o.hint} for o in result.obstacles]
        data = {name: getattr(result, name) for name in _NUMBERS}
        click.echo(to_json({**data, "compiles": not obstacles, "obstacles": obstacles}))
        return
    targets = ", ".join(result.targets)
    about = f"{counted(result.nodes, 'node')} of opset {result.opset}{f', by {result.producer}' if result.producer else ''}"
    click.echo(printable(f"{result.model}: {about}"))
    if not result.obstacles:
        click.echo(f"compiles for {targets}: {counted(result.launches or 0, 'launch')}")
        return
    rows = [tuple(shortened(cell, _LONGEST_CELL) for cell in (o.node or "-", o.op or "-", o.reason, o.hint)) for o in result.obstacles]
    click.echo(table(("node", "operator", "reason", "what helps"), rows))
    if result.unexamined:
        behind = "reads" if result.unexamined == 1 else "read"
        click.echo(f"{counted(result.unexamined, 'node')} {behind} what these compute: only the operator was checked there")


def require_none(result: CheckResult) -> None:
    """Check that nothing keeps a model from being compiled.

    Raises:
        ModelError: the model will not compile.
    """
    if result.obstacles:
        hint = result.obstacles[0].hint if len(result.obstacles) == 1 else ""
        count = "1 thing keeps" if len(result.obstacles) == 1 else f"{len(result.obstacles)} things keep"
        targets = ", ".join(result.targets)
        raise ModelError(f"{count} it from being compiled for {targets}.", where=str(result.model), hint=hint or None)
