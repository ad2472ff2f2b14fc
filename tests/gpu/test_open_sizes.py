"""One library for many sizes on a device: every kernel that sizes choose, maps of open strides, graphs whose nodes change kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.targets.base import Target
from tests.e2e.test_open_networks import NETWORKS
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()


@pytest.mark.parametrize("launch", ["graph", "stream"])
@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_in_any_order(name: str, launch: str, architecture: Target, tmp_path: Path) -> None:
    make, feeds, dims, cases = NETWORKS[name]
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(make(), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target=architecture.name, dims=dims, verify=False))
    random = np.random.default_rng(11)
    drawn = [{key: int(random.choice(_sizes(dim))) for key, dim in dims.items()} for _ in range(12)]
    with nautilus_cli.load(output, launch=launch) as library:
        for sizes in (*cases, *drawn, *cases):  # more than a context keeps graphs of
            inputs = feeds(random, sizes)
            expected = evaluate(load(path, shapes={n: a.shape for n, a in inputs.items()}).graph, inputs)
            for _ in range(3):  # by graphs for first runs, then by one that is made for these sizes, then by one that is there
                found = library(inputs)
                for output_name, truth in expected.items():
                    limit = derived(truth, terms=200, depth=12, scale=float(np.abs(truth).max()))
                    result = compare(found[output_name], truth, limit)
                    assert result.is_match, f"{output_name} at {sizes}: {result}"


def _sizes(dim: DimRange) -> range:
    return range(-(-dim.low // dim.divisor) * dim.divisor, dim.high + 1, dim.divisor)
