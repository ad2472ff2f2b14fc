"""nautilus verify: a library against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import click

from nautilus_cli.cli.options import json_option, model_argument, ranges_option, seed_option, tolerance_options
from nautilus_cli.cli.settings import Settings, common_options


@click.command("verify", short_help="Compare a library with onnxruntime.")
@model_argument
@click.argument("library", type=click.Path(path_type=Path), metavar="LIB.so")
@click.option("--inputs", type=click.Path(path_type=Path), metavar="X.npz", help="Inputs by name. Default: drawn, as their use allows.")
@seed_option("the inputs drawn")
@ranges_option
@tolerance_options
@click.option("--save-outputs", type=click.Path(path_type=Path), metavar="Y.npz", help="Keep the library's outputs there.")
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    model: Path,
    library: Path,
    inputs: Path | None,
    seed: int,
    ranges: dict[str, tuple[float, float]],
    rtol: dict[str | None, float],
    atol: dict[str | None, float],
    save_outputs: Path | None,
    as_json: bool,
) -> None:
    """Compare the outputs of LIB.so with onnxruntime's for MODEL.

    An element fails only if it exceeds both tolerances. Exit code 6 says that one did.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import require_match, show_verification

    options = driver.VerifyOptions(
        model=model, library=library, inputs=inputs, seed=seed, ranges=ranges, rtol=rtol, atol=atol, save_outputs=save_outputs
    )
    with ProgressLine(settings) as progress:
        result = driver.verify(options, progress=progress)
    show_verification(result, as_json)
    require_match(result)
