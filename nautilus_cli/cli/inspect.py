"""nautilus inspect: what is in a model or a library, and what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from nautilus_cli.cli.options import ModelChoice, fp32_mode_option, json_option, open_graph_options, target_option
from nautilus_cli.cli.settings import Settings, common_options


@click.command("inspect", short_help="Show what is in a model or a library.")
@click.argument("model", type=click.Path(path_type=Path), metavar="MODEL|LIB.so")
@target_option
@open_graph_options
@fp32_mode_option
@click.option("--explain", metavar="NODE", help="Say everything about one ONNX node.")
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    explain: str | None,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Show the graph, fusion groups, kernels with their schedules, the memory plan, and what is unsupported."""
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import show_inspection

    options = driver.InspectOptions(**choice, explain=explain)
    with ProgressLine(settings) as progress:
        result = driver.inspect(options, progress=progress)
    show_inspection(result, as_json)
