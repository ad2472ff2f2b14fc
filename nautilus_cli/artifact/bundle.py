"""Write a library and its manifest: both whole, or neither."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from nautilus_cli.artifact import manifest
from nautilus_cli.artifact import payload as payloads
from nautilus_cli.artifact.elf import make_room
from nautilus_cli.artifact.payload import Bytes, Variant
from nautilus_cli.errors import FileError

NO_BINDINGS: Mapping[str, str] = {}


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


def require_writable(output: Path) -> None:
    """Check that OUTPUT and its manifest can be written, before work is spent on them.

    Raises:
        FileError: they cannot.
    """
    for place in (output, manifest.manifest_path(output)):
        if place.is_dir():
            raise FileError("the file cannot be written: it is a folder", where=str(place), hint="Choose another place with -o.")
    with beside(output, (), mode=0o666):
        pass


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
) -> Path:
    """Write a compiled model: the library OUTPUT and its manifest beside it.

    Both are written beside their places and then renamed, so that a failure or Ctrl-C leaves what was there.

    Args:
        output: the library to write, `libmodel.so`.
        host_library: `templates/host` compiled to a shared library.
        variants: the model for each target.
        model_digest: SHA-256 of the ONNX model.
        tools: version of each tool, for the manifest.
        producer: version of Nautilus.
        bindings: text of the constant that replaces an input, by name.

    Returns:
        The path of the manifest.

    Raises:
        FileError: a file cannot be written.
    """
    path = manifest.manifest_path(output)
    if path == output:
        raise FileError("the library would overwrite its own manifest", where=str(output), hint="Name it so that it ends in .so.")
    require_writable(output)  # found out before the first of the two renames, not between them
    weights_digest = payloads.weights_digest(variants[0].plan)
    text = manifest.build(variants, model_digest=model_digest, weights_digest=weights_digest, tools=tools, bindings=bindings)
    payload = payloads.build(
        variants,
        model_digest=model_digest,
        manifest_digest=hashlib.sha256(text).digest(),
        weights_digest=weights_digest,
        producer=producer,
    )
    library = (make_room(host_library, payload.bytes), *payload.pieces)
    with beside(output, library, mode=0o777) as library_file, beside(path, [text], mode=0o666) as manifest_file:
        _rename(manifest_file, path)
        _rename(library_file, output)
    return path
