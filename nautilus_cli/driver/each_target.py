"""Every target of a library that this machine can run: code for a GPU where that fits, and for the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nautilus_cli.driver.selection import Selection, that_runs
from nautilus_cli.driver.verification_result import VerifyResult, write_verdict
from nautilus_cli.errors import DeviceError, InternalError
from nautilus_cli.runtime.library import Library, held_targets
from nautilus_cli.runtime.library import load as load_library


def open_each(library: Path, device: int, place: str) -> tuple[list[Library], tuple[str, ...]]:
    """Return a library as it runs on a GPU, and as it runs emulated, where it holds both and both run here; and notes on what does not.

    Args:
        library: the file.
        device: number of the GPU.
        place: as `nautilus_cli.load` takes it; other than `automatic`, that alone is opened.

    Raises:
        FileError: the file is no such library.
        DeviceError: nothing of it runs here.
    """
    held = held_targets(library)
    gpus = [name for name, is_emulated in held if not is_emulated]
    if place != "automatic" or not gpus or len(gpus) == len(held):
        return [load_library(library, device=device, place=place)], ()
    emulated = load_library(library, place="emulated")
    try:
        return [load_library(library, device=device, place="gpu"), emulated], ()
    except DeviceError as error:
        return [emulated], (f"not verified on {' or '.join(gpus)}: {error}",)
    except BaseException:
        emulated.close()
        raise


def that_run(selections: Sequence[Selection]) -> tuple[tuple[str, int], ...]:
    """Return (place, device) of each way to run a library of these targets here, the GPU first."""
    emulated = [s for s in selections if s.runs_here and s.target.is_emulated]
    gpu = that_runs([s for s in selections if not s.target.is_emulated])
    return (*([] if gpu is None else [("gpu", gpu.device)]), *(("emulated", s.device) for s in emulated))


def together(results: Sequence[VerifyResult]) -> VerifyResult:
    """Return the first target's result with the others in it, and write their verdict.

    Raises:
        InternalError: there is none.
        FileError: the verdict cannot be written.
    """
    if not results:
        raise InternalError("nothing was verified")
    first, *others = results
    notes = (*first.notes, *(f"{other.target}: {note}" for other in others for note in other.notes))
    found = replace(first, notes=notes, more_targets=tuple(others))
    if found.more_targets:
        write_verdict(found)
    return found
