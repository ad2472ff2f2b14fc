"""run, bench, doctor and cache on a library that was compiled, through the command line, on the emulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.commands import Caller
from tests.e2e.networks import BATCH, CLASSES, HIDDEN, WIDTH, resampled, saved

QUICK = ("--iterations", "2", "--warmup", "1", "--duration", "0")


def test_run(library: Path, nautilus: Caller, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((BATCH, WIDTH), np.float32))
    done = nautilus("run", library, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz", "--json").done()
    assert [(output["name"], output["shape"]) for output in json.loads(done.out)["outputs"]] == [
        ("y", [BATCH, CLASSES]),
        ("hidden", [BATCH, HIDDEN]),
    ]
    with np.load(tmp_path / "y.npz") as outputs:
        np.testing.assert_allclose(outputs["y"].sum(axis=1), 1, rtol=1e-6)
    assert "lacks the input 'x' (f32[2, 8])" in nautilus("run", library).refused(2)
    assert "there is no device 9" in nautilus("run", library, "--inputs", tmp_path / "x.npz", "--device", "9").refused(5)


def test_bench(library: Path, model: Path, nautilus: Caller) -> None:
    assert "emulated: not a speed" in nautilus("bench", library, *QUICK).done().out
    data = json.loads(nautilus("bench", library, *QUICK, "--against", model, "--contexts", "2", "--json").done().out)
    ours, theirs = data["series"]
    assert (data["emulated"], data["notes"]) == (True, ["emulated: not a speed"])
    assert ours["name"] == "nautilus"
    assert theirs["name"].startswith("onnxruntime ")
    assert ours["samples"] >= 4
    assert "another model" in nautilus("bench", library, *QUICK, "--against", saved(resampled(), model.with_name("o.onnx"))).refused(7)


def test_a_bound_input_is_fed_to_onnxruntime_only(nautilus: Caller, tmp_path: Path) -> None:
    model, library = saved(resampled(), tmp_path / "m.onnx"), tmp_path / "libm.so"
    nautilus("compile", model, "-o", library, "--target", "emulated", "--bind", "sr=16000", "--no-verify").done()
    data = json.loads(nautilus("bench", library, *QUICK, "--against", model, "--json").done().out)
    assert list(data["inputs"]) == ["x"]
    assert len(data["series"]) == 2
    np.savez(tmp_path / "x.npz", x=np.ones((1, 16), np.float32), sr=np.array(16000))
    nautilus("verify", model, library, "--inputs", tmp_path / "x.npz").done()
    np.savez(tmp_path / "x.npz", x=np.ones((1, 16), np.float32), sr=np.array(8000))
    refused = nautilus("verify", model, library, "--inputs", tmp_path / "x.npz").refused(2)
    assert "'sr' is 8000; the library has it bound to 16000" in refused


def test_doctor(library: Path, nautilus: Caller) -> None:
    done = nautilus("doctor", library).done()
    for part in ("libc", "holds      emulated", "runs here  emulated on "):
        assert part in done.out
    library.write_bytes(library.read_bytes()[:-10])
    cut = nautilus("doctor", library)
    assert cut.code == 7
    assert "runs here  no" in cut.out
    assert "truncated" in cut.err


def test_cache(library: Path, nautilus: Caller, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(nautilus("cache", "info", "--json").done().out)
    assert found["folder"] == str(cache)
    assert {"host", "image", "object"} <= {kind["name"] for kind in found["kinds"]}
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "other"))
    assert "removed 0 entries" in nautilus("cache", "clear").done().out
    assert library.exists()
