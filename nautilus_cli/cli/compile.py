"""nautilus compile: an ONNX model to a shared library and its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from nautilus_cli.cli.options import (
    ModelChoice,
    byte_count,
    fp32_mode_option,
    jobs_option,
    json_option,
    model_argument,
    open_graph_options,
    target_device_option,
    targets_option,
)
from nautilus_cli.cli.settings import Settings, common_options

if TYPE_CHECKING:
    from nautilus_cli.driver import PreviewOptions


@click.command("compile", short_help="Compile a model to one shared library.")
@model_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="LIB.so", help="The library to write.  [required]")
@targets_option
@open_graph_options
@target_device_option
@click.option(
    "--max-memory", type=byte_count, metavar="SIZE", help="Refuse to build what needs more device memory, in bytes or for example 1GiB."
)
@click.option("--dry-run", is_flag=True, help="Show the plan, its launches and its memory; build and write nothing.")
@click.option(
    "--weights",
    type=click.Choice(["automatic", "internal", "external"]),
    default="automatic",
    help="Where the weights go: into the library, or into a .safetensors file that must stay beside it; above 1 GiB, beside it."
    " [default: automatic]",
)
@fp32_mode_option
@click.option(
    "--inplace-cache",
    is_flag=True,
    help="Let an output that is an input with rows appended, as present and past of a decoder, lie in its memory: a step copies nothing.",
)
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
    output: Path | None,
    device: int | None,
    max_memory: int | None,
    dry_run: bool,
    weights: str,
    inplace_cache: bool,
    save_temps: Path | None,
    jobs: int | None,
    verify: bool,
    as_json: bool,
    **choice: Unpack[ModelChoice],
) -> None:
    """Compile MODEL to one shared library.

    The manifest is written beside it, with the suffix .json, and the verdict of the verification, with the suffix .verify.json; so are
    weights that do not go into it, with the suffix .weights.safetensors.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import require_match, show_compilation, show_notes

    if dry_run:
        _show_plan(
            driver.PreviewOptions(**choice, max_memory_bytes=max_memory, device=device, inplace_cache=inplace_cache), settings, as_json
        )
        return
    if output is None:
        raise click.MissingParameter(param_hint="'-o' / '--output'", param_type="option")
    options = driver.CompileOptions(
        **choice,
        output=output,
        max_memory_bytes=max_memory,
        device=device,
        save_temps=save_temps,
        jobs=jobs,
        verify=verify,
        weights=weights,
        inplace_cache=inplace_cache,
    )
    with ProgressLine(settings) as progress:
        result = driver.compile(options, progress=progress)
    show_notes((*result.notes, *(result.verification.notes if result.verification else ())), settings)
    show_compilation(result, as_json)
    if result.verification:
        require_match(result.verification)


def _show_plan(options: PreviewOptions, settings: Settings, as_json: bool) -> None:
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import show_inspection, show_notes

    with ProgressLine(settings) as progress:
        planned = driver.preview(options, progress=progress)
    show_notes(planned.notes, settings)
    show_inspection(planned, as_json)
