"""nautilus verify: a library against onnxruntime, or against outputs in files."""

from __future__ import annotations

from pathlib import Path

import click

from nautilus_cli.cli.options import (
    device_option,
    jobs_option,
    json_option,
    library_argument,
    model_argument,
    place_option,
    ranges_option,
    seed_option,
    sizes_options,
    tolerance_options,
)
from nautilus_cli.cli.settings import Settings, common_options


@click.command("verify", short_help="Compare a library with onnxruntime.")
@model_argument
@library_argument
@click.option("--inputs", type=click.Path(path_type=Path), metavar="X.npz", help="Inputs by name. Default: drawn, as their use allows.")
@click.option("--golden", type=click.Path(path_type=Path), metavar="Y.npz", help="Outputs expected, by name; onnxruntime is not used.")
@click.option(
    "--dataset",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Compare on each .npz file, or each of ONNX's test_data_set folders, in it; outputs that they hold are those expected.",
)
@click.option("--per-node", is_flag=True, help="Also compare what each kernel stores, and name the first node that is wrong.")
@sizes_options
@jobs_option
@seed_option("the inputs drawn")
@ranges_option
@tolerance_options
@click.option("--save-inputs", type=click.Path(path_type=Path), metavar="X.npz", help="Keep the inputs there.")
@click.option("--save-outputs", type=click.Path(path_type=Path), metavar="Y.npz", help="Keep the library's outputs there.")
@device_option
@place_option
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings,
    model: Path,
    library: Path,
    inputs: Path | None,
    golden: Path | None,
    dataset: Path | None,
    per_node: bool,
    sizes: dict[str, int],
    shapes: dict[str, tuple[int, ...]],
    jobs: int | None,
    seed: int,
    ranges: dict[str, tuple[float, float]],
    rtol: dict[str | None, float],
    atol: dict[str | None, float],
    save_inputs: Path | None,
    save_outputs: Path | None,
    device: int,
    place: str,
    as_json: bool,
) -> None:
    """Compare the outputs of LIB.so with onnxruntime's for MODEL, or with those in a file.

    An element fails only if it exceeds both tolerances. Exit code 6 says that one did.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.results import require_match, show_notes, show_verification

    options = driver.VerifyOptions(
        model=model,
        library=library,
        inputs=inputs,
        golden=golden,
        dataset=dataset,
        seed=seed,
        ranges=ranges,
        rtol=rtol,
        atol=atol,
        save_inputs=save_inputs,
        save_outputs=save_outputs,
        device=device,
        place=place,
        per_node=per_node,
        sizes=sizes,
        shapes=shapes,
        jobs=jobs,
    )
    with ProgressLine(settings) as progress:
        result = driver.verify(options, progress=progress)
    show_notes(result.notes, settings)
    show_verification(result, as_json)
    require_match(result)
