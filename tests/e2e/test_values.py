"""Inputs whose values decide shapes and axes: one library, emulated, at many values, against onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.runtime.library import Library

Port = tuple[int, Sequence[int | str]]
"""Element type and shape of an input."""

FLOAT, INT64, INT32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32

DATA = np.random.default_rng(7).uniform(0.5, 2.0, (2, 3, 4)).astype(np.float32)


class Compiled:
    """A model whose outputs declare no shapes, its library, and onnxruntime on it."""

    def __init__(
        self, folder: Path, nodes: Sequence[NodeProto], inputs: Mapping[str, Port], outputs: Mapping[str, int], **dims: DimRange
    ) -> None:
        path, library = folder / "model.onnx", folder / "libmodel.so"
        onnx.save(model(nodes, inputs, outputs), path)
        driver.compile(driver.CompileOptions(model=path, output=library, target="emulated", verify=False, dims=dims))
        self.graph = load(path, dims=dims).graph
        self.library: Library = nautilus_cli.load(library)
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def check(self, feeds: Mapping[str, np.ndarray]) -> None:
        """Hold every output against onnxruntime."""
        found = self.library(feeds)
        expected = dict(zip(found, self.session.run(list(found), dict(feeds)), strict=True))
        for name, wanted in expected.items():
            assert found[name].shape == wanted.shape, (name, found[name].shape, wanted.shape)
            result = compare(found[name], wanted, derived(wanted, terms=64, depth=3))
            assert result.is_match, (name, result)


def model(nodes: Sequence[NodeProto], inputs: Mapping[str, Port], outputs: Mapping[str, int]) -> ModelProto:
    results = []
    for name, element in outputs.items():
        results.append(onnx.ValueInfoProto(name=name))
        results[-1].type.tensor_type.elem_type = element
    ports = [helper.make_tensor_value_info(name, element, shape) for name, (element, shape) in inputs.items()]
    return helper.make_model(helper.make_graph(nodes, "g", ports, results), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture(scope="module", autouse=True)
def _cache(cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAUTILUS_CACHE_DIR", str(cache))
        yield


@pytest.fixture(scope="module")
def reshaped(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"]), helper.make_node("Reshape", ["x", "shape"], ["z"], allowzero=1)]
    inputs = {"x": (FLOAT, [2, 3, 4]), "shape": (INT64, [3])}
    return Compiled(tmp_path_factory.mktemp("reshape"), nodes, inputs, {"y": FLOAT, "z": FLOAT})


@pytest.mark.parametrize("shape", [*permutations((2, 3, 4)), (24, 1, 1), (1, -1, 1), (-1, 3, 2), (2, -1, 12), (6, 2, -1)])
def test_reshape(reshaped: Compiled, shape: tuple[int, ...]) -> None:
    reshaped.check({"x": DATA, "shape": int64(*shape)})


@pytest.fixture(scope="module")
def reshaped_zero(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    inputs: dict[str, Port] = {"x": (FLOAT, ["n", 3, 4]), "shape": (INT64, [4]), "flat": (INT64, [1])}
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
        helper.make_node("Reshape", ["x", "flat"], ["z"]),
        helper.make_node("Exp", ["y"], ["e"]),
    ]
    return Compiled(tmp_path_factory.mktemp("reshape0"), nodes, inputs, {"y": FLOAT, "z": FLOAT, "e": FLOAT}, n=DimRange(1, 6))


@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize("shape", [(0, 3, 2, 2), (0, 0, 0, 1), (-1, 2, 2, 3), (0, -1, 1, 4), (1, 0, 4, -1), (0, 3, -1, 4)])
def test_reshape_of_an_open_batch(reshaped_zero: Compiled, batch: int, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(batch).standard_normal((batch, 3, 4)).astype(np.float32)
    for flat in (-1, 12 * batch):
        reshaped_zero.check({"x": x, "shape": int64(*shape), "flat": int64(flat)})


REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


@pytest.fixture(scope="module")
def reductions(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Every reduction, with and without the dimensions, over one axis and over two."""
    nodes, outputs = [], {}
    for name, keep, axes in product(REDUCTIONS, (0, 1), ("one", "two")):
        output = f"{name}_{keep}_{axes}"
        nodes.append(helper.make_node(f"Reduce{name}", ["x", axes], [output], keepdims=keep))
        outputs[output] = FLOAT
    inputs: dict[str, Port] = {"x": (FLOAT, ["n", 3, 4]), "one": (INT64, [1]), "two": (INT64, [2])}
    return Compiled(tmp_path_factory.mktemp("reduce"), nodes, inputs, outputs, n=DimRange(1, 9))


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_reduce(reductions: Compiled, batch: int) -> None:
    x = np.random.default_rng(batch).uniform(0.5, 2.0, (batch, 3, 4)).astype(np.float32)
    pairs = [p for p in permutations(range(-3, 3), 2) if len({a % 3 for a in p}) == 2]
    for number, pair in enumerate(pairs):
        reductions.check({"x": x, "one": int64(number % 6 - 3), "two": int64(*pair)})


@pytest.fixture(scope="module")
def maybe_empty(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    nodes = [
        helper.make_node("ReduceLogSumExp", ["x", "axes"], ["without"], keepdims=0),
        helper.make_node("ReduceLogSumExp", ["x", "axes"], ["with"], keepdims=1),
        helper.make_node("ReduceMax", ["x", "axes"], ["most"], keepdims=0),
        helper.make_node("Unsqueeze", ["x", "axes"], ["longer"]),
        helper.make_node("Relu", ["longer"], ["positive"]),
    ]
    inputs: dict[str, Port] = {"x": (FLOAT, ["n", 3, 4]), "axes": (INT64, [1])}
    outputs = dict.fromkeys(("without", "with", "most", "positive"), FLOAT)
    return Compiled(tmp_path_factory.mktemp("empty"), nodes, inputs, outputs, n=DimRange(0, 5))


@pytest.mark.parametrize("batch", [0, 1, 5])
def test_batches_of_nothing(maybe_empty: Compiled, batch: int) -> None:
    x = np.random.default_rng(batch).uniform(0.5, 2.0, (batch, 3, 4)).astype(np.float32)
    for axis in range(-3, 3):
        maybe_empty.check({"x": x, "axes": int64(axis)})


@pytest.fixture(scope="module")
def normalised(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """What a reduction keeps meets what it reduced, and what a Reshape gives meets a bias."""
    nodes = [
        helper.make_node("ReduceMean", ["x", "axes"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Mul", ["centred", "centred"], ["squared"]),
        helper.make_node("ReduceMean", ["squared", "axes"], ["variance"], keepdims=1),
        helper.make_node("Constant", [], ["small"], value_float=1e-3),
        helper.make_node("Add", ["variance", "small"], ["positive"]),
        helper.make_node("Sqrt", ["positive"], ["deviation"]),
        helper.make_node("Div", ["centred", "deviation"], ["y"]),
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("Add", ["r", "bias"], ["z"]),
    ]
    inputs: dict[str, Port] = {"x": (FLOAT, ["n", 3, 4]), "axes": (INT64, [2]), "shape": (INT64, [2]), "bias": (FLOAT, [4])}
    return Compiled(tmp_path_factory.mktemp("normalise"), nodes, inputs, {"y": FLOAT, "z": FLOAT}, n=DimRange(1, 5))


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_sizes_that_values_decide_meet(normalised: Compiled, batch: int) -> None:
    x = np.random.default_rng(batch).standard_normal((batch, 3, 4)).astype(np.float32)
    for axes in ((0, 1), (1, 2), (-1, 0), (2, -3)):
        for shape in ((-1, 4), (12 * batch, 1), (3 * batch, 4)):
            normalised.check({"x": x, "axes": int64(*axes), "shape": int64(*shape), "bias": DATA[0, 0]})
    told = "the number of dimensions that meet, and are neither equal nor 1: 1, where 0 is right; input 'shape' holds"
    with pytest.raises(UsageError, match=told):
        normalised.library({"x": x, "axes": int64(0, 1), "shape": int64(-1, 2), "bias": DATA[0, 0]})


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """What other operators make of a tensor whose sizes values decide."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["product"]),
        helper.make_node("Softmax", ["r"], ["shares"], axis=0),
        helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0, 2]),
        helper.make_node("Concat", ["r", "r"], ["twice"], axis=1),
        helper.make_node("Gather", ["r", "places"], ["taken"], axis=0),
        helper.make_node("ArgMax", ["r"], ["best"], axis=1, keepdims=0),
        helper.make_node("Unsqueeze", ["r", "one"], ["image"]),
        helper.make_node("Conv", ["image", "kernel"], ["y"], pads=[1, 1, 1, 1]),
    ]
    inputs: dict[str, Port] = {
        "x": (FLOAT, [2, 3, 4]),
        "shape": (INT64, [3]),
        "w": (FLOAT, [4, 5]),
        "places": (INT64, [2]),
        "one": (INT64, [1]),
        "kernel": (FLOAT, [2, 1, 3, 3]),
    }
    outputs = dict.fromkeys(("product", "shares", "t", "twice", "taken", "y"), FLOAT)
    return Compiled(tmp_path_factory.mktemp("followed"), nodes, inputs, {**outputs, "best": INT64})


def test_other_operators_on_sizes_that_values_decide(followed: Compiled) -> None:
    random = np.random.default_rng(2)
    feeds = {"x": DATA, "w": random.standard_normal((4, 5)).astype(np.float32), "places": int64(0, -1), "one": int64(1)}
    feeds["kernel"] = random.standard_normal((2, 1, 3, 3)).astype(np.float32)
    for shape in ((2, 3, 4), (6, 1, 4), (1, -1, 4), (3, 2, 4)):
        followed.check({**feeds, "shape": int64(*shape)})
    with pytest.raises(UsageError, match=r"\(MatMul\): a size of an operand: 3, where 4 is right; input 'shape' holds"):
        followed.library({**feeds, "shape": int64(2, 4, 3)})
    with pytest.raises(UsageError, match=r"\(Conv\): a size of an operand: 2, where 1 is right; input"):
        followed.library({**feeds, "shape": int64(2, 3, 4), "one": int64(0)})


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    nodes = [
        helper.make_node("CumSum", ["x", "axis"], ["plain"]),
        helper.make_node("CumSum", ["x", "axis"], ["reverse"], reverse=1),
        helper.make_node("CumSum", ["x", "axis"], ["exclusive"], exclusive=1),
        helper.make_node("CumSum", ["x", "axis"], ["both"], exclusive=1, reverse=1),
    ]
    inputs: dict[str, Port] = {"x": (FLOAT, ["n", 3, 4]), "axis": (INT32, [])}
    outputs = dict.fromkeys(("plain", "reverse", "exclusive", "both"), FLOAT)
    return Compiled(tmp_path_factory.mktemp("cumsum"), nodes, inputs, outputs, n=DimRange(1, 9))


@pytest.mark.parametrize("axis", range(-3, 3))
def test_cumulative_sums(lines: Compiled, axis: int) -> None:
    for batch in (1, 2, 8):
        x = np.random.default_rng(batch).standard_normal((batch, 3, 4)).astype(np.float32)
        lines.check({"x": x, "axis": np.array(axis, np.int32)})


@pytest.fixture(scope="module")
def ones(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    nodes = [
        helper.make_node("Unsqueeze", ["x", "new"], ["longer"]),
        helper.make_node("Squeeze", ["longer", "new"], ["again"]),
        helper.make_node("Squeeze", ["p", "gone"], ["shorter"]),
        helper.make_node("Unsqueeze", ["x", "one"], ["one_longer"]),
    ]
    inputs: dict[str, Port] = {
        "x": (FLOAT, ["n", 3, 4]),
        "p": (FLOAT, [1, 3, 1, 1]),
        "new": (INT64, [2]),
        "one": (INT64, [1]),
        "gone": (INT64, [2]),
    }
    outputs = dict.fromkeys(("longer", "again", "shorter", "one_longer"), FLOAT)
    return Compiled(tmp_path_factory.mktemp("squeeze"), nodes, inputs, outputs, n=DimRange(1, 6))


def test_squeeze_and_unsqueeze(ones: Compiled) -> None:
    p = DATA[:1, :, :1, None]
    gone = [*permutations((0, 2, 3), 2), (-4, 3), (-1, -2)]
    for number, new in enumerate(pair for pair in permutations(range(-5, 5), 2) if len({a % 5 for a in pair}) == 2):
        x = np.random.default_rng(number).standard_normal((1 + number % 6, 3, 4)).astype(np.float32)
        ones.check({"x": x, "p": p, "new": int64(*new), "one": int64(number % 8 - 4), "gone": int64(*gone[number % len(gone)])})


@pytest.fixture(scope="module")
def expanded(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    nodes = [helper.make_node("Expand", ["x", "shape"], ["y"]), helper.make_node("Expand", ["row", "wide"], ["z"])]
    inputs: dict[str, Port] = {"x": (FLOAT, ["n", 1, 4]), "shape": (INT64, [3]), "row": (FLOAT, [4]), "wide": (INT64, [2])}
    return Compiled(tmp_path_factory.mktemp("expand"), nodes, inputs, {"y": FLOAT, "z": FLOAT}, n=DimRange(1, 6))


@pytest.mark.parametrize("batch", [1, 3])
def test_expand(expanded: Compiled, batch: int) -> None:
    x = np.random.default_rng(batch).standard_normal((batch, 1, 4)).astype(np.float32)
    for shape in ((1, 1, 1), (batch, 5, 4), (1, 2, 4), *(((6, 3, 1),) if batch == 1 else ())):
        for wide in ((1, 1), (3, 4), (2, 1)):
            expanded.check({"x": x, "shape": int64(*shape), "row": DATA[0, 0], "wide": int64(*wide)})


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """One input that is data as well: an index of a Gather, an operand of arithmetic, an output."""
    nodes = [
        helper.make_node("Constant", [], ["two"], value=helper.make_tensor("", INT64, [1], [2])),
        helper.make_node("Mul", ["count", "two"], ["twice"]),
        helper.make_node("Concat", ["twice", "count"], ["shape"], axis=0),
        helper.make_node("Expand", ["s", "shape"], ["filled"]),
        helper.make_node("Gather", ["x", "count"], ["taken"]),
        helper.make_node("Cast", ["shape"], ["numbers"], to=FLOAT),
    ]
    inputs: dict[str, Port] = {"count": (INT64, [1]), "x": (FLOAT, [9, 2]), "s": (FLOAT, [])}
    outputs = {"filled": FLOAT, "taken": FLOAT, "numbers": FLOAT, "shape": INT64}
    return Compiled(tmp_path_factory.mktemp("mixed"), nodes, inputs, outputs)


def test_values_are_data_too(mixed: Compiled) -> None:
    x = np.arange(18, dtype=np.float32).reshape(9, 2)
    for count in (1, 8, 3):
        mixed.check({"count": int64(count), "x": x, "s": np.array(0.5, np.float32)})


def test_integers_that_decide_nothing_are_data(tmp_path: Path) -> None:
    path = tmp_path / "gather.onnx"
    nodes = [helper.make_node("Gather", ["x", "places"], ["y"])]
    onnx.save(model(nodes, {"x": (FLOAT, [5, 2]), "places": (INT64, [3])}, {"y": FLOAT}), path)
    loaded = load(path).graph
    assert [v.type.static for _, v in loaded.outputs] == [(3, 2)] and not loaded.requirements


REFUSED = [
    ((5, 5, 1), "the number of elements of the result: 25, where 24 is right"),
    ((5, 5, 1), "input 'shape' holds 5 in element 0"),
    ((-1, -1, 2), "the number of -1 in the shape: 2"),
    ((-2, 3, 4), "input 'shape' holds -2 in element 0; the library was compiled for -1 to 24 there"),
    ((2, 3, 1 << 40), "input 'shape' holds 1099511627776 in element 2; the library was compiled for -1 to 24 there"),
    ((-1, 5, 1), "the number of elements of the result: 20, where 24 is right"),
]


@pytest.mark.parametrize(("shape", "text"), REFUSED)
def test_a_shape_that_does_not_fit(reshaped: Compiled, shape: tuple[int, ...], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        reshaped.library({"x": DATA, "shape": int64(*shape)})
    assert text in str(caught.value)
    reshaped.check({"x": DATA, "shape": int64(4, 3, 2)})  # the context is as it was


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        (3, (0, 1), "input 'one' holds 3 in element 0; the library was compiled for -3 to 2 there"),
        (0, (-4, 1), "input 'two' holds -4 in element 0; the library was compiled for -3 to 2 there"),
        (0, (1, -2), "the number of axes that name a dimension which another one names: 1, where 0 is right"),
    ],
)
def test_an_axis_that_is_not_there(reductions: Compiled, one: int, two: tuple[int, int], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        reductions.library({"x": DATA, "one": int64(one), "two": int64(*two)})
    assert text in str(caught.value)
    reductions.check({"x": DATA, "one": int64(0), "two": int64(1, 0)})


def test_a_dimension_that_cannot_be_squeezed(ones: Compiled) -> None:
    feeds = {"x": DATA, "p": DATA[:1, :, :1, None], "new": int64(0, 1), "one": int64(0)}
    with pytest.raises(UsageError, match="the dimension that element 1 of the axes names: 3, where 1 is right; input 'gone' holds 1"):
        ones.library({**feeds, "gone": int64(0, 1)})
    ones.check({**feeds, "gone": int64(0, 2)})


def test_compile_and_verify_find_values_to_compare_with(tmp_path: Path) -> None:
    path, output, arrays = tmp_path / "model.onnx", tmp_path / "libmodel.so", tmp_path / "arrays.npz"
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Softmax", ["r"], ["y"])]
    onnx.save(model(nodes, {"x": (FLOAT, ["n", 6]), "shape": (INT64, [2])}, {"y": FLOAT}), path)
    found = driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims={"n": DimRange(2, 4)}))
    assert found.verification is not None and all(c.is_match for c in found.verification.comparisons.values())
    assert "the smallest sizes with 'shape' = [" in " ".join(found.verification.notes)
    again = driver.verify(driver.VerifyOptions(model=path, library=output))
    assert all(c.is_match for c in again.comparisons.values()) and "the largest sizes with 'shape' = [" in " ".join(again.notes)
    np.savez(arrays, x=DATA.reshape(4, 6), shape=int64(8, -1))
    given = driver.verify(driver.VerifyOptions(model=path, library=output, inputs=arrays))
    assert "with 'shape' = [8, -1]" in " ".join(given.notes)
    outputs = driver.run(driver.RunOptions(library=output, inputs=arrays)).outputs
    assert outputs["y"].shape == (8, 3)


def test_a_context_reads_values_itself(reshaped: Compiled) -> None:
    """As a C program runs it: addresses of device memory, which of an emulated library is the host's; shapes are asked for afterwards."""
    context = reshaped.library.model.create_context()
    outputs = [np.zeros((2, 24), np.float32) for _ in reshaped.library.outputs]
    for shape in ((4, 3, 2), (1, -1, 1), (2, 2, 6), (4, 3, 2), (4, 3, 2)):
        wanted = int64(*shape)
        context.run([DATA.ctypes.data, wanted.ctypes.data], [o.ctypes.data for o in outputs], 0)
        found = context.output_shapes([3, 3], 0)
        assert list(found) == [DATA.reshape(shape).shape] * 2
        assert all((o.reshape(-1)[:24] == DATA.reshape(-1)).all() for o in outputs)
    wanted = int64(5, 5, 5)
    with pytest.raises(UsageError, match="number of elements"):
        context.run([DATA.ctypes.data, wanted.ctypes.data], [o.ctypes.data for o in outputs], 0)
    context.destroy()


def test_what_the_library_says(reshaped: Compiled) -> None:
    assert [t.read_elements for t in reshaped.library.inputs] == [0, 3]
    assert reshaped.library.dimensions == () and reshaped.library.manifest["dimensions"] == []
    element = {"input": "shape", "low": -1, "high": 24, "saturates": False}
    assert reshaped.library.manifest["values"] == [{**element, "element": number} for number in range(3)]
    assert all(t.shape == (-1, -1, -1) and t.bytes == DATA.nbytes for t in reshaped.library.outputs)
