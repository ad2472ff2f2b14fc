"""nautilus inspect: options as driver takes them, sections as text or data."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange

from .conftest import Run

GRAPH = SimpleNamespace(title="Graph", text="%1 = Relu(%x)\n%2 = Relu(%1\x1b)", columns=(), rows=())
KERNELS = SimpleNamespace(title="Kernels", text="", columns=("kernel", "blocks"), rows=(("gemm_1", "12"), ("pointwise_2", "3")))
FOUND = SimpleNamespace(sections=(GRAPH, KERNELS), data={"kernels": [{"name": "gemm_1"}]})


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("inspect", FOUND)
    assert (
        run("inspect", *["m.onnx", "--target", "sm_80", "--shape", "x=1x3", "--bind", "sr=1", "--explain", "conv1", "--outputs", "a"]).code
        == 0
    )
    assert calls == [
        driver.InspectOptions(
            model=Path("m.onnx"), target="sm_80", shapes={"x": (1, 3)}, bindings={"sr": "1"}, outputs=("a",), explain="conv1"
        )
    ]


def test_ranges_reach_driver(run: Run, answer) -> None:
    calls = answer("inspect", FOUND)
    assert run("inspect", *["m.onnx", "--shape", "x=1..4x3", "--dim", "n=8..64/8"]).code == 0
    assert calls == [driver.InspectOptions(model=Path("m.onnx"), shapes={"x": (DimRange(1, 4), 3)}, dims={"n": DimRange(8, 64, 8)})]


def test_sections_are_printed_in_order(run: Run, answer) -> None:
    answer("inspect", FOUND)
    assert run("inspect", "m.onnx").out.splitlines() == [
        "Graph",
        "%1 = Relu(%x)",
        "%2 = Relu(%1\\x1b)",
        "",
        "Kernels",
        "kernel       blocks",
        "gemm_1           12",
        "pointwise_2       3",
    ]


def test_json_is_the_data(run: Run, answer) -> None:
    answer("inspect", FOUND)
    assert json.loads(run("inspect", "libm.so", "--json").out) == FOUND.data
