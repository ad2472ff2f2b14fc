from __future__ import annotations

import pytest

from tests.emulated.executor import Image, build


@pytest.fixture(scope="session")
def executor_image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The executor's fixtures; set its mode before use."""
    return build(tmp_path_factory.mktemp("executor"))
