"""What the command line does with libraries whose inputs' values decide shapes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from tests.e2e.commands import Caller

QUICK = ("--iterations", "2", "--warmup", "1", "--duration", "0")
TEXT = """<ir_version: 9, opset_import: ["" : 18]>
values (float[N, 24] x, int64[1] k) => (float[N, m] best, float[N, m] soft) {
  best, places = TopK (x, k)
  soft = Softmax (best)
}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values") / "model.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


@pytest.fixture(scope="module")
def open_library(model: Path) -> Path:
    library = model.with_name("libopen.so")
    driver.compile(driver.CompileOptions(model=model, output=library, target="emulated", dims={"N": DimRange(1, 6)}, verify=False))
    return library


@pytest.fixture(scope="module")
def library(model: Path) -> Path:
    library = model.with_name("libfixed.so")
    dims, shapes = {"k[0]": DimRange(7, 20)}, {"x": (3, 24)}
    driver.compile(driver.CompileOptions(model=model, output=library, target="emulated", dims=dims, shapes=shapes, verify=False))
    return library


def test_a_size_out_of_range_is_what_is_wrong(nautilus: Caller, model: Path, open_library: Path) -> None:
    refused = nautilus("verify", model, open_library, "--dim", "N=7").refused(2)
    assert "dimension N is 7; the library was compiled for 1 to 6" in refused
    assert "compared at the sizes given" in nautilus("verify", model, open_library, "--dim", "N=6").done().err


def test_values_are_found_to_measure_with(nautilus: Caller, model: Path, library: Path, open_library: Path, tmp_path: Path) -> None:
    for more in ((), ("--against", model)):
        data = json.loads(nautilus("bench", library, *QUICK, *more, "--json").done().out)
        assert data["inputs"]["k"].startswith("values that it takes: [")
    assert "leaves dimensions open (N)" in nautilus("bench", open_library, *QUICK).refused(2)
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 24), np.float32), k=np.array([3]))
    for more in ((), ("--against", model)):
        nautilus("bench", open_library, *QUICK, *more, "--inputs", tmp_path / "x.npz").done()


def test_each_case_of_a_dataset_has_its_values(nautilus: Caller, model: Path, library: Path, open_library: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for rows, k in ((3, 7), (3, 20), (3, 11)):
        np.savez(tmp_path / f"{k}.npz", x=random.standard_normal((rows, 24)).astype(np.float32), k=np.array([k]))
    for one in (library, open_library):
        assert "3 cases against onnxruntime" in nautilus("verify", model, one, "--dataset", tmp_path).done().out
    folder = tmp_path / "onnx" / "test_data_set_0"
    folder.mkdir(parents=True)
    x = random.standard_normal((3, 24)).astype(np.float32)
    best = -np.sort(-x, axis=1)[:, :8]
    soft = np.exp(best) / np.exp(best).sum(axis=1, keepdims=True)
    for name, array in (("input_0", x), ("input_1", np.array([8])), ("output_0", best), ("output_1", soft.astype(np.float32))):
        (folder / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for one in (library, open_library):
        nautilus("verify", model, one, "--dataset", folder.parent).done()
    (folder / "output_0.pb").write_bytes(numpy_helper.from_array(best + 1).SerializeToString())
    assert nautilus("verify", model, open_library, "--dataset", folder.parent).code == 6


def test_ranges_of_values_far_from_zero_are_tried(nautilus: Caller, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(TEXT.replace("24", "400")), path)
    far = ("--shape", "x=1x400", "--dim", "k[0]=200..300")
    assert (
        "compared at its shapes with 'k' = [200]"
        in nautilus("compile", path, "-o", tmp_path / "libmodel.so", "--target", "emulated", *far).done().err
    )
