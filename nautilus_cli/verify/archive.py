"""Arrays by name in an .npz file: any name, no pickles, and the same bytes for the same arrays."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nautilus_cli.artifact.special_files import refuse_special
from nautilus_cli.errors import FileError
from nautilus_cli.ir.types import DTYPES, ML_DTYPES, dtype_of
from nautilus_cli.numerics.strings import is_text

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip archive can hold, in place of now."""


def read(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file.

    Raises:
        FileError: it cannot be read, or is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise FileError(f"is no .npz file: {error}", where=str(path), hint="Write one with numpy.savez(path, **arrays).") from error
    except TypeError as error:  # a single array is no context manager
        raise FileError("holds a single array", where=str(path), hint="Write one with numpy.savez(path, name=array).") from error


def write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to an .npz file: beside it, then renamed.

    Types of ml_dtypes are stored as their bits, in unsigned integers; strings as numpy's type of fixed width.

    Raises:
        FileError: it cannot be written.
    """
    refuse_special(path, "cannot be written", follow=False)
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, array in arrays.items():
                    content = io.BytesIO()
                    stored = _stored(array)
                    np.lib.format.write_array(content, np.asanyarray(stored), allow_pickle=False)
                    archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), content.getvalue())
            os.replace(beside, path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror or error}", where=str(path)) from error


def _stored(array: np.ndarray) -> np.ndarray:
    """Return an array as an .npy file can hold it."""
    if is_text(array):
        return array.astype(np.str_)
    dtype = dtype_of(array)
    return array.view(DTYPES[dtype.bits_type].numpy) if dtype.name in ML_DTYPES else array
