"""Fixtures of the tests that need a library; import them into a conftest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import fake_library


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return fake_library.host_library(tmp_path_factory.mktemp("host"))


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return fake_library.fake_image(tmp_path_factory.mktemp("image"))


@pytest.fixture
def library_path(tmp_path: Path, host: bytes, image: bytes) -> Path:
    return fake_library.write(tmp_path / "libmodel.so", host, fake_library.variant(image))


@pytest.fixture
def gpu_library_path(tmp_path: Path, host: bytes) -> Path:
    return fake_library.write(tmp_path / "libgpu.so", host, fake_library.gpu_variant())
