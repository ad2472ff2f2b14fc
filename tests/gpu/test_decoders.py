"""Decoders whose caches grow in place, and as separate inputs and outputs, on a GPU: the models that the emulator runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import test_decoders as models
from tests.gpu.on_device import on_the_device, skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

_on_the_device = on_the_device(models)


@pytest.mark.parametrize("inplace", [True, False], ids=["inplace", "separate"])
@pytest.mark.parametrize(("model", "graph"), models.EXPORTS)
def test_every_step(model: models.Model, graph: models.PackedGraph, inplace: bool, tmp_path: Path) -> None:
    models.test_every_step(model, graph, inplace, tmp_path)
