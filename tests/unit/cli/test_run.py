"""nautilus run: options as driver takes them, a row for each output."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nautilus_cli import driver

from .conftest import Run


def result(**changes: Any) -> SimpleNamespace:
    output = SimpleNamespace(dtype="float32", shape=(1, 3), min=-1.5, mean=0.25, max=2.0, nan=0, inf=1)
    empty = SimpleNamespace(dtype="int64", shape=(), min=None, mean=None, max=None, nan=0, inf=0)
    found = {"target": "sm_90a", "device": "H200", "is_emulated": False, "outputs": {"y": output, "\x1bz": empty}, "file": Path("y.npz")}
    return SimpleNamespace(**{**found, **changes})


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("run", result())
    assert run("run", "libm.so", "--inputs", "x.npz", "--outputs", "y.npz", "--device", "2").code == 0
    assert calls == [driver.RunOptions(library=Path("libm.so"), inputs=Path("x.npz"), outputs=Path("y.npz"), device=2)]


def test_defaults_are_those_of_driver(run: Run, answer) -> None:
    calls = answer("run", result())
    run("run", "libm.so")
    assert calls == [driver.RunOptions(library=Path("libm.so"))]


def test_each_output_has_a_row(run: Run, answer) -> None:
    answer("run", result())
    header, y, z, file = run("run", "libm.so").out.splitlines()
    assert header.split() == ["output", "type", "shape", "min", "mean", "max", "NaN", "Inf"]
    assert y.split() == ["y", "float32", "1x3", "-1.5", "0.25", "2", "0", "1"]
    assert z.split() == ["\\x1bz", "int64", "scalar", "-", "-", "-", "0", "0"]
    assert file == "y.npz: outputs on H200, target sm_90a"


def test_json(run: Run, answer) -> None:
    answer("run", result(file=None))
    data = json.loads(run("run", "libm.so", "--json").out)
    assert (data["target"], data["device"], data["emulated"], data["file"]) == ("sm_90a", "H200", False, None)
    assert data["outputs"][0] == {
        "name": "y",
        "dtype": "float32",
        "shape": [1, 3],
        "min": -1.5,
        "mean": 0.25,
        "max": 2.0,
        "nan": 0,
        "inf": 1,
    }
