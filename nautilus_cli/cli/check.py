"""nautilus check: whether a model will compile, and all that keeps it from that."""

from __future__ import annotations

from typing import Unpack

import click

from nautilus_cli.cli.options import (
    ModelChoice,
    fp32_mode_option,
    json_option,
    model_argument,
    open_graph_options,
    target_device_option,
    targets_option,
)
from nautilus_cli.cli.settings import Settings, common_options


@click.command("check", short_help="Say whether a model will compile, and what keeps it from that.")
@model_argument
@targets_option
@open_graph_options
@target_device_option
@fp32_mode_option
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    device: int | None,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Say whether MODEL will compile: every node that will not, with the reason, and what would help where that is known.

    Nothing is built. The exit code is 0 if it will, 3 if not.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.check_results import require_none, show_check
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import show_notes

    options = driver.CheckOptions(**choice, device=device)
    with ProgressLine(settings) as progress:
        result = driver.check(options, progress=progress)
    show_notes(result.notes, settings)
    show_check(result, as_json)
    require_none(result)
