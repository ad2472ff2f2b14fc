from pathlib import Path

import pytest

from tests.support import modelled_library
from tests.support.fixtures import gpu_library_path, host, image, library_path

__all__ = ["gpu_library_path", "host", "image", "library_path"]


@pytest.fixture
def pair(tmp_path: Path, host: bytes, image: bytes) -> tuple[Path, Path]:
    """An ONNX model, and a library of the same."""
    return modelled_library.write(tmp_path, host, image)
