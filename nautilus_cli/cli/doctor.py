"""nautilus doctor: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nautilus_cli.cli.options import json_option
from nautilus_cli.cli.settings import common_options
from nautilus_cli.cli.text import printable, to_json
from nautilus_cli.errors import ToolchainError

if TYPE_CHECKING:
    from nautilus_cli.toolchain.diagnosis import Diagnosis


@click.command("doctor", short_help="Show what is missing here, and how to get it.")
@json_option
@common_options
def command(as_json: bool) -> None:
    """Show the driver, the compilers, what is missing and how to get it.

    The exit code is 0 unless nothing can be compiled here.
    """
    from nautilus_cli.toolchain.cache import Cache
    from nautilus_cli.toolchain.diagnosis import diagnose

    found = diagnose(Cache.default())
    click.echo(to_json(asdict(found)) if as_json else _text(found))
    if not (found.can_compile_gpu or found.can_compile_emulated):
        raise ToolchainError("nothing can be compiled here.", hint="What is missing, and how to get it, is said above.")


def _text(found: Diagnosis) -> str:
    width = max(len(finding.name) for finding in found.findings)
    lines = []
    for finding in found.findings:
        lines.append(f"{finding.name:{width}}  {printable(finding.found or 'missing')}")
        if finding.advice:
            lines.append(f"{'':{width}}  {printable(finding.advice)}")
    default = found.gpu_target or "emulated: kernels run on the CPU, right but slow"
    able = [name for name, can in (("GPU targets", found.can_compile_gpu), ("the emulator", found.can_compile_emulated)) if can]
    lines += ["", f"Compiles for: {', '.join(able) or 'nothing'}.", f"Default target: {default}."]
    return "\n".join(lines)
