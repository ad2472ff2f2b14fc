"""Libraries for several targets: one copy of the weights, and for each target its own code, plan and schedules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact import weights_file
from nautilus_cli.driver import each_target
from nautilus_cli.errors import DeviceError
from nautilus_cli.runtime.library import held_targets
from tests.e2e.commands import Caller
from tests.e2e.networks import BATCH, WIDTH, perceptron

TARGETS = ("sm_80", "sm_90a", "emulated")


@pytest.fixture
def library(model: Path, nautilus: Caller) -> Path:
    path = model.with_name("libmodel.so")
    nautilus("compile", model, "-o", path, "--target", "emulated,sm_80", "--target", "sm_90a").done()
    return path


def test_holds_each_target_and_one_copy_of_the_weights(library: Path, model: Path) -> None:
    assert held_targets(library) == (("sm_80", False), ("sm_90a", False), ("emulated", True))
    found = json.loads(library.with_suffix(".json").read_text())
    targets = [found, *found["more_targets"]]
    assert [target["target"] for target in targets] == list(TARGETS)
    for target in targets:
        assert [launch["nodes"] for launch in target["launches"]] == [["first", "bias", "activation"], ["second"], ["softmax"]]
        assert target["arena_bytes"] == found["arena_bytes"]
    assert len({json.dumps(target["kernels"]) for target in targets}) > 1
    first_layer = perceptron().graph.initializer[0].raw_data
    packed = np.frombuffer(first_layer, np.float32).reshape(WIDTH, -1).T.tobytes()
    assert library.read_bytes().count(packed) + library.read_bytes().count(first_layer) == 1


def test_is_verified_on_what_runs_here(library: Path) -> None:
    verdict = json.loads(library.with_suffix(".verify.json").read_text())
    assert verdict["match"] is True


def hide_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no library find a GPU, also where there is one."""
    real = each_target.load_library

    def load(path: Path, place: str = "automatic", **rest: Any) -> Any:
        if place == "gpu":
            raise DeviceError("no CUDA driver")
        return real(path, place=place, **rest)

    monkeypatch.setattr(each_target, "load_library", load)


def test_verify_says_which_targets_it_cannot_run(library: Path, model: Path, nautilus: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU the emulated target is compared, and a note says what is not."""
    hide_gpus(monkeypatch)
    done = nautilus("verify", model, library).done()
    assert "note: not verified on sm_80 or sm_90a: " in done.err
    assert done.out.count(" ok\n") == 2


@pytest.mark.parametrize("error", [0.0, 0.01])
def test_every_target_that_runs_here_is_verified(
    error: float, library: Path, model: Path, nautilus: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator stands for a GPU, which may have an error of its own."""

    class Gpu:
        """The emulated target under another name."""

        def __init__(self) -> None:
            self._library = nautilus_cli.load(library, place="emulated")
            self.info = replace(self._library.info, target="sm_90a")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._library, name)

        def __call__(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {name: array + np.float32(error) for name, array in self._library(inputs).items()}

        def __enter__(self) -> Gpu:
            return self

        def __exit__(self, *_: object) -> None:
            self._library.close()

    real = each_target.load_library
    monkeypatch.setattr(each_target, "load_library", lambda path, place, **rest: Gpu() if place == "gpu" else real(path, place=place))
    done = nautilus("verify", model, library)
    assert [line for line in done.out.splitlines() if line.startswith("on ")] == ["on sm_90a:", "on emulated:"]
    assert done.code == (6 if error else 0)
    assert ("2 of 2 outputs differ on sm_90a by more" in done.err) == bool(error)
    verdict = json.loads(library.with_suffix(".verify.json").read_text())
    assert verdict["match"] is not bool(error)
    assert verdict["target"] == "sm_90a"
    assert [(more["target"], more["match"]) for more in verdict["more_targets"]] == [("emulated", True)]
    data = json.loads(nautilus("verify", model, library, "--json").out)
    assert [more["target"] for more in data["more_targets"]] == ["emulated"]


def test_the_emulator_runs_when_asked(library: Path, model: Path, nautilus: Caller) -> None:
    with nautilus_cli.load(library, place="emulated") as loaded:
        assert loaded.info.target == "emulated"
        assert loaded.targets() == TARGETS
        np.testing.assert_allclose(loaded(x=np.ones((BATCH, WIDTH), np.float32))["y"].sum(axis=1), 1, rtol=1e-6)
    nautilus("verify", model, library, "--emulated").done()


def test_the_order_of_the_targets_changes_nothing(library: Path, model: Path, nautilus: Caller) -> None:
    before = library.read_bytes(), library.with_suffix(".json").read_bytes()
    nautilus("compile", model, "-o", library, "--target", ",".join(reversed(TARGETS)), "--no-verify").done()
    assert (library.read_bytes(), library.with_suffix(".json").read_bytes()) == before


def test_inspect_shows_each_target(library: Path, nautilus: Caller) -> None:
    said = nautilus("inspect", library).done().out
    for target in TARGETS:
        assert f"kernels of {target}" in said
        assert f"launches of {target}" in said


def test_temporaries_of_each_target(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    nautilus("compile", model, "-o", tmp_path / "libm.so", "--target", "sm_80,emulated", "--save-temps", tmp_path / "temps").done()
    suffixes = {folder.name: {path.suffix for path in folder.iterdir()} for folder in (tmp_path / "temps").iterdir()}
    assert {".cu", ".cubin"} <= suffixes["sm_80"]
    assert {".cu", ".so"} <= suffixes["emulated"]


def test_weights_beside_it(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    library = tmp_path / "libm.so"
    done = nautilus("compile", model, "-o", library, "--target", "sm_80,emulated", "--weights", "external").done()
    assert f"{tmp_path / 'libm.weights.safetensors'}: weights" in done.out
    nautilus("verify", model, library, "--emulated").done()
    said = nautilus("inspect", library).done().out
    assert "in libm.weights.safetensors" in said
    (tmp_path / "libm.weights.safetensors").unlink()
    assert "libm.weights.safetensors: No such file" in nautilus("verify", model, library, "--emulated").refused(7)


def test_large_weights_go_beside_it(model: Path, nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_file, "EXTERNAL_ABOVE_BYTES", 1000)
    library, beside = tmp_path / "libm.so", tmp_path / "libm.weights.safetensors"
    nautilus("compile", model, "-o", library, "--target", "emulated").done()
    assert beside.exists()
    nautilus("compile", model, "-o", library, "--target", "emulated", "--weights", "internal").done()
    assert not beside.exists()


def test_refuses_a_target_that_is_none_or_twice(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    assert "named twice" in nautilus("compile", model, "-o", tmp_path / "libm.so", "--target", "sm_80,sm_80").refused(2)
    assert "'sm_81' is not a target" in nautilus("compile", model, "-o", tmp_path / "libm.so", "--target", "sm_80,sm_81").refused(2)
