"""One library for many sizes, emulated: compiled once, run at the smallest, the largest and sizes between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session
from tests.e2e.commands import Caller
from tests.e2e.networks import perceptron

SIZES = (1, 40, 2, 7, 31, 16, 3)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> tuple[Path, Path]:
    """The perceptron with a batch of 1 to 40, and its library, which compilation compared with onnxruntime at three sizes."""
    folder = tmp_path_factory.mktemp("open")
    path, output = folder / "model.onnx", folder / "libmodel.so"
    onnx.save(perceptron(batch="batch"), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAUTILUS_CACHE_DIR", str(cache))
        found = driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims={"batch": DimRange(1, 40)}))
    assert found.verification is not None and all(c.is_match for c in found.verification.comparisons.values())
    assert "the smallest sizes, the largest sizes, sizes between" in " ".join(found.verification.notes)
    return path, output


@pytest.fixture
def library(built: tuple[Path, Path]) -> Iterator[Library]:
    with nautilus_cli.load(built[1]) as loaded:
        yield loaded


def batch(size: int) -> np.ndarray:
    return np.random.default_rng(size).standard_normal((size, 8)).astype(np.float32)


def test_it_says_what_is_open(library: Library) -> None:
    assert [(d.name, d.low, d.high, d.divisor) for d in library.dimensions] == [("batch", 1, 40, 1)]
    assert [t.shape for t in library.inputs] == [(-1, 8)]
    assert [t.shape for t in library.model.outputs_for([(5, 8)])] == [(5, 4), (5, 16)]
    assert "x: f32[?, 8]" in repr(library)
    assert library.manifest["dimensions"] == [{"name": "batch", "low": 1, "high": 40, "divisor": 1}]
    assert library.manifest["inputs"][0]["shape"] == ["batch", 8]


def test_every_size_in_any_order(built: tuple[Path, Path], library: Library) -> None:
    for size in SIZES:
        graph = load(built[0], shapes={"x": (size, 8)}).graph
        inputs = {"x": batch(size)}
        expected = evaluate(graph, inputs)
        found = library(inputs)
        for name, value in graph.outputs:
            assert found[name].shape == value.type.static
            scale = float(np.abs(expected[name]).max())
            result = compare(found[name], expected[name], derived(expected[name], terms=16, depth=5, scale=scale))
            assert result.is_match, f"{name} at {size}: {result}"


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_shapes_that_recur_give_the_same_bits(built: tuple[Path, Path], launch: str) -> None:
    """Launches one by one, a graph of its own, one that had other shapes before, and one whose workspace moved."""
    with nautilus_cli.load(built[1], launch=launch) as library:
        first = {size: library(x=batch(size))["y"] for size in SIZES}
        for _ in range(2):
            for size in SIZES:
                np.testing.assert_array_equal(library(x=batch(size))["y"], first[size])
        for size in (*range(1, 25), *range(24, 0, -1), 40, 40, 40, 1, 1):  # more shapes than a context keeps graphs of
            found = library(x=batch(size))["y"]
            assert found.shape == (size, 4)
            if size in first:
                np.testing.assert_array_equal(found, first[size])
        changed = library(x=batch(40) * 2)["y"]
        assert not np.array_equal(changed, first[40])


def test_time_of_a_shape(library: Library) -> None:
    with Session(library) as session:
        for size in (3, 40):
            assert session.feed({"x": batch(size)})["y"].shape == (size, 4)
            assert len(session.time(samples=2, runs=2, warmup=1).samples_us) == 2


def test_small_inputs_use_little_memory(library: Library) -> None:
    sizes = [library.model.workspace_bytes_for([(size, 8)]) for size in (1, 2, 16, 40)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    assert sizes[-1] <= library.info.workspace_bytes


@pytest.mark.parametrize("size", [0, 41, 1000])
def test_a_size_outside_the_range_is_refused_and_the_next_one_runs(library: Library, size: int) -> None:
    expected = library(x=batch(7))["y"]
    with pytest.raises(UsageError, match=rf"input 'x' has {size} in dimension 0, 'batch'; the library was compiled for 1 to 40"):
        library(x=np.zeros((size, 8), np.float32))
    np.testing.assert_array_equal(library(x=batch(7))["y"], expected)


def test_a_fixed_dimension_stays_fixed(library: Library) -> None:
    with pytest.raises(UsageError, match="the shape is 3x9; the model wants \\?x8"):
        library(x=np.zeros((3, 9), np.float32))
    with pytest.raises(UsageError, match="input 'x' has 9 in dimension 1; the model takes 8"):
        library.model.outputs_for([(3, 9)])


def test_outputs_of_the_caller_have_the_shape_of_the_run(library: Library) -> None:
    out = np.empty((6, 4), np.float32)
    assert library(x=batch(6), out={"y": out})["y"] is out
    with pytest.raises(UsageError, match="the shape is 6x4; the model wants 5x4"):
        library(x=batch(5), out={"y": out})


def test_from_the_command_line(nautilus: Caller, built: tuple[Path, Path], tmp_path: Path) -> None:
    output, arrays, results = tmp_path / "lib.so", tmp_path / "x.npz", tmp_path / "y.npz"
    done = nautilus("compile", built[0], "-o", output, "--target", "emulated", "--dim", "batch=1..40@16").done()
    assert "compared at the smallest sizes, the largest sizes, sizes between" in done.err
    np.savez(arrays, x=batch(6))
    nautilus("run", output, "--inputs", arrays, "--outputs", results).done()
    with nautilus_cli.load(built[1]) as library, np.load(results) as found:
        assert compare(found["y"], library(x=batch(6))["y"], derived(found["y"], terms=16, depth=5, scale=1.0)).is_match
    np.savez(arrays, x=np.zeros((41, 8), np.float32))
    assert "input 'x' has 41 in dimension 0, 'batch'; the library was compiled for 1 to 40" in nautilus(
        "run", output, "--inputs", arrays
    ).refused(2)
    assert "leaves dimensions open (batch)" in nautilus("bench", output).refused(2)
    assert "leaves dimensions open (batch)" in nautilus("verify", built[0], output, "--golden", results).refused(2)
    assert "compared at the smallest sizes, the largest sizes, sizes between" in nautilus("verify", built[0], output).done().err
    np.savez(arrays, x=batch(5))
    assert "compared at the sizes given" in nautilus("verify", built[0], output, "--inputs", arrays).done().err
    nautilus("bench", output, "--inputs", arrays, "--against", built[0], "--iterations", "1", "--duration", "0", "--warmup", "0").done()
    assert "--dim 'bach': no input has a dimension of this name" in nautilus(
        "compile", built[0], "-o", output, "--target", "emulated", "--dim", "bach=1..4"
    ).refused(2)


def test_a_value_that_the_model_declares_is_checked_when_it_runs(tmp_path: Path) -> None:
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Cast", ["n"], ["length"], to=TensorProto.FLOAT),
                helper.make_node("Range", ["zero", "length", "one"], ["places"]),
                helper.make_node("Mul", ["places", "x"], ["y"]),
            ],
            "ramp",
            [helper.make_tensor_value_info("n", TensorProto.INT32, []), helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [9])],
            [numpy_helper.from_array(np.array(v, np.float32), name) for name, v in (("zero", 0), ("one", 1))],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=9,
    )
    path, output = tmp_path / "ramp.onnx", tmp_path / "libramp.so"
    onnx.save(model, path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", verify=False))
    with nautilus_cli.load(output) as ramp:
        x = np.array(0.5, np.float32)
        expected = np.arange(9, dtype=np.float32) / 2
        np.testing.assert_array_equal(ramp(n=np.array(9, np.int32), x=x)["y"], expected)
        for wrong in (8, 10, 0, -9, 2**31 - 1, -(2**31)):
            with pytest.raises(UsageError, match="an input holds a value that it must not hold"):
                ramp(n=np.array(wrong, np.int32), x=x)
        np.testing.assert_array_equal(ramp(n=np.array(9, np.int32), x=x)["y"], expected)


def test_times_of_sizes_that_nothing_was_fed_of(tmp_path: Path) -> None:
    """Where indices lie then, numbers of a larger size did."""
    port = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["rows"]), helper.make_node("Add", ["rows", "x"], ["y"])],
        "looked up",
        [port("x", TensorProto.FLOAT, ["n", 16]), port("ids", TensorProto.INT64, ["n"])],
        [port("y", TensorProto.FLOAT, ["n", 16])],
        [numpy_helper.from_array(np.ones((4, 16), np.float32), "table")],
    )
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims={"n": DimRange(1, 40)}, verify=False))
    with nautilus_cli.load(output) as library:
        context = library.model.create_context()
        x, ids, y = np.full((40, 16), 7, np.float32), np.zeros(40, np.int64), np.empty((40, 16), np.float32)
        context.reshape([x.shape, ids.shape])
        context.run_host([x.ctypes.data, ids.ctypes.data], [y.ctypes.data])
        assert np.all(y == 8)
        context.reshape([(1, 16), (1,)])
        assert context.time_us(samples=1, runs=1, warmup=0)[0] >= 0
        context.destroy()
