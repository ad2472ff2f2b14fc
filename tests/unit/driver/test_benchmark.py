"""bench(): what is measured, on which inputs, and that an emulator's time is no speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nautilus_cli.driver.benchmark import EMULATED, BenchOptions, bench
from nautilus_cli.driver.benchmark_result import BenchResult
from nautilus_cli.errors import DeviceError, FileError, UsageError
from nautilus_cli.runtime.benchmark import Load
from nautilus_cli.toolchain.clocks import ClockReader, Clocks
from nautilus_cli.verify import archive
from tests.support import fake_library, tiny_library

Pair = tuple[Path, Path]

QUICK = Load(iterations=3, warmup=1, duration_s=0.0)


def measured(library: Path, **changes: object) -> BenchResult:
    return bench(BenchOptions(library=library, **{"load": QUICK, **changes}))  # type: ignore[arg-type]


def test_an_emulated_library_has_no_speed(library_path: Path):
    result = measured(library_path)
    assert result.notes == (EMULATED,) == ("emulated: not a speed",)
    assert (result.target, result.is_emulated, result.clocks) == ("emulated", True, ())
    (series,) = result.series
    assert series.name == "nautilus"
    assert len(series.measured.samples_us) >= 3
    assert set(series.numbers()) == {"min", "median", "max", "mean"}
    assert sorted(series.percentiles) == [10, 90, 99]
    assert {"nautilus", "library", "python", "numpy", "built with gcc"} == set(result.versions)


def test_integers_of_unknown_use_are_0_and_1(library_path: Path):
    assert measured(library_path).inputs == {"x": "normal", "y.1": "normal", "index": "integers 0..1"}


def test_ranges_and_files_are_used(library_path: Path, tmp_path: Path):
    assert measured(library_path, ranges={"index": (4.0, 5.0)}).inputs["index"] == "integers 4..5"
    archive.write(tmp_path / "x.npz", tiny_library.feeds())
    assert measured(library_path, inputs=tmp_path / "x.npz").inputs == dict.fromkeys(("x", "y.1", "index"), "given")
    with pytest.raises(UsageError, match="there is no input 'indx'"):
        measured(library_path, ranges={"indx": (0.0, 1.0)})


def test_inputs_out_of_range_say_what_to_pass(library_path: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="pass --inputs, --range or --against MODEL"):
        measured(library_path, ranges={"index": (60.0, 60.0)})
    archive.write(tmp_path / "x.npz", {**tiny_library.feeds(), "index": np.array([0, 60])})
    with pytest.raises(UsageError) as caught:
        measured(library_path, inputs=tmp_path / "x.npz")
    assert "--against" not in str(caught.value)


def test_against_onnxruntime(pair: Pair):
    result = measured(pair[1], against=pair[0], percentiles=(50, 99.9))
    ours, theirs = result.series
    assert ours.name == "nautilus"
    assert theirs.name.startswith("onnxruntime ") and theirs.name.endswith(", CPU")
    assert result.inputs["index"] == "indices 0..5"
    assert result.versions["onnxruntime"] in theirs.name
    data = result.to_data()["series"]
    assert [list(series["latency_us"]) for series in data] == [["min", "median", "max", "mean", "p50", "p99.9"]] * 2
    assert all(series["latency_us"]["p50"] == series["latency_us"]["median"] for series in data)


def test_against_another_model(pair: Pair, library_path: Path):
    with pytest.raises(FileError, match="was compiled from another model"):
        measured(library_path, against=pair[0])


@pytest.mark.parametrize("has_graph", [True, False])
def test_several_contexts_with_transfers(has_graph: bool, pair: Pair):
    load = Load(iterations=2, warmup=0, duration_s=0.0, contexts=3, include_transfers=True, has_graph=has_graph)
    result = measured(pair[1], against=pair[0], load=load)
    assert all(len(series.measured.samples_us) >= 6 for series in result.series)


def test_every_sample_is_written(library_path: Path, tmp_path: Path):
    result = measured(library_path, export=tmp_path / "bench.json")
    data = json.loads((tmp_path / "bench.json").read_text())
    (series,) = data["series"]
    assert len(series["samples_us"]) == series["samples"] == len(result.series[0].measured.samples_us)
    assert data["load"]["iterations"] == 3
    assert data["emulated"] is True
    assert "samples_us" not in result.to_data()["series"][0]


def test_what_is_not_there(library_path: Path, tmp_path: Path):
    with pytest.raises(DeviceError, match="no device 7"):
        measured(library_path, device=7)
    with pytest.raises(FileError, match=r"none\.npz"):
        measured(library_path, inputs=tmp_path / "none.npz")
    with pytest.raises(FileError, match="cannot be written"):
        measured(library_path, export=tmp_path / "none" / "bench.json")


def test_clocks_are_summed_up(library_path: Path, monkeypatch: pytest.MonkeyPatch):
    clocks = iter(range(1000, 10_000))
    monkeypatch.setattr(ClockReader, "read", lambda self: Clocks(sm_mhz=next(clocks), memory_mhz=3201, most_sm_mhz=1980))
    found = measured(library_path).to_data()["clocks"]
    assert (found["lowest_sm_mhz"], found["memory_mhz"], found["most_sm_mhz"]) == (1000, 3201, 1980)
    assert found["lowest_sm_mhz"] <= found["sm_mhz"] <= found["highest_sm_mhz"]


def test_a_gpu_has_a_speed(gpu_library_path: Path, tmp_path: Path):
    """Over a stand-in for libcuda.so.1 whose memory is the host's; a process finds that library once."""
    source = Path(fake_library.__file__).with_name("fake_image.c")
    fake_library.shared(tmp_path / "libcuda.so.1", source, flags=("-std=gnu99", "-DFAKE_GPU", "-Wl,-soname,libcuda.so.1"))
    arguments = ["bench", str(gpu_library_path), "--json", "--iterations", "3", "--duration", "0", "--contexts", "2", "--percentile", "95"]
    done = subprocess.run(
        [sys.executable, "-m", "nautilus_cli.cli", *arguments],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["target"], data["emulated"], data["notes"], data["clocks"]) == ("sm_90a", False, [], None)
    assert data["versions"]["driver"].startswith("CUDA ")
    assert data["series"][0]["samples"] >= 6
    assert data["series"][0]["throughput_per_s"] > 0
    assert "p95" in data["series"][0]["latency_us"]
