"""nautilus bench: options as driver takes them, microseconds in the order of their size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nautilus_cli import driver
from nautilus_cli.driver.benchmark_result import BenchResult, Series
from nautilus_cli.runtime.benchmark import Load, Measured
from nautilus_cli.toolchain.clocks import Clocks

from .conftest import Run


def series(name: str, scale: float = 1.0) -> Series:
    measured = Measured(samples_us=np.array([1.0, 2.0, 3.0, 4.0]) * scale, runs_per_sample=5, elapsed_s=0.002)
    return Series(name=name, measured=measured, percentiles={99.9: 3.9 * scale, 10: 1.3 * scale})


def result(**changes: Any) -> BenchResult:
    made: dict[str, Any] = {
        "library": Path("libm.so"),
        "target": "sm_90a",
        "device": "NVIDIA H200",
        "is_emulated": False,
        "load": Load(),
        "inputs": {"x\x1b": "normal"},
        "series": (series("nautilus"), series("onnxruntime 1.2.3, CUDA", 2.5)),
        "clocks": (Clocks(sm_mhz=1755, memory_mhz=3201, most_sm_mhz=1980), Clocks(sm_mhz=1980, memory_mhz=3201, most_sm_mhz=1980)),
        "versions": {"nautilus": "1", "driver": "CUDA 13.0"},
        "notes": (),
    }
    return BenchResult(**{**made, **changes})


def test_options_reach_driver(run: Run, answer) -> None:
    calls = answer("bench", result())
    arguments = "libm.so --iterations 5 --warmup 0 --duration 0.5 --contexts 2 --include-transfers --no-graph --percentile 95 "
    arguments += "--percentile 50,99.9 --inputs x.npz --seed 3 --range ids=0..9 --against m.onnx --device 1 --emulated --export e.json"
    assert run("bench", *arguments.split()).code == 0
    load = Load(iterations=5, warmup=0, duration_s=0.5, contexts=2, include_transfers=True, has_graph=False)
    assert calls == [
        driver.BenchOptions(
            library=Path("libm.so"),
            against=Path("m.onnx"),
            inputs=Path("x.npz"),
            seed=3,
            ranges={"ids": (0.0, 9.0)},
            load=load,
            percentiles=(10, 90, 99, 95, 50, 99.9),
            device=1,
            place="emulated",
            export=Path("e.json"),
        )
    ]


def test_defaults_are_those_of_driver(run: Run, answer) -> None:
    calls = answer("bench", result())
    run("bench", "libm.so")
    assert calls == [driver.BenchOptions(library=Path("libm.so"))]


def test_text(run: Run, answer) -> None:
    answer("bench", result())
    lines = run("bench", "libm.so").out.splitlines()
    assert lines[0] == "libm.so: sm_90a on NVIDIA H200; 1 context, CUDA graph, without transfers"
    assert lines[1].split() == ["min", "p10", "median", "p99.9", "max", "mean", "runs/s"]
    assert lines[2].split() == ["nautilus", "1.00", "1.30", "2.50", "3.90", "4.00", "2.50", "10000.0"]
    assert lines[3].split()[-7:] == ["2.50", "3.25", "6.25", "9.75", "10.00", "6.25", "10000.0"]
    assert "nautilus: µs of one run; 4 samples of 5 in 0.0 s" in lines
    assert "inputs: x\\x1b: normal" in lines
    assert "clocks: 1867.5 MHz (1755 to 1980, at most 1980), memory 3201 MHz" in lines
    assert "versions: nautilus 1, driver CUDA 13.0" in lines
    assert lines[-1] == "onnxruntime 1.2.3, CUDA takes 2.50 times as long as the library (median)"


def test_an_emulated_time_is_compared_with_nothing(run: Run, answer) -> None:
    answer("bench", result(is_emulated=True, notes=("emulated: not a speed",), clocks=()))
    said = run("bench", "libm.so").out
    assert said.splitlines()[-1] == "emulated: not a speed"
    assert "times as long" not in said


def test_json(run: Run, answer) -> None:
    answer("bench", result(series=(series("nautilus"),)))
    data = json.loads(run("bench", "libm.so", "--json").out)
    assert data["series"] == [
        {
            "name": "nautilus",
            "latency_us": {"min": 1.0, "median": 2.5, "max": 4.0, "mean": 2.5, "p99.9": 3.9, "p10": 1.3},
            "throughput_per_s": 10000.0,
            "samples": 4,
            "runs_per_sample": 5,
            "elapsed_s": 0.002,
        }
    ]
    assert data["clocks"]["sm_mhz"] == 1867.5
    assert data["emulated"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        ["--percentile", "101"],
        ["--percentile", "p99"],
        ["--percentile", "90,"],
        ["--iterations", "0"],
        ["--duration", "-1"],
        ["--contexts", "0"],
    ],
)
def test_what_cannot_be_meant(arguments: list[str], run: Run) -> None:
    done = run("bench", "libm.so", *arguments)
    assert done.code == 2
    assert arguments[0] in done.err


def product_result(symbolic: str = "") -> driver.ProductBenchResult:
    return driver.ProductBenchResult(
        extents=(128, 768, 3072),
        dtype="bf16",
        symbolic=symbolic,
        target="sm_90a",
        device="NVIDIA H200",
        is_emulated=False,
        family="gemm_wgmma",
        schedule={"tile_m": 64},
        estimated_us=4.0,
        launches=100,
        copies=9,
        latency_us=5.0,
        known_us=4.0 if symbolic else None,
        cublas_us=8.0,
        error=2e-4,
        notes=("one",),
    )


def test_a_product_in_place_of_a_library(run: Run, answer) -> None:
    calls = answer("bench_product", product_result())
    outcome = run("bench", "--gemm", "128,768,3072", "--dtype", "bf16", "--seed", "2", "--emulated")
    assert outcome.code == 0
    assert calls == [driver.ProductBenchOptions(extents=(128, 768, 3072), dtype="bf16", target="emulated", seed=2)]
    for said in ("128 × 768 × 3072, bf16: sm_90a on NVIDIA H200", "gemm_wgmma tile_m=64", "5.00 µs, 120.8", "1.60 times as long", "one"):
        assert said in outcome.out
    data = json.loads(run("bench", "--gemm", "128,768,3072", "--json").out)
    assert data["ratio"] == 1.6 and data["extents"] == [128, 768, 3072] and data["symbolic_ratio"] is None


def test_a_product_of_open_extents(run: Run, answer) -> None:
    calls = answer("bench_product", product_result("mk"))
    outcome = run("bench", "--gemm", "128,768,3072", "--symbolic", "k,m")
    assert outcome.code == 0 and calls == [driver.ProductBenchOptions(extents=(128, 768, 3072), symbolic="mk")]
    assert "with m, k as arguments; the kernel for these extents alone 4.00 µs: 1.25 times its time" in outcome.out
    assert json.loads(run("bench", "--gemm", "128,768,3072", "--json").out)["symbolic_ratio"] == 1.25


@pytest.mark.parametrize("names", ["x", "m,m", "m n", ""])
def test_other_letters_are_refused(names: str, run: Run) -> None:
    outcome = run("bench", "--gemm", "1,2,3", "--symbolic", names)
    assert outcome.code == 2 and "m,n,k" in outcome.err
    assert run("bench", "lib.so", "--symbolic", "m").code == 2


@pytest.mark.parametrize("arguments", [("--gemm", "1,2"), ("--gemm", "1,2,0"), ("--gemm", "a,b,c"), (), ("lib.so", "--gemm", "1,2,3")])
def test_what_is_no_product_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run("bench", *arguments)
    assert outcome.code == 2 and ("M,N,K" in outcome.err)
