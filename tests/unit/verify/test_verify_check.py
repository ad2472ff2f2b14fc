"""verify(): a library against the reference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from models.small import build
from nautilus_cli.errors import FileError, ModelError, UsageError, VerificationError
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.graph import Graph
from nautilus_cli.verify import archive, report
from nautilus_cli.verify.check import Settings, verify
from nautilus_cli.verify.oracle import Oracle

FFMA = Settings(fp32_mode="ffma")

Arrays = Mapping[str, np.ndarray]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Graph]:
    path = tmp_path_factory.mktemp("models") / "bert.onnx"
    onnx.save(build("bert"), path)
    return path, load(path).graph


class Library:
    """The reference again, with an error added to one element of its output."""

    def __init__(self, path: Path, error: float = 0.0) -> None:
        self.oracle, self.error, self.inputs = Oracle(path), error, {}

    def __call__(self, inputs: Arrays) -> dict[str, np.ndarray]:
        self.inputs = dict(inputs)
        outputs = {name: array.copy() for name, array in self.oracle.run(inputs).items()}
        next(iter(outputs.values()))[0, 7, 11] += self.error
        return outputs


def test_the_same_computation_matches(bert: tuple[Path, Graph]):
    result = verify(*bert, Library(bert[0]), FFMA)
    assert result.is_match
    (comparison,) = result.comparisons.values()
    assert comparison.elements == 16 * 48
    assert 0 < comparison.tolerance.rtol < 1e-4


def test_one_wrong_element_is_found(bert: tuple[Path, Graph]):
    result = verify(*bert, Library(bert[0], error=1e-3), FFMA)
    (comparison,) = result.comparisons.values()
    assert not result.is_match
    assert comparison.failures == 1
    assert comparison.worst == (0, 7, 11)


def test_given_tolerances_replace_the_derived_ones(bert: tuple[Path, Graph]):
    (name,) = (n for n, _ in bert[1].outputs)
    library = Library(bert[0], error=1e-3)
    assert verify(*bert, library, Settings(atol={None: 1e-2}, fp32_mode="ffma")).is_match
    assert verify(*bert, library, Settings(atol={name: 1e-2, None: 0.0}, fp32_mode="ffma")).is_match
    assert not verify(*bert, library, Settings(atol={name: 0.0, None: 1e-2}, fp32_mode="ffma")).is_match
    (comparison,) = verify(*bert, library, Settings(rtol={None: 0.5}, fp32_mode="ffma")).comparisons.values()
    assert comparison.tolerance.rtol == 0.5
    assert comparison.tolerance.atol > 0


def test_the_report_is_reproducible_json(bert: tuple[Path, Graph], tmp_path: Path):
    first, again = (verify(*bert, Library(bert[0]), FFMA) for _ in range(2))
    assert first.to_json() == again.to_json()
    report.write(first.to_data(), tmp_path / "libm.verify.json")
    data = json.loads((tmp_path / "libm.verify.json").read_text())
    assert data["match"] is True
    assert data["schema"] == report.SCHEMA
    assert [i["values"] for i in data["inputs"]] == ["indices 0..96", "mask"]
    assert data["outputs"][0]["shape"] == [1, 16, 48]
    assert str(bert[0].parent) not in first.to_json()
    other = verify(*bert, Library(bert[0]), Settings(seed=1, fp32_mode="ffma"))
    assert other.to_json() != first.to_json()


def test_the_report_lies_beside_the_library():
    assert report.report_path(Path("out/libmodel.so")) == Path("out/libmodel.verify.json")


def test_a_report_that_cannot_be_written(bert: tuple[Path, Graph], tmp_path: Path):
    with pytest.raises(FileError, match="cannot be written"):
        report.write(verify(*bert, Library(bert[0]), FFMA).to_data(), tmp_path / "none" / "x.json")


def test_given_inputs_are_used(bert: tuple[Path, Graph], tmp_path: Path):
    inputs = {"ids": np.full((1, 16), 5), "mask": np.ones((1, 16), np.int64)}
    archive.write(tmp_path / "x.npz", inputs)
    library = Library(bert[0])
    result = verify(*bert, library, Settings(inputs=tmp_path / "x.npz", fp32_mode="ffma"))
    np.testing.assert_array_equal(library.inputs["ids"], inputs["ids"])
    assert result.seed is None
    assert result.inputs[0].values == "given"


def test_ranges_are_used(bert: tuple[Path, Graph]):
    library = Library(bert[0])
    verify(*bert, library, Settings(ranges={"ids": (3, 3)}, fp32_mode="ffma"))
    assert (library.inputs["ids"] == 3).all()


def test_bound_inputs_go_to_the_reference_only(bert: tuple[Path, Graph]):
    path = bert[0]
    mask = np.ones((1, 16), np.int64)
    loaded = load(path, bindings={"mask": "1"})
    library = Library(path)
    result = verify(path, loaded.graph, lambda x: library({**x, "mask": mask}), Settings(constants=loaded.constants, fp32_mode="ffma"))
    assert result.is_match
    assert [i.name for i in result.inputs] == ["ids"]


@pytest.mark.parametrize("change", ["name", "dtype", "shape"])
def test_outputs_of_another_model(bert: tuple[Path, Graph], change: str):
    def run(inputs: Arrays) -> dict[str, np.ndarray]:
        ((name, array),) = Oracle(bert[0]).run(inputs).items()
        return {"name": {"other": array}, "dtype": {name: array.astype(np.float16)}, "shape": {name: array[0]}}[change]

    with pytest.raises(VerificationError, match="compiled from another model") as caught:
        verify(*bert, run, FFMA)
    assert caught.value.exit_code == 6


def test_unknown_outputs_in_tolerances(bert: tuple[Path, Graph]):
    with pytest.raises(UsageError, match="--rtol: there is no output 'nothing'"):
        verify(*bert, Library(bert[0]), Settings(rtol={"nothing": 1.0}, fp32_mode="ffma"))


def test_a_model_that_the_reference_refuses(bert: tuple[Path, Graph]):
    with pytest.raises(ModelError, match="--golden"):
        verify(b"nonsense", bert[1], Library(bert[0]), FFMA)


def nan_model(path: Path) -> Graph:
    """Logarithms: y, of -|x|, is nothing but NaN; z, of x, is NaN for half of normal numbers, but not of positive ones."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 16])
    y, z = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8, 16]) for n in "yz")
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("Log", ["b"], ["y"]),
        helper.make_node("Log", ["x"], ["z"]),
    ]
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "g", [x], [y, z]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return load(path).graph


def test_a_match_of_nothing_but_nan_is_noted(tmp_path: Path):
    path = tmp_path / "nan.onnx"
    graph = nan_model(path)
    result = verify(path, graph, Oracle(path).run, FFMA)
    assert result.is_match
    assert result.comparisons["y"].expected_nan == 128
    assert result.comparisons["z"].expected_nan == 0
    (note,) = result.notes
    assert "'y' has no finite element" in note
    assert json.loads(result.to_json())["outputs"][0]["worst"]["actual"] == "nan"


def test_nan_on_one_side_only_is_a_mismatch(tmp_path: Path):
    path = tmp_path / "nan.onnx"
    graph = nan_model(path)

    def run(inputs: Arrays) -> dict[str, np.ndarray]:
        return {name: np.nan_to_num(array) for name, array in Oracle(path).run(inputs).items()}

    result = verify(path, graph, run, FFMA)
    assert not result.is_match
    assert result.comparisons["y"].nonfinite_mismatches == 128
