"""preview(): the plan without building it, and what is refused before building."""

from __future__ import annotations

from pathlib import Path

import pytest

from nautilus_cli.driver import compilation
from nautilus_cli.driver.options import CompileOptions
from nautilus_cli.driver.planning import PreviewOptions, preview
from nautilus_cli.errors import UsageError

Pair = tuple[Path, Path]

NEEDED = 256 + 512 + 24 + 24 + 16 + 24 + 8
"""Weights, workspace, three inputs and two outputs of the tiny model, at most."""


@pytest.fixture
def model(pair: Pair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The tiny model, on a machine where nothing is built."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was built")

    monkeypatch.setattr(compilation, "build", refuse)
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "cache"))
    return pair[0]


@pytest.mark.parametrize("target", ["emulated", "sm_90a"])
def test_a_plan_for_any_target(target: str, model: Path, tmp_path: Path):
    before = sorted(tmp_path.iterdir())
    found = preview(PreviewOptions(model=model, target=target))
    assert [section.title for section in found.sections] == ["plan", "kernels", "launches", "memory"]
    data = found.data
    assert data["target"] == target
    assert [port["name"] for port in data["inputs"]] == ["x", "y.1", "index"]
    assert [port["shape"] for port in data["outputs"]] == [[2, 3], [2]]
    assert len(data["launches"]) == len(found.sections[2].rows) > 0
    assert data["memory_bytes"] == data["weight_bytes"] + data["arena_bytes"] + data["input_bytes"] + data["output_bytes"]
    assert (data["input_bytes"], data["output_bytes"]) == (24 + 24 + 16, 24 + 8)
    assert f"{data['memory_bytes']} bytes" in found.sections[3].text
    assert sorted(tmp_path.iterdir()) == before


def test_a_plan_for_several_targets(model: Path):
    found = preview(PreviewOptions(model=model, target="sm_90a,sm_80,emulated"))
    assert [section.title for section in found.sections] == ["plan", *["kernels", "launches"] * 3, "memory"]
    assert [data["target"] for data in (found.data, *found.data["more_targets"])] == ["sm_80", "sm_90a", "emulated"]
    assert "for sm_80, sm_90a, emulated" in found.sections[0].text


def test_outputs_decide_the_plan(model: Path):
    found = preview(PreviewOptions(model=model, target="emulated", outputs=("total",))).data
    assert [port["name"] for port in found["outputs"]] == ["total"]
    assert [port["name"] for port in found["inputs"]] == ["x", "y.1"]
    assert found["weight_bytes"] == 0


def test_memory_up_to_what_is_allowed(model: Path):
    needed = preview(PreviewOptions(model=model, target="emulated")).data["memory_bytes"]
    assert needed <= NEEDED
    preview(PreviewOptions(model=model, target="emulated", max_memory_bytes=needed))
    said = rf"--max-memory: the model needs {needed} bytes .*: weights .*, workspace .*, inputs 64, outputs 32; allowed are {needed - 1} "
    with pytest.raises(UsageError, match=said):
        preview(PreviewOptions(model=model, target="emulated", max_memory_bytes=needed - 1))


def test_memory_is_refused_before_anything_is_built(model: Path, tmp_path: Path):
    with pytest.raises(UsageError, match="--max-memory"):
        compilation.compile(CompileOptions(model=model, output=tmp_path / "libm.so", target="emulated", max_memory_bytes=1))
    assert not (tmp_path / "libm.so").exists()
