"""run(): arrays in a file to arrays in a file, and what is wrong with an array said by its name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nautilus_cli.driver.running import RunOptions, run
from nautilus_cli.errors import DeviceError, FileError, UsageError
from nautilus_cli.verify import archive
from tests.support import tiny_library

INPUTS = tiny_library.feeds()


def write(folder: Path, **changes: np.ndarray | None) -> Path:
    arrays = {**INPUTS, **changes}
    archive.write(folder / "x.npz", {name: array for name, array in arrays.items() if array is not None})
    return folder / "x.npz"


def test_outputs_are_written_and_summed_up(library_path: Path, tmp_path: Path):
    result = run(RunOptions(library=library_path, inputs=write(tmp_path), outputs=tmp_path / "y.npz"))
    written = archive.read(tmp_path / "y.npz")
    tiny_library.check(written, INPUTS)
    assert list(result.outputs) == list(written) == ["sum", "picked", "counters", "options"]
    found = result.outputs["sum"]
    assert (found.dtype, found.shape, found.nan, found.inf) == ("float32", (2, 3), 0, 0)
    assert (found.min, found.max) == (written["sum"].min(), written["sum"].max())
    assert (result.target, result.is_emulated, result.file) == ("emulated", True, tmp_path / "y.npz")


def test_what_is_not_finite_is_counted_and_left_out(library_path: Path, tmp_path: Path):
    x = np.array([[np.nan, np.inf, -np.inf], [1, 2, 3]], np.float32)
    found = run(RunOptions(library=library_path, inputs=write(tmp_path, x=x))).outputs["sum"]
    assert (found.nan, found.inf) == (1, 2)
    assert found.min is not None and np.isfinite(found.min)


def test_without_inputs_each_is_named(library_path: Path):
    with pytest.raises(UsageError, match=r"--inputs: lacks the inputs 'x' \(f32\[2, 3\]\), 'y.1' \(f32\[2, 3\]\), 'index' \(i64\[2\]\)"):
        run(RunOptions(library=library_path))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"index": None}, r"lacks the input 'index' \(i64\[2\]\)"),
        ({"y": INPUTS["x"]}, "has no input 'y'. Known: .*y.1"),
        ({"x": INPUTS["x"].astype(np.float64)}, r"input 'x' is float64\[2, 3\]; the model takes float32\[2, 3\]"),
        ({"x": INPUTS["x"][:1]}, r"input 'x' is float32\[1, 3\]; the model takes float32\[2, 3\]"),
        ({"index": np.array([0, 6])}, "index"),
    ],
)
def test_what_is_wrong_is_said(changes: dict, said: str, library_path: Path, tmp_path: Path):
    with pytest.raises(UsageError, match=said):
        run(RunOptions(library=library_path, inputs=write(tmp_path, **changes), outputs=tmp_path / "y.npz"))
    assert not (tmp_path / "y.npz").exists()


def test_files_that_are_not_there(library_path: Path, tmp_path: Path):
    with pytest.raises(FileError, match=r"none\.npz: cannot be read"):
        run(RunOptions(library=library_path, inputs=tmp_path / "none.npz"))
    with pytest.raises(FileError, match=r"none\.so"):
        run(RunOptions(library=tmp_path / "none.so"))
    with pytest.raises(FileError, match="cannot be written"):
        run(RunOptions(library=library_path, inputs=write(tmp_path), outputs=tmp_path / "none" / "y.npz"))


def test_a_device_that_is_not_there(library_path: Path, tmp_path: Path):
    with pytest.raises(DeviceError, match="no device 7"):
        run(RunOptions(library=library_path, inputs=write(tmp_path), device=7))
