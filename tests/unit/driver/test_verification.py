"""verify(): against onnxruntime, a golden file, and the cases of a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from nautilus_cli.driver.options import VerifyOptions
from nautilus_cli.driver.verification import verify
from nautilus_cli.errors import DeviceError, FileError, UsageError
from nautilus_cli.verify import archive
from tests.support import modelled_library, tiny_library

Pair = tuple[Path, Path]


def options(pair: Pair, **changes: object) -> VerifyOptions:
    return VerifyOptions(model=pair[0], library=pair[1], **changes)  # type: ignore[arg-type]


def write_tensor(path: Path, array: np.ndarray, name: str = "") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def test_against_onnxruntime(pair: Pair):
    result = verify(options(pair))
    assert list(result.comparisons) == ["sum", "picked"]
    assert all(found.is_match for found in result.comparisons.values())
    assert result.reference.startswith("onnxruntime ")
    assert result.cases == ()


def test_what_was_saved_is_golden(pair: Pair, tmp_path: Path):
    x, y = tmp_path / "x.npz", tmp_path / "y.npz"
    verify(options(pair, seed=3, save_inputs=x, save_outputs=y))
    again = verify(options(pair, inputs=x, golden=y))
    assert all(found.is_match for found in again.comparisons.values())
    assert again.reference == "golden file y.npz"
    assert json.loads(again.report.read_text())["reference"] == "golden file y.npz"
    other = verify(options(pair, golden=y, seed=4))
    assert not any(found.is_match for found in other.comparisons.values())


def test_a_golden_file_needs_no_onnxruntime(pair: Pair, tmp_path: Path):
    archive.write(tmp_path / "x.npz", tiny_library.feeds())
    archive.write(tmp_path / "y.npz", tiny_library.expected(tiny_library.feeds()))
    script = (
        "import sys\n"
        "sys.modules['onnxruntime'] = None\n"  # importing it is then an error
        "from nautilus_cli.cli.main import main\n"
        f"sys.exit(main({['verify', *map(str, pair), '--inputs', str(tmp_path / 'x.npz'), '--golden', str(tmp_path / 'y.npz')]!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" ok") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"picked": None}, r"lacks the output 'picked' \(f32\[2\]\)"),
        ({"other": np.zeros(1)}, "no output 'other'. Known: picked, sum"),
        ({"sum": np.zeros((2, 3))}, r"output 'sum' is float64\[2, 3\]; the model gives float32\[2, 3\]"),
    ],
)
def test_a_golden_file_that_does_not_fit(change: dict, said: str, pair: Pair, tmp_path: Path):
    arrays = {**tiny_library.expected(tiny_library.feeds()), **change}
    archive.write(tmp_path / "y.npz", {name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(UsageError, match=said):
        verify(options(pair, golden=tmp_path / "y.npz"))


def test_a_dataset_of_npz_files(pair: Pair, tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    for seed in (0, 2, 10):
        inputs = tiny_library.feeds(seed)
        outputs = {name: array.copy() for name, array in tiny_library.expected(inputs).items()}
        if seed == 2:
            outputs["sum"][1, 2] += 1
        archive.write(folder / f"{seed}.npz", inputs if seed == 10 else {**inputs, **outputs})
    result = verify(options(pair, dataset=folder))
    assert [case.name for case in result.cases] == ["0.npz", "2.npz", "10.npz"]
    assert [case.is_match for case in result.cases] == [True, False, True]
    assert result.comparisons["sum"] == result.cases[1].comparisons["sum"]
    assert result.comparisons["sum"].worst == (1, 2)
    assert result.comparisons["picked"].is_match
    assert result.reference.startswith("dataset data and onnxruntime ")
    report = json.loads(result.report.read_text())
    assert report["match"] is False
    assert [(case["case"], case["match"]) for case in report["cases"]] == [("0.npz", True), ("2.npz", False), ("10.npz", True)]


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_a_dataset_as_onnx_has_it(nested: bool, named: bool, pair: Pair, tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    place = folder / "test_data_set_0" if nested else folder
    inputs = tiny_library.feeds()
    for kind, arrays in (("input", inputs), ("output", tiny_library.expected(inputs))):
        for number, (name, array) in enumerate(arrays.items()):
            write_tensor(place / f"{kind}_{number}.pb", array, name if named else "")
    (result,) = verify(options(pair, dataset=folder)).cases
    assert result.name == place.name
    assert result.is_match


def test_a_dataset_with_a_bound_input(pair: Pair, tmp_path: Path, host: bytes, image: bytes):
    write_tensor(tmp_path / "data" / "input_0.pb", np.zeros((2, 3), np.float32), "x")
    write_tensor(tmp_path / "data" / "input_1.pb", np.zeros((2, 3), np.float32))
    from nautilus_cli.frontend.load import load
    from nautilus_cli.verify.dataset import read_case

    loaded = load(pair[0], bindings={"index": "5"})
    with pytest.raises(UsageError, match=r"input_1\.pb: the tensor has no name"):
        read_case(tmp_path / "data", loaded.graph, loaded.constants)
    write_tensor(tmp_path / "data" / "input_1.pb", np.zeros((2, 3), np.float32), "y.1")
    assert list(read_case(tmp_path / "data", loaded.graph, loaded.constants).inputs) == ["x", "y.1"]
    write_tensor(tmp_path / "data" / "input_2.pb", np.array([5, 5]), "index")
    assert list(read_case(tmp_path / "data", loaded.graph, loaded.constants).inputs) == ["x", "y.1"]
    write_tensor(tmp_path / "data" / "input_2.pb", np.array([5, 4]), "index")
    with pytest.raises(UsageError, match="input 'index' is 5, 4; the library has it bound to 5, 5. Leave it out"):
        read_case(tmp_path / "data", loaded.graph, loaded.constants)


def test_folders_that_hold_no_case(pair: Pair, tmp_path: Path):
    with pytest.raises(FileError, match="there is no such folder. It needs .npz files"):
        verify(options(pair, dataset=tmp_path / "none"))
    with pytest.raises(FileError, match="is no folder"):
        verify(options(pair, dataset=pair[0]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds no case. It needs .npz files"):
        verify(options(pair, dataset=tmp_path / "empty"))


@pytest.mark.parametrize("content", [b"", b"\xff\xff", onnx.TensorProto(name="x", data_type=1, dims=[4]).SerializeToString()])
def test_files_that_hold_no_tensor(content: bytes, pair: Pair, tmp_path: Path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "input_0.pb").write_bytes(content)
    with pytest.raises(FileError, match=r"input_0\.pb: is no tensor of ONNX: .*Sequences"):
        verify(options(pair, dataset=tmp_path / "data"))


@pytest.mark.parametrize("change", [{"inputs": Path("x")}, {"golden": Path("y")}, {"save_outputs": Path("y")}, {"ranges": {"x": (0, 1)}}])
def test_a_dataset_leaves_nothing_to_say(change: dict, pair: Pair, tmp_path: Path):
    with pytest.raises(UsageError, match="a dataset says what goes in"):
        verify(options(pair, dataset=tmp_path, **change))


def test_another_model_and_another_device(pair: Pair, tmp_path: Path):
    changed = modelled_library.model()
    changed.producer_name = "someone else"
    onnx.save(changed, tmp_path / "other.onnx")
    with pytest.raises(FileError, match=r"libmodel\.so: was compiled from another model. Compile other.onnx again"):
        verify(options((tmp_path / "other.onnx", pair[1])))
    with pytest.raises(DeviceError, match="no device 3"):
        verify(options(pair, device=3))
