"""diagnose_library(): what a library holds and needs, and whether it runs here."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nautilus_cli.artifact import elf, manifest
from nautilus_cli.artifact.special_files import refuse_special
from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.driver.selection import runs_on
from nautilus_cli.errors import FileError, InternalError, NautilusError
from nautilus_cli.runtime.library import held_targets
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.targets import registry
from nautilus_cli.toolchain import device
from nautilus_cli.toolchain.diagnosis import Finding

_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryDiagnosisOptions:
    """What to look at.

    Attributes:
        library: the shared library.
        device: number of the GPU that it shall run on.
        place: where it shall run, as `nautilus_cli.load` takes it.
    """

    library: Path
    device: int = 0
    place: str = "automatic"


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryDiagnosis:
    """What was found.

    Attributes:
        library: the file.
        findings: what it needs and holds, each with what is here.
        targets: names of the targets that it holds code for.
        needs: libraries that the system's loader must find; the CUDA driver is opened by the library itself.
        runs_on: the target and the device that it runs on here; None where it does not run.
        problem: why it does not; None where it does.
    """

    library: Path
    findings: tuple[Finding, ...]
    targets: tuple[str, ...]
    needs: tuple[elf.Need, ...]
    runs_on: str | None
    problem: NautilusError | None


def diagnose_library(options: LibraryDiagnosisOptions, progress: Progress = silent) -> LibraryDiagnosis:
    """Look into a library, and try to run it up to the point where inputs would be needed.

    Raises:
        FileError: it cannot be read, or is no shared library.
    """
    progress("looking into the library", 0, 1)
    path = options.library
    with _content(path) as image:
        machine, needs = elf.machine(image), elf.needs(image)
    findings = [_machine(machine), *(_need(need) for need in needs)]
    targets: tuple[tuple[str, bool], ...] = ()
    problem: NautilusError | None = None
    place = None
    try:
        targets = held_targets(path)
        progress("loading the library", 0, 1)
        with load_library(path, device=options.device, place=options.place) as library:
            info = library.info
            with library.model.borrow_context():  # its workspace and its graph
                place = f"{info.target} on {info.device}"
            findings.append(_manifest(path, info.manifest_sha256))
    except NautilusError as error:
        problem = error
    driver = device.driver()
    if any(not is_emulated for _, is_emulated in targets):
        findings.append(_driver(driver))
    findings += [_target(name, driver, is_emulated=is_emulated, is_alone=len(targets) == 1) for name, is_emulated in targets]
    findings.append(Finding(name="runs here", found=place or "no", advice=str(problem) if problem else None))
    return LibraryDiagnosis(
        library=path,
        findings=tuple(findings),
        targets=tuple(name for name, _ in targets),
        needs=needs,
        runs_on=place,
        problem=problem,
    )


@contextmanager
def _content(path: Path) -> Iterator[elf.Image]:
    """Map a file; what is no library is one error."""
    refuse_special(path, "the library cannot be read")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            yield image
    except OSError as error:
        raise FileError(f"the library cannot be read: {error.strerror}", where=str(path)) from error
    except (InternalError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise FileError("this is not a shared library", where=str(path), hint="Pass what 'nautilus compile -o' wrote.") from error


def _machine(machine: str) -> Finding:
    here = platform.machine()
    if machine == here:
        return Finding(name="processor", found=machine)
    return Finding(name="processor", found=machine, advice=f"This machine is {here}: compile the model here.")


def _need(need: elf.Need) -> Finding:
    """Say whether a library is here, and new enough where it is the C library."""
    versions = [(int(found[1]), int(found[2])) for found in map(_GLIBC.fullmatch, need.versions) if found]
    wanted = f"{need.library}, glibc {max(versions)[0]}.{max(versions)[1]} or later" if versions else need.library
    if not _is_found(need.library):
        return Finding(name="needs", found=None, advice=f"{wanted}: the system's loader does not find it. Install the package that has it.")
    here = _glibc_here()
    if versions and here is not None and here < max(versions):
        advice = f"{wanted}; here is {here[0]}.{here[1]}. Compile the library on this machine, or on one as old."
        return Finding(name="needs", found=None, advice=advice)
    return Finding(name="needs", found=f"{wanted}{f' (here {here[0]}.{here[1]})' if versions and here else ''}")


def _is_found(name: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(ctypes.CDLL(name))
    return False


def _glibc_here() -> tuple[int, int] | None:
    """Return the version of the C library; None where it is another one than glibc."""
    try:
        found = re.fullmatch(r"glibc (\d+)\.(\d+).*", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (OSError, ValueError):
        return None
    return (int(found[1]), int(found[2])) if found else None


def _manifest(path: Path, digest: str) -> Finding:
    place = manifest.manifest_path(path)
    try:
        manifest.read(place, digest=digest)
    except NautilusError as error:
        return Finding(
            name="manifest", found=None, advice=f"{str(error).rstrip('.')}. The library runs without it; 'verify' and 'inspect' need it."
        )
    return Finding(name="manifest", found=str(place))


def _driver(driver: device.Driver) -> Finding:
    version = f"libcuda.so.1, CUDA {driver.version[0]}.{driver.version[1]}" if driver.version else None
    if driver.problem is None:
        return Finding(name="needs", found=version)
    return Finding(name="needs", found=version, advice=f"The CUDA driver and a GPU: {driver.problem}.")


def _target(name: str, driver: device.Driver, *, is_emulated: bool, is_alone: bool) -> Finding:
    """Say where code for a target runs here."""
    if is_emulated:
        when = "" if is_alone else ", where asked for"
        return Finding(name="holds", found=f"{name}: runs on the CPU{when}; its speed says nothing about a GPU")
    known = registry.targets().get(name)
    if known is None:
        return Finding(name="holds", found=name, advice="This Nautilus does not know the target.")
    fits = [d for d in driver.devices if runs_on(known, d.capability)]
    if fits:
        return Finding(name="holds", found=f"{name}: fits {', '.join(f'GPU {d.index}, {d.name}' for d in fits)}")
    wanted = f"compute capability {known.capability[0]}.{known.capability[1]}{'' if known.exact else ' or a later minor'}"
    return Finding(name="holds", found=name, advice=f"No GPU here has {wanted}.")
