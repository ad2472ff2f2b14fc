"""nautilus tune: options as driver takes them, a row for each problem."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange

from .conftest import Run

PROBLEM = SimpleNamespace(family="gemm", problem="m=128", schedule="tile_m=64", latency_us=4.5, baseline_us=6.25, trials=8, refused=2)
ARGUMENTS = ["m.onnx", "--trials", "8", "--target", "sm_90a", "--shape", "x=1x3", "--bind", "sr=1", "--jobs", "2", "--seed", "5"]
ARGUMENTS += ["--outputs", "a", "--device", "1"]
FOUND = SimpleNamespace(target="sm_90a", problems=(PROBLEM,), notes=("2 schedules were refused by arithmetic.",))


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("tune", FOUND)
    assert run("tune", *ARGUMENTS).code == 0
    assert calls == [
        driver.TuneOptions(
            model=Path("m.onnx"),
            trials=8,
            target="sm_90a",
            shapes={"x": (1, 3)},
            bindings={"sr": "1"},
            outputs=("a",),
            device=1,
            jobs=2,
            seed=5,
        )
    ]


def test_ranges_reach_driver(run: Run, answer) -> None:
    calls = answer("tune", FOUND)
    assert run("tune", *["m.onnx", "--trials", "8", "--shape", "x=1..4x3", "--dim", "n=8..64/8@32"]).code == 0
    ranges = {"shapes": {"x": (DimRange(1, 4), 3)}, "dims": {"n": DimRange(8, 64, 8, (32,))}}
    assert calls == [driver.TuneOptions(model=Path("m.onnx"), trials=8, **ranges)]


def test_each_problem_has_a_row(run: Run, answer) -> None:
    answer("tune", FOUND)
    done = run("tune", "m.onnx", "--trials", "8")
    assert done.out.splitlines()[1].split() == ["gemm", "m=128", "4.50", "6.25", "8", "2", "tile_m=64"]
    assert done.err == "note: 2 schedules were refused by arithmetic.\n"


def test_json(run: Run, answer) -> None:
    answer("tune", FOUND)
    data = json.loads(run("tune", "m.onnx", "--trials", "8", "--json").out)
    assert data["target"] == "sm_90a"
    assert data["problems"] == [vars(PROBLEM)]


def test_nothing_to_tune_is_said(run: Run, answer) -> None:
    answer("tune", SimpleNamespace(target="sm_90a", problems=(), notes=()))
    assert run("tune", "m.onnx", "--trials", "8").out.startswith("Nothing to tune")
