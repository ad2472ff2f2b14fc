"""Sizes that kernels give on a GPU: the models that the emulator runs, and arrays in device memory of the shapes that came out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.targets.base import Target
from tests.e2e import test_counts as models
from tests.gpu.on_device import on_the_device, skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

_on_the_device = on_the_device(models)


@pytest.mark.parametrize("shape", [(3, 5), (5, 1700), (300, 1000)], ids=str)
def test_non_zero(shape: tuple[int, ...], tmp_path: Path) -> None:
    models.test_non_zero(shape, tmp_path)


@pytest.mark.parametrize(
    "run",
    [
        models.test_chain_of_gathers,
        models.test_non_max_suppression,
        models.test_open_dimension,
        models.test_open_detector,
        models.test_numbers_that_decide_shapes,
        models.test_a_number_that_decides_a_shape_beyond_its_bound,
    ],
)
def test_one_library_at_many_counts(run: Callable[[Path], None], tmp_path: Path) -> None:
    run(tmp_path)


@pytest.mark.parametrize(("dtype", "axis", "is_sorted"), [(np.float32, None, 1), (np.int64, None, 0), (np.float64, 0, 1)])
def test_unique(dtype: Any, axis: int | None, is_sorted: int, tmp_path: Path) -> None:
    models.test_unique(dtype, axis, is_sorted, tmp_path)


@pytest.mark.parametrize(("batch", "boxes"), [(1, 60), (2, 8400)])
def test_detector(batch: int, boxes: int, tmp_path: Path) -> None:
    models.test_detector(batch, boxes, tmp_path)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_arrays_on_the_device(architecture: Target, launch: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    s = models.Network()
    s.node("NonZero", s.input("x", np.float32, 50, 70))
    onnx.save(s.model(), tmp_path / "model.onnx")
    output = tmp_path / "model.so"
    driver.compile(driver.CompileOptions(model=tmp_path / "model.onnx", output=output, target=architecture.name, verify=False))
    with nautilus_cli.load(output, launch=launch) as library:
        for mask in models.masks(50, 70):
            x = torch.from_numpy(mask.astype(np.float32)).cuda()
            (found,) = library({"x": x}).values()
            assert found.shape == (2, int(mask.sum()))
            np.testing.assert_array_equal(torch.from_dlpack(found).cpu().numpy(), np.array(np.nonzero(mask)))
            np.testing.assert_array_equal(found.numpy(), np.array(np.nonzero(mask)))
