"""nautilus tune: search for faster schedules, which compile then uses."""

from __future__ import annotations

from typing import Unpack

import click

from nautilus_cli.cli.options import (
    ModelChoice,
    fp32_mode_option,
    jobs_option,
    json_option,
    model_argument,
    open_graph_options,
    seed_option,
    target_device_option,
    target_option,
)
from nautilus_cli.cli.settings import Settings, common_options


@click.command("tune", short_help="Search for faster schedules.")
@model_argument
@click.option("--trials", type=click.IntRange(min=1), required=True, metavar="N", help="Schedules to try for each distinct problem.")
@target_option
@open_graph_options
@target_device_option
@fp32_mode_option
@jobs_option
@seed_option("the search")
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    trials: int,
    device: int | None,
    jobs: int | None,
    seed: int,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Search for faster schedules of MODEL's kernels.

    What is found is recorded, and every later compile of an equal problem for the same GPU uses it. Where dimensions are open, kernels are
    tuned for the sizes behind the @ of --dim, and compile with the same sizes finds what was recorded.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import show_notes, show_tuning

    options = driver.TuneOptions(
        **choice,
        trials=trials,
        device=device,
        jobs=jobs,
        seed=seed,
    )
    with ProgressLine(settings) as progress:
        result = driver.tune(options, progress=progress)
    show_notes(result.notes, settings)
    show_tuning(result, as_json)
