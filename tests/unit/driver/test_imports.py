"""Running, timing and looking at a library need few packages; every name of driver is found on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from nautilus_cli import driver

HEAVY = ("onnx", "onnxruntime", "optuna", "jinja2", "cuda", "rich", "ml_dtypes")


def loaded(code: str) -> list[str]:
    script = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("name", ["run", "bench", "diagnose_library"])
def test_a_library_needs_numpy_only(name: str):
    assert loaded(f"from nautilus_cli import driver\ndriver.{name}") == []


@pytest.mark.parametrize("name", driver.__all__)
def test_every_name_is_there(name: str):
    assert getattr(driver, name) is not None


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'complie'"):
        _ = driver.complie  # type: ignore[attr-defined]
