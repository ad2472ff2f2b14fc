"""nautilus generate: token after token from a decoder."""

from __future__ import annotations

from pathlib import Path

import click

from nautilus_cli.cli.options import device_option, json_option, library_argument, place_option, token_ids
from nautilus_cli.cli.settings import Settings, common_options


@click.command("generate", short_help="Generate tokens with a decoder.")
@library_argument
@click.option("--prompt", type=token_ids, required=True, metavar="ID,ID,...", help="Token ids to begin with, as a tokenizer gives them.")
@click.option("--tokens", type=click.IntRange(min=1), default=32, show_default=True, metavar="N", help="How many more to generate.")
@click.option("--stop", type=click.IntRange(min=0), metavar="ID", help="End after this token id.")
@device_option
@place_option
@json_option
@common_options
@click.pass_obj
def command(
    settings: Settings, library: Path, prompt: tuple[int, ...], tokens: int, stop: int | None, device: int, place: str, as_json: bool
) -> None:
    """Generate tokens with LIB.so, each the most probable one, and print their ids.

    The library is that of a decoder, compiled with --inplace-cache: its keys and values stay where they are on the device. It is a
    small loop over nautilus_cli.Decoder, to try a decoder and to begin one's own from; no tokenizer, no sampling, a batch of one.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine
    from nautilus_cli.cli.run_results import show_generation

    options = driver.GenerateOptions(library=library, prompt=prompt, tokens=tokens, stop=stop, device=device, place=place)
    with ProgressLine(settings) as progress:
        result = driver.generate(options, progress=progress)
    show_generation(result, as_json)
