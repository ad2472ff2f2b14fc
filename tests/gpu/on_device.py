"""What modules of tests on a device begin with."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.device import driver


def skip_without_device() -> None:
    """Skip the module that calls this where there is no device."""
    if problem := driver().problem:
        pytest.skip(f"no CUDA device: {problem}", allow_module_level=True)


def on_the_device(*modules: ModuleType) -> Callable[..., Any]:
    """Return a fixture that every test of a module uses: tests of MODULES, which are the emulator's, run on the device."""

    @pytest.fixture(autouse=True)
    def fixture(architecture: Target, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in modules:
            monkeypatch.setattr(module, "TARGET", architecture.name)
            if hasattr(module, "RUNS"):
                monkeypatch.setattr(module, "RUNS", (None, None))  # twice: launches one by one, and graphs

    return fixture
