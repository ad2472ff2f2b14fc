"""nautilus compile: options as driver takes them, results as people and programs read them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange

from .conftest import Run, compilation, compiled_target, failing, verification


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("compile", compilation())
    arguments = "m.onnx -o libm.so --target sm_90a --shape x=1x3 --shape a:0:2x2 --bind sr=16000 --save-temps t --jobs 3 --no-verify "
    arguments += "--outputs a --outputs b --device 1 --max-memory 1GiB --weights external"
    assert run("compile", *arguments.split()).code == 0
    assert calls == [
        driver.CompileOptions(
            model=Path("m.onnx"),
            output=Path("libm.so"),
            target="sm_90a",
            shapes={"x": (1, 3), "a:0": (2, 2)},
            bindings={"sr": "16000"},
            outputs=("a", "b"),
            device=1,
            max_memory_bytes=2**30,
            save_temps=Path("t"),
            jobs=3,
            verify=False,
            weights="external",
        )
    ]


def test_ranges_reach_driver(run: Run, answer) -> None:
    calls = answer("compile", compilation())
    assert run("compile", *["m.onnx", "-o", "libm.so", "--shape", "x=1..64x3", "--dim", "batch=1..8@4", "--dim", "seq=8..64/8"]).code == 0
    assert calls[0].shapes == {"x": (DimRange(1, 64), 3)}
    assert calls[0].dims == {"batch": DimRange(1, 8, 1, (4,)), "seq": DimRange(8, 64, 8)}


def test_ranges_reach_a_dry_run(run: Run, answer) -> None:
    calls = answer("preview", SimpleNamespace(sections=(), data={}, notes=()))
    assert run("compile", *["m.onnx", "--dry-run", "--shape", "x=1..64x3", "--dim", "batch=1..8", "--inplace-cache"]).code == 0
    ranges = {"shapes": {"x": (DimRange(1, 64), 3)}, "dims": {"batch": DimRange(1, 8)}}
    assert calls == [driver.PreviewOptions(model=Path("m.onnx"), **ranges, inplace_cache=True)]


def test_a_cache_in_place_reaches_driver(run: Run, answer) -> None:
    calls = answer("compile", compilation())
    assert run("compile", *["m.onnx", "-o", "libm.so", "--inplace-cache"]).code == 0
    assert calls[0].inplace_cache


@pytest.mark.parametrize("given", ["sm_80,sm_90a,emulated", "sm_80 --target sm_90a,emulated"])
def test_several_targets(given: str, run: Run, answer) -> None:
    both = tuple(compiled_target(name) for name in ("sm_80", "sm_90a", "emulated"))
    calls = answer("compile", compilation(targets=both, weights=Path("libm.weights.safetensors"), verification=None))
    done = run("compile", "m.onnx", "-o", "libm.so", "--target", *given.split())
    assert calls[0].target == "sm_80,sm_90a,emulated"
    assert done.out.splitlines() == [
        "libm.so: 1.2 MB for sm_80, sm_90a, emulated, weights 600.0 kB",
        "  sm_80: 3 kernels in 5 launches, workspace 4.1 kB",
        "  sm_90a: 3 kernels in 5 launches, workspace 4.1 kB",
        "  emulated: 3 kernels in 5 launches, workspace 4.1 kB",
        "libm.weights.safetensors: weights",
        "libm.json: manifest",
    ]


def test_each_of_several_targets_is_checked(run: Run, answer) -> None:
    answer("compile", compilation())
    done = run("compile", "m.onnx", "-o", "libm.so", "--target", "sm_80,sm_99")
    assert done.code == 2
    assert "'sm_99' is not a target" in done.err


def test_defaults_are_those_of_driver(run: Run, answer) -> None:
    calls = answer("compile", compilation())
    run("compile", "m.onnx", "-o", "libm.so")
    assert calls == [driver.CompileOptions(model=Path("m.onnx"), output=Path("libm.so"))]


def test_what_was_written_is_said(run: Run, answer) -> None:
    answer("compile", compilation())
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert done.code == 0
    first, second, *table = done.out.splitlines()
    assert first == "libm.so: 1.2 MB for emulated, 3 kernels in 5 launches, weights 600.0 kB, workspace 4.1 kB"
    assert second == "libm.json: manifest"
    assert table[1].split() == ["y", "1000", "1.25e-06", "3.50e-05", "1.0000000", "0", "0", "1.0e-04", "1.0e-06", "ok"]
    assert done.err == "note: No GPU here, so the target is emulated.\n"


def test_quiet_leaves_the_result(run: Run, answer) -> None:
    answer("compile", compilation())
    done = run("-q", "compile", "m.onnx", "-o", "libm.so")
    assert done.err == ""
    assert done.out.startswith("libm.so: ")


def test_json(run: Run, answer) -> None:
    answer("compile", compilation(verification=None))
    data = json.loads(run("compile", "m.onnx", "-o", "libm.so", "--json").out)
    assert data == {
        "library": "libm.so",
        "manifest": "libm.json",
        "weights": None,
        "targets": [{"target": "emulated", "kernels": 3, "launches": 5, "arena_bytes": 4096}],
        "library_bytes": 1_250_000,
        "weight_bytes": 600_000,
        "notes": ["No GPU here, so the target is emulated."],
        "verification": None,
    }


def test_a_mismatch_after_compiling_has_its_code(run: Run, answer) -> None:
    answer("compile", compilation(verification=verification(y=failing())))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert done.code == 6
    assert "FAILED: 3 beyond" in done.out
    assert "error: 1 of 1 outputs differ by more than the tolerance from those of onnxruntime 1.2.3: y." in done.err


def test_a_dry_run_needs_no_place(run: Run, answer) -> None:
    section = SimpleNamespace(title="memory", text="10 bytes", columns=(), rows=())
    calls = answer("preview", SimpleNamespace(sections=(section,), data={"memory_bytes": 10}, notes=("no GPU.",)))
    arguments = "m.onnx --dry-run --target sm_90a --shape x=1 --bind sr=1 --outputs a --device 1 --max-memory 10"
    done = run("compile", *arguments.split())
    assert (done.code, done.out, done.err) == (0, "memory\n10 bytes\n", "note: no GPU.\n")
    assert calls == [
        driver.PreviewOptions(
            model=Path("m.onnx"),
            target="sm_90a",
            shapes={"x": (1,)},
            bindings={"sr": "1"},
            outputs=("a",),
            device=1,
            max_memory_bytes=10,
        )
    ]
    assert json.loads(run("compile", "m.onnx", "--dry-run", "--json").out) == {"memory_bytes": 10}
