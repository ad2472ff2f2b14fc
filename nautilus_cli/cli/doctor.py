"""nautilus doctor: what this machine has, what is missing, and how to get it; and whether a library runs here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nautilus_cli.cli.options import device_option, json_option, place_option
from nautilus_cli.cli.settings import Settings, common_options
from nautilus_cli.cli.text import printable, to_json
from nautilus_cli.errors import ToolchainError

if TYPE_CHECKING:
    from nautilus_cli.toolchain.diagnosis import Diagnosis, Finding


@click.command("doctor", short_help="Show what is missing here, or whether a library runs here.")
@click.argument("library", type=click.Path(path_type=Path), metavar="[LIB.so]", required=False)
@device_option
@place_option
@json_option
@common_options
@click.pass_obj
def command(settings: Settings, library: Path | None, device: int, place: str, as_json: bool) -> None:
    """Show the driver, the compilers, what is missing and how to get it. The exit code is 0 unless nothing can be compiled here.

    With LIB.so: show which targets it holds, what it needs from the system, and whether it runs here; if not, why, with the exit code of
    that error.
    """
    if library is not None:
        _examine(library, device, place, settings, as_json)
        return
    from nautilus_cli.toolchain.cache import Cache
    from nautilus_cli.toolchain.diagnosis import diagnose

    found = diagnose(Cache.default())
    click.echo(to_json(asdict(found)) if as_json else _text(found))
    if not (found.can_compile_gpu or found.can_compile_emulated):
        raise ToolchainError("nothing can be compiled here.", hint="What is missing, and how to get it, is said above.")


def _examine(library: Path, device: int, place: str, settings: Settings, as_json: bool) -> None:
    """Show what a library needs, and raise what keeps it from running."""
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine

    options = driver.LibraryDiagnosisOptions(library=library, device=device, place=place)
    with ProgressLine(settings) as progress:
        found = driver.diagnose_library(options, progress=progress)
    if as_json:
        data = {
            "library": found.library,
            "targets": found.targets,
            "needs": [{"library": need.library, "versions": need.versions} for need in found.needs],
            "runs_here": found.problem is None,
            "runs_on": found.runs_on,
            "problem": str(found.problem) if found.problem else None,
            "findings": [asdict(finding) for finding in found.findings],
        }
        click.echo(to_json(data))
    else:
        click.echo("\n".join([printable(str(found.library)), "", *_lines(found.findings)]))
    if found.problem is not None:
        raise found.problem


def _text(found: Diagnosis) -> str:
    default = found.gpu_target or "emulated: kernels run on the CPU, right but slow"
    able = [name for name, can in (("GPU targets", found.can_compile_gpu), ("the emulator", found.can_compile_emulated)) if can]
    lines = [*_lines(found.findings), "", f"Compiles for: {', '.join(able) or 'nothing'}.", f"Default target: {default}."]
    return "\n".join(lines)


def _lines(findings: Sequence[Finding]) -> list[str]:
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.name:{width}}  {printable(finding.found or 'missing')}")
        if finding.advice:
            lines.append(f"{'':{width}}  {printable(finding.advice)}")
    return lines
