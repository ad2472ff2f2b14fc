"""Write a library, its manifest and, where they lie outside, its weights: all whole, or none."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from nautilus_cli.artifact import manifest, weights_file
from nautilus_cli.artifact import payload as payloads
from nautilus_cli.artifact.elf import make_room
from nautilus_cli.artifact.special_files import refuse_special
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsPlace
from nautilus_cli.artifact.weights_section import Bytes, weight_pieces
from nautilus_cli.artifact.weights_section import weights_digest as section_digest
from nautilus_cli.errors import FileError

NO_BINDINGS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The files of a compiled model.

    Attributes:
        manifest: beside the library.
        weights: beside the library; None where they lie inside.
    """

    manifest: Path
    weights: Path | None


def _umask() -> int:
    """Return the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _file_error(error: OSError, path: Path) -> FileError:
    hint = "Choose another place with -o." if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) else None
    return FileError(f"the file cannot be written: {error.strerror or error}", where=str(path), hint=hint)


@contextmanager
def beside(path: Path, pieces: Iterable[Bytes], *, mode: int) -> Iterator[Path]:
    """Write a temporary file beside PATH and yield its path; it is gone afterwards unless it was renamed.

    Raises:
        FileError: it cannot be written.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _file_error(error, path) from error
    temporary = Path(name)
    try:
        try:
            with os.fdopen(descriptor, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                os.fchmod(file.fileno(), mode & ~_umask())
        except OSError as error:
            raise _file_error(error, path) from error
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(output: Path, *more: Path) -> None:
    """Check that OUTPUT, its manifest and MORE in the same folder can be written, before work is spent on them.

    Raises:
        FileError: they cannot.
    """
    if not output.name:
        raise FileError("the file cannot be written: it has no name", where=f"'{output}'", hint="Choose a name with -o.")
    if manifest.manifest_path(output) == output:
        raise FileError("the library would overwrite its own manifest", where=str(output), hint="Name it so that it ends in .so.")
    for place in (output, manifest.manifest_path(output), *more):
        if place.is_dir():
            raise FileError("the file cannot be written: it is a folder", where=str(place), hint="Choose another place with -o.")
        refuse_special(place, "the file cannot be written", follow=False, hint="Choose another place with -o.")
    with beside(output, (), mode=0o666):
        pass


def require_apart(output: Path, source: Path) -> None:
    """Check that nothing that is written replaces SOURCE.

    Raises:
        FileError: something would.
    """
    for place in (output, manifest.manifest_path(output), weights_file.weights_path(output)):
        if place.exists() and source.exists() and place.samefile(source):
            raise FileError("the model would be overwritten", where=str(place), hint="Choose another name with -o.")


def _rename(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path)
    except OSError as error:
        raise _file_error(error, path) from error


def write(
    output: Path,
    *,
    host_library: bytes,
    variants: Sequence[Variant],
    model_digest: bytes,
    tools: Mapping[str, str],
    producer: str,
    bindings: Mapping[str, str] = NO_BINDINGS,
    fp32_mode: str,
    points: Mapping[str, Sequence[int]] = manifest.NO_POINTS,
    weights: WeightsPlace = WeightsPlace.INTERNAL,
) -> Written:
    """Write a compiled model: the library OUTPUT, its manifest beside it, and its weights where they do not go into the library.

    All are written beside their places and then renamed, so that a failure or Ctrl-C leaves what was there.

    Args:
        output: the library to write, `libmodel.so`.
        host_library: `templates/host` compiled to a shared library.
        variants: the model for each target.
        model_digest: SHA-256 of the ONNX model.
        tools: version of each tool, for the manifest.
        producer: version of Nautilus.
        bindings: text of the constant that replaces an input, by name.
        fp32_mode: how products of f32 are multiplied.
        points: sizes of open dimensions, by name, that kernels were chosen for.
        weights: where they go.

    Raises:
        FileError: a file cannot be written.
    """
    plan = variants[0].plan
    path = manifest.manifest_path(output)
    beside_path = weights_file.weights_path(output) if weights_file.is_external(weights, plan.weight_bytes) else None
    require_writable(output, *filter(None, [beside_path]))  # found out before the first of the renames, not between them
    weights_digest = section_digest(plan)
    outside = weights_file.describe(plan, beside_path.name, weights_digest=weights_digest) if beside_path else None
    text = manifest.build(
        variants,
        model_digest=model_digest,
        weights_digest=weights_digest,
        tools=tools,
        bindings=bindings,
        fp32_mode=fp32_mode,
        points=points,
        weights_file=outside.name if outside else "",
    )
    payload = payloads.build(
        variants,
        model_digest=model_digest,
        manifest_digest=hashlib.sha256(text).digest(),
        weights_digest=weights_digest,
        producer=producer,
        weights_file=outside,
    )
    files: list[tuple[Path, Iterable[Bytes], int]] = [
        (path, [text], 0o666),
        (output, (make_room(host_library, payload.bytes), *payload.pieces), 0o777),
    ]
    if outside and beside_path:
        files.insert(0, (beside_path, chain([outside.head], weight_pieces(plan)), 0o666))
    _write_all(files)
    if beside_path is None:
        with suppress(OSError):  # of an earlier library of this name; nothing reads it now
            weights_file.weights_path(output).unlink()
    return Written(manifest=path, weights=beside_path)


def _write_all(files: Sequence[tuple[Path, Iterable[Bytes], int]]) -> None:
    """Write files of these contents and modes: all beside their places first, so that what cannot be written leaves what was there."""
    with ExitStack() as stack:
        written = [(stack.enter_context(beside(place, pieces, mode=mode)), place) for place, pieces, mode in files]
        for temporary, place in written:
            _rename(temporary, place)
