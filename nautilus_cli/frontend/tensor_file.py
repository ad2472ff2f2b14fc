"""A tensor in a file of its own: how ONNX's test data is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import TensorProto

from nautilus_cli.errors import FileError, NautilusError
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.tensors import tensor_array


def read_tensor(path: Path) -> tuple[str, np.ndarray]:
    """Return the (name, contents) of a tensor in a .pb file; the name may be empty.

    Raises:
        FileError: it cannot be read, or holds no tensor.
    """
    try:
        tensor = TensorProto.FromString(path.read_bytes())
        return tensor.name, tensor_array(tensor, ExternalData(None))
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    except (DecodeError, NautilusError) as error:
        said = error.message if isinstance(error, NautilusError) else "it does not parse as one"
        hint = "Sequences, maps and optional values are not supported."
        raise FileError(f"is no tensor of ONNX: {said}", where=str(path), hint=hint) from error
