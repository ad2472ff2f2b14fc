"""nautilus run: a library once, on arrays in a file."""

from __future__ import annotations

from pathlib import Path

import click

from nautilus_cli.cli.options import device_option, json_option, library_argument, place_option
from nautilus_cli.cli.settings import Settings, common_options


@click.command("run", short_help="Run a library on arrays in a file.")
@library_argument
@click.option("--inputs", type=click.Path(path_type=Path), metavar="X.npz", help="An array for each input, by name.")
@click.option("--outputs", type=click.Path(path_type=Path), metavar="Y.npz", help="Write the outputs there, by name.")
@device_option
@place_option
@json_option
@common_options
@click.pass_obj
def command(settings: Settings, library: Path, inputs: Path | None, outputs: Path | None, device: int, place: str, as_json: bool) -> None:
    """Run LIB.so once, and show what came out.

    Nothing is converted: arrays have the element types and shapes that 'nautilus inspect LIB.so' shows. A bfloat16 tensor, or
    one of a narrower type, is stored as its bits, in uint16 or uint8.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.run_results import show_run

    options = driver.RunOptions(library=library, inputs=inputs, outputs=outputs, device=device, place=place)
    with ProgressLine(settings) as progress:
        result = driver.run(options, progress=progress)
    show_run(result, as_json)
