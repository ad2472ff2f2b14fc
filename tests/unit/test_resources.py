"""Where templates lie: in a checkout, in a wheel, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nautilus_cli import resources
from nautilus_cli.errors import InternalError


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Every test looks again, and leaves nothing for the next one."""
    resources.templates.cache_clear()
    yield
    resources.templates.cache_clear()


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pretend that the package lies in FOLDER."""
    package = folder / "nautilus_cli"
    package.mkdir()
    monkeypatch.setattr(resources, "__file__", str(package / "resources.py"))
    return package


def test_in_a_checkout_they_lie_beside_the_package() -> None:
    assert resources.templates() == Path(__file__).resolve().parents[2] / "templates"
    assert (resources.include() / "nautilus" / "abi.h").is_file()
    assert resources.host().is_dir() and resources.emulator().is_dir() and resources.kernel_stubs().is_dir()


def test_in_a_wheel_they_lie_inside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = installed(tmp_path, monkeypatch)
    (package / "templates" / "include" / "nautilus").mkdir(parents=True)
    (tmp_path / "templates" / "include" / "nautilus").mkdir(parents=True)  # another package's
    assert resources.templates() == package / "templates"


def test_a_broken_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch)
    with pytest.raises(InternalError, match="'templates' is missing"):
        resources.templates()
