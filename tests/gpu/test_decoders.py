"""Decoders whose caches grow in place, and as separate inputs and outputs, on a GPU: the models that the emulator runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain.device import driver as cuda
from tests.e2e import test_decoders as models

pytestmark = pytest.mark.gpu

if cuda().problem:
    pytest.skip(f"no CUDA device: {cuda().problem}", allow_module_level=True)


@pytest.fixture(autouse=True)
def _on_the_device(architecture: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "TARGET", architecture.name)


@pytest.mark.parametrize("inplace", [True, False], ids=["inplace", "separate"])
@pytest.mark.parametrize(("model", "graph"), models.EXPORTS)
def test_every_step(model: models.Model, graph: models.PackedGraph, inplace: bool, tmp_path: Path) -> None:
    models.test_every_step(model, graph, inplace, tmp_path)
