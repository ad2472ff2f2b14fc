"""nautilus check: options as driver takes them, the answer as text or data, the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange

from .conftest import Run

GOOD = SimpleNamespace(
    model=Path("m.onnx"),
    targets=("sm_90a", "emulated"),
    opset=18,
    producer="pytorch 2.9",
    nodes=120,
    launches=31,
    obstacles=(),
    unexamined=0,
    notes=(),
)
MODEL_WIDE = SimpleNamespace(node="", op="", reason="an input has dimensions that the model leaves open", hint="Pass --shape x=1x3")
NODE = SimpleNamespace(node="a\x1b/b", op="StringSplit", reason="works on strings", hint="")
BAD = SimpleNamespace(**{**GOOD.__dict__, "launches": None, "obstacles": (MODEL_WIDE, NODE), "unexamined": 7})


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("check", GOOD)
    words = ["m.onnx", "--target", "sm_80,emulated", "--shape", "x=1x3", "--bind", "sr=1", "--outputs", "a", "--device", "1"]
    assert run("check", *words).code == 0
    assert calls == [
        driver.CheckOptions(
            model=Path("m.onnx"), target="sm_80,emulated", shapes={"x": (1, 3)}, bindings={"sr": "1"}, outputs=("a",), device=1
        )
    ]


def test_ranges_and_the_mode_reach_driver(run: Run, answer) -> None:
    calls = answer("check", GOOD)
    assert run("check", *["m.onnx", "--shape", "x=1..4x3", "--dim", "n=8..64/8", "--fp32-mode", "tf32"]).code == 0
    ranges = {"shapes": {"x": (DimRange(1, 4), 3)}, "dims": {"n": DimRange(8, 64, 8)}}
    assert calls == [driver.CheckOptions(model=Path("m.onnx"), **ranges, fp32_mode="tf32")]


def test_what_compiles(run: Run, answer) -> None:
    answer("check", GOOD)
    outcome = run("check", "m.onnx")
    assert outcome.code == 0
    assert outcome.out.splitlines() == ["m.onnx: 120 nodes of opset 18, by pytorch 2.9", "compiles for sm_90a, emulated: 31 launches"]
    assert outcome.err == ""


def test_what_does_not(run: Run, answer) -> None:
    answer("check", BAD)
    outcome = run("check", "m.onnx")
    assert outcome.code == 3
    lines = outcome.out.splitlines()
    assert [line.split("  ")[0] for line in lines[1:4]] == ["node", "-", "a\\x1b/b"]
    assert lines[2].endswith("Pass --shape x=1x3")
    assert lines[4] == "7 nodes read what these compute: only the operator was checked there"
    assert outcome.err == "error: m.onnx: 2 things keep it from being compiled for sm_90a, emulated.\n"


def test_the_hint_of_a_single_obstacle_is_repeated_in_the_error(run: Run, answer) -> None:
    answer("check", SimpleNamespace(**{**BAD.__dict__, "obstacles": (MODEL_WIDE,)}))
    assert run("check", "m.onnx").err.endswith("1 thing keeps it from being compiled for sm_90a, emulated. Pass --shape x=1x3\n")


def test_json_has_everything_whole(run: Run, answer) -> None:
    long = SimpleNamespace(node="n", op="Add", reason="r" * 500, hint="h")
    answer("check", SimpleNamespace(**{**BAD.__dict__, "obstacles": (long,)}))
    outcome = run("check", "m.onnx", "--json")
    assert outcome.code == 3
    data = json.loads(outcome.out)
    assert data["obstacles"] == [{"node": "n", "op": "Add", "reason": "r" * 500, "hint": "h"}]
    assert (data["compiles"], data["launches"], data["unexamined"], data["targets"]) == (False, None, 7, ["sm_90a", "emulated"])
    answer("check", GOOD)
    data = json.loads(run("check", "m.onnx", "--json").out)
    assert (data["compiles"], data["launches"], data["obstacles"]) == (True, 31, [])
