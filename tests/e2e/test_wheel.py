"""The wheel and the sdist, outside the checkout: what a user of pip gets. Needs a package index, from which pip takes the dependencies."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.networks import BATCH, CLASSES, WIDTH, perceptron, saved

ROOT = Path(__file__).resolve().parents[2]

RUN = """
import sys
import numpy as np
import nautilus_cli
with nautilus_cli.load(sys.argv[1]) as library:
    found = library(x=np.load(sys.argv[2]))
np.save(sys.argv[3], found["y"])
files = {name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}
print(*sorted({name.split(".")[0] for name, file in files.items() if "site-packages" in file} - {"_distutils_hack"}))
"""
"""Runs a library and prints which installed packages that took; the last is pip's own."""


def call(*command: str | os.PathLike[str], cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command that must not see the checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([os.fspath(c) for c in command], cwd=cwd, env=environment, capture_output=True, text=True)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def environment(folder: Path) -> Path:
    """Make an empty virtual environment; return its folder of programs."""
    call(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / "bin"


def install(programs: Path, *arguments: str | os.PathLike[str]) -> None:
    call(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments, cwd=programs)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what builds the project."""
    found = environment(tmp_path_factory.mktemp("build") / "environment")
    probe = ("download", "--quiet", "--disable-pip-version-check", "--no-deps", "--retries", "1", "--timeout", "10", "hatchling>=1.25")
    if call(found / "python", "-m", "pip", *probe, cwd=found, check=False).returncode:
        pytest.skip("NO PACKAGE INDEX CAN BE REACHED: wheel and sdist were not tried")
    install(found, "hatchling>=1.25")
    return found


def built(programs: Path, kind: str, source: Path, folder: Path) -> Path:
    """Build `wheel` or `sdist` of a source tree."""
    folder.mkdir()
    code = f"import sys, hatchling.build; print(hatchling.build.build_{kind}(sys.argv[1]))"
    return folder / call(programs / "python", "-c", code, folder, cwd=source).stdout.split()[-1]


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_sdist_builds_the_same_wheel(programs: Path, tmp_path: Path) -> None:
    wheel = built(programs, "wheel", ROOT, tmp_path / "wheel")
    sdist = built(programs, "sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    again = built(programs, "wheel", source, tmp_path / "again")
    assert names(again) == names(wheel)
    assert {"README.md", "LICENSE", "CHANGELOG.md", "Makefile", "tests", "docs", "models"} <= {path.name for path in source.iterdir()}
    held = {name.removeprefix("nautilus_cli/") for name in names(wheel) if name.startswith("nautilus_cli/templates/")}
    assert held == {os.fspath(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_wheel_compiles_and_its_library_runs_with_numpy_only(programs: Path, tmp_path: Path) -> None:
    wheel = built(programs, "wheel", ROOT, tmp_path / "wheel")
    saved(perceptron(), tmp_path / "model.onnx")

    full = environment(tmp_path / "full")
    install(full, wheel)
    compiled = call(full / "nautilus", "compile", "model.onnx", "-o", "libmodel.so", "--target", "emulated", cwd=tmp_path)
    assert "libmodel.json: manifest" in compiled.stdout
    assert (tmp_path / "libmodel.verify.json").exists()
    verified = call(full / "nautilus", "verify", "model.onnx", "libmodel.so", "--seed", "1", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[-1] for line in verified] == ["verdict", "ok", "ok"]
    call(full / "nautilus", "compile", "model.onnx", "-o", "libgpu.so", "--target", "sm_80,sm_90a", "--no-verify", cwd=tmp_path)

    bare = environment(tmp_path / "bare")
    install(bare, "numpy>=2.0")
    install(bare, "--no-deps", wheel)
    np.save(tmp_path / "x.npy", np.ones((BATCH, WIDTH), np.float32))
    said = call(bare / "python", "-c", RUN, "libmodel.so", "x.npy", "y.npy", cwd=tmp_path)
    assert said.stdout.split() == ["nautilus_cli", "numpy"]
    found = np.load(tmp_path / "y.npy")
    assert found.shape == (BATCH, CLASSES)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)
