"""nautilus compile: an ONNX model to a shared library and its manifest."""

from __future__ import annotations

from pathlib import Path

import click

from nautilus_cli.cli.options import graph_options, jobs_option, json_option, model_argument
from nautilus_cli.cli.settings import Settings, common_options


@click.command("compile", short_help="Compile a model to one shared library.")
@model_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="LIB.so", help="The library to write.")
@graph_options
@click.option("--save-temps", type=click.Path(path_type=Path), metavar="DIR", help="Keep kernel texts, images and compiler logs there.")
@jobs_option
@click.option(
    "--verify/--no-verify", default=True, help="Compare with onnxruntime afterwards, where the target can run here. [default: on]"
)
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    model: Path,
    output: Path,
    target: str | None,
    shapes: dict[str, tuple[int, ...]],
    bindings: dict[str, str],
    save_temps: Path | None,
    jobs: int | None,
    verify: bool,
    as_json: bool,
) -> None:
    """Compile MODEL to one shared library.

    The manifest is written beside it, with the suffix .json, and the verdict of the verification, with the suffix .verify.json.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import require_match, show_compilation, show_notes

    options = driver.CompileOptions(
        model=model, output=output, target=target, shapes=shapes, bindings=bindings, save_temps=save_temps, jobs=jobs, verify=verify
    )
    with ProgressLine(settings) as progress:
        result = driver.compile(options, progress=progress)
    show_notes(result.notes, settings)
    show_compilation(result, as_json)
    if result.verification:
        require_match(result.verification)
