"""Sizes that depend on data: one library on data in which nothing, one, some and all of it counts, held against onnxruntime."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.runtime.description import EmulatorOptions
from tests.e2e.networks import model

TARGET = "emulated"
RUNS: tuple[EmulatorOptions | None, ...] = (
    EmulatorOptions(order="fifo"),
    EmulatorOptions(order="reverse", poison=True, threads=1),
    EmulatorOptions(order="random", seed=3),
)

Feed = Mapping[str, np.ndarray]


class Network:
    """Collects nodes; what nothing reads is an output, of which the model declares no dimension."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def input(self, name: str, dtype: Any, *shape: int | str) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    def constant(self, array: Any, dtype: Any = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array, dtype)
        return name

    def nodes_of(self, op: str, *operands: str, outputs: int = 1, **attributes: Any) -> list[str]:
        names = [f"n{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        return names

    def node(self, op: str, *operands: str, **attributes: Any) -> str:
        return self.nodes_of(op, *operands, **attributes)[0]

    def model(self, opset: int = 18) -> ModelProto:
        read = {name for node in self.nodes for name in node.input}
        left = [name for node in self.nodes for name in node.output if name not in read]
        bare = model(self.nodes, self.inputs, [helper.make_empty_tensor_value_info(n) for n in left], self.constants, opset=opset)
        typed = onnx.shape_inference.infer_shapes(bare)
        for output in typed.graph.output:  # onnxruntime wants types; dimensions that the file tells would be taken for granted
            assert output.type.tensor_type.elem_type != TensorProto.UNDEFINED
            output.type.tensor_type.ClearField("shape")
        del typed.graph.value_info[:]
        return typed


def hold(made: ModelProto, feeds: Sequence[Feed], folder: Path, dims: Mapping[str, DimRange] | None = None) -> list[dict[str, np.ndarray]]:
    """Compile once and compare at every feed, and with the last one again; return what onnxruntime gave."""
    path = folder / "model.onnx"
    onnx.save(made, path)
    output = folder / "model.so"
    driver.compile(driver.CompileOptions(model=path, output=output, target=TARGET, dims=dims or {}, verify=False, jobs=1))
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    truths = [dict(zip(names, session.run(None, dict(feed)), strict=True)) for feed in feeds]
    with nautilus_cli.load(output) as library:
        for options in RUNS:
            if options is not None:
                library.configure_emulator(options)
            for feed, truth in [*zip(feeds, truths, strict=True), (feeds[0], truths[0])]:
                found = library(feed)
                for name, wanted in truth.items():
                    assert found[name].shape == wanted.shape, name
                    compared = compare(found[name], wanted, derived(wanted, terms=64))
                    assert compared.is_match, (name, compared)
    return truths


def masks(*shape: int) -> list[np.ndarray]:
    """Nothing, the first, the last, some, all."""
    some = np.random.default_rng(5).random(shape) < 0.3
    first, last = np.zeros(shape, bool), np.zeros(shape, bool)
    first.flat[0] = last.flat[-1] = True
    return [np.zeros(shape, bool), first, last, some, np.ones(shape, bool)]


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 50), (5, 1700)], ids=str)
def test_non_zero(shape: tuple[int, ...], tmp_path: Path) -> None:
    s = Network()
    s.node("NonZero", s.input("x", np.float32, *shape))
    truths = hold(s.model(), [{"x": np.where(mask, np.float32(2.5), 0).astype(np.float32)} for mask in masks(*shape)], tmp_path)
    assert {truth["n0_0"].shape[1] for truth in truths} >= {0, 1, int(np.prod(shape))}


def test_chain_of_gathers(tmp_path: Path) -> None:
    """NonZero, its places as indices, work on what they name, sums over it: also of sizes made of the count."""
    s = Network()
    x = s.input("x", np.float32, 6, 9)
    mask = s.node("Greater", x, s.constant(0.25, np.float32))
    places = s.node("Transpose", s.node("NonZero", mask), perm=[1, 0])
    found = s.node("GatherND", x, places)
    worked = s.node("Add", s.node("Mul", s.node("Sigmoid", found), found), s.constant(1, np.float32))
    s.node("ReduceSum", worked, s.constant([0]), keepdims=0)
    rows = s.node(
        "Gather", s.constant(np.random.default_rng(3).standard_normal((6, 4)), np.float32), s.node("Gather", places, s.constant(0), axis=1)
    )
    s.node("ReduceMax", rows, s.constant([1]), keepdims=0)
    flat = s.node("Reshape", rows, s.constant([-1]))
    s.node("Relu", flat)
    s.node("MatMul", rows, s.constant(np.random.default_rng(4).standard_normal((4, 3)), np.float32))
    s.node("Concat", flat, s.node("Reshape", x, s.constant([-1])), worked, axis=0)
    s.node("Cast", s.node("Shape", places), to=TensorProto.INT32)
    count = s.node("Gather", s.node("Shape", found), s.constant(0))
    s.node("Mul", s.node("Cast", count, to=TensorProto.FLOAT), s.constant(0.5, np.float32))
    s.node("Range", s.constant(0), count, s.constant(1))
    s.node(
        "Expand",
        s.constant([[1.5], [2.5]], np.float32),
        s.node("Concat", s.constant([2]), s.node("Reshape", count, s.constant([1])), axis=0),
    )
    hold(s.model(), [{"x": np.where(mask, np.float32(0.75), np.float32(-0.5)) * 1} for mask in masks(6, 9)], tmp_path)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None, tmp_path: Path) -> None:
    s = Network()
    s.node("Compress", s.input("x", np.float32, 5, 6, 4), s.input("mask", np.bool_, 4), **({} if axis is None else {"axis": axis}))
    x = np.random.default_rng(1).standard_normal((5, 6, 4)).astype(np.float32)
    hold(s.model(), [{"x": x, "mask": mask} for mask in masks(4)], tmp_path)


@pytest.mark.parametrize(
    ("dtype", "axis", "is_sorted"),
    [(np.float32, None, 1), (np.int64, None, 0), (np.int8, None, 1), (np.float64, 0, 1), (np.float32, 1, 1), (np.int64, 1, 0)],
)
def test_unique(dtype: Any, axis: int | None, is_sorted: int, tmp_path: Path) -> None:
    s = Network()
    s.nodes_of("Unique", s.input("x", dtype, 7, 5), outputs=4, sorted=is_sorted, **({} if axis is None else {"axis": axis}))
    random = np.random.default_rng(2)
    feeds = [{"x": random.integers(-high, high, (7, 5)).astype(dtype)} for high in (1, 2, 100)]
    repeated = random.integers(-1, 2, (7, 5)).astype(dtype)
    repeated[[1, 4, 6]], repeated[:, [3, 4]] = repeated[0], repeated[:, [0]]
    hold(s.model(), [*feeds, {"x": repeated}, {"x": np.ones((7, 5), dtype)}, {"x": np.arange(35).reshape(7, 5).astype(dtype)}], tmp_path)


def corners(random: np.random.Generator, batch: int, boxes: int) -> np.ndarray:
    """Boxes, many of which cover each other, some with their corners swapped, some without an area."""
    centre, size = random.random((batch, boxes, 2)) * 4, random.random((batch, boxes, 2)) * 2
    found = np.concatenate([centre - size, centre + size], -1).astype(np.float32)
    found[:, ::7] = found[:, ::7, [2, 3, 0, 1]]
    found[:, 5::11, 2:] = found[:, 5::11, :2]
    return found


def test_non_max_suppression(tmp_path: Path) -> None:
    """Limits that only a run knows, scores that are equal, and thresholds that leave none, one, many and all boxes."""
    s = Network()
    operands = [s.input("boxes", np.float32, 2, 40, 4), s.input("scores", np.float32, 2, 3, 40)]
    limits = [s.input("most", np.int64, 1), s.input("overlap", np.float32, 1), s.input("least", np.float32, 1)]
    s.node("NonMaxSuppression", *operands, *limits)
    random = np.random.default_rng(9)
    feeds = []
    for most, overlap, least in ((40, 0.5, 0.2), (3, 0.3, 0.0), (0, 0.5, 0.0), (1, 0.0, 0.9), (40, 1.0, -1.0), (100, 0.1, 2.0)):
        scores = random.random((2, 3, 40)).astype(np.float32).round(1)
        limit = {"most": np.array([most]), "overlap": np.array([overlap], np.float32), "least": np.array([least], np.float32)}
        feeds.append({"boxes": corners(random, 2, 40), "scores": scores, **limit})
    truths = hold(s.model(), feeds, tmp_path)
    assert {0, 240} <= {len(truth["n0_0"]) for truth in truths}


@pytest.mark.parametrize(("batch", "boxes"), [(1, 60), (2, 100), (3, 33)])
def test_detector(batch: int, boxes: int, tmp_path: Path) -> None:
    """The head of a detector: boxes from centres and sizes, scores by class, suppression, and what is kept of both, row by row."""
    s = Network()
    raw = s.input("raw", np.float32, batch, 9, boxes)
    sizes = [s.constant([4, 1, 4])]
    centred, objectness, classes = s.nodes_of("Split", raw, *sizes, outputs=3, axis=1)
    scores = s.node("Mul", s.node("Sigmoid", classes), s.node("Sigmoid", objectness))
    found = s.node("Transpose", centred, perm=[0, 2, 1])
    kept = s.node(
        "NonMaxSuppression",
        found,
        scores,
        s.constant([20]),
        s.constant([0.45], np.float32),
        s.constant([0.3], np.float32),
        center_point_box=1,
    )
    image = s.node("Gather", kept, s.constant([0]), axis=1)
    box = s.node("Gather", kept, s.constant([2]), axis=1)
    kind = s.node("Squeeze", s.node("Gather", kept, s.constant([1]), axis=1), s.constant([1]))
    chosen = s.node("GatherND", found, s.node("Concat", image, box, axis=1))
    score = s.node("GatherND", scores, kept)
    rows = [
        chosen,
        s.node("Unsqueeze", score, s.constant([1])),
        s.node("Unsqueeze", s.node("Cast", kind, to=TensorProto.FLOAT), s.constant([1])),
    ]
    s.node("Concat", *rows, axis=1)
    s.node("Cast", s.node("Squeeze", image, s.constant([1])), to=TensorProto.INT32)
    random = np.random.default_rng(boxes)
    feeds = []
    for shift in (0.0, -9.0, 2.0, -1.5):
        values = np.concatenate(
            [random.random((batch, 4, boxes)) * [[4], [4], [2], [2]], random.standard_normal((batch, 5, boxes)) + shift], 1
        )
        feeds.append({"raw": values.astype(np.float32)})
    truths = hold(s.model(), feeds, tmp_path)
    assert 0 in {len(truth[name]) for truth in truths for name in truth}


def test_open_dimension(tmp_path: Path) -> None:
    """Counts of inputs whose sizes are open too."""
    s = Network()
    x = s.input("x", np.float32, "n", 9)
    places = s.node("NonZero", s.node("Greater", x, s.constant(0, np.float32)))
    found = s.node("GatherND", x, s.node("Transpose", places, perm=[1, 0]))
    s.node("ReduceSum", s.node("Mul", found, found), s.constant([0]))
    s.node("Compress", x, s.node("Greater", s.node("ReduceSum", x, s.constant([1]), keepdims=0), s.constant(0, np.float32)), axis=0)
    s.nodes_of("Unique", s.node("Floor", x), outputs=2, sorted=1)
    random = np.random.default_rng(4)
    feeds = [
        {"x": (random.standard_normal((n, 9)) + shift).astype(np.float32)} for n, shift in ((1, -9), (64, 0), (13, 9), (1, 1), (47, -1))
    ]
    hold(s.model(), feeds, tmp_path, {"n": DimRange(1, 64)})


def test_open_detector(tmp_path: Path) -> None:
    """Suppression of open batches of an open number of boxes."""
    s = Network()
    operands = [s.input("boxes", np.float32, "batch", "boxes", 4), s.input("scores", np.float32, "batch", 3, "boxes")]
    kept = s.node("NonMaxSuppression", *operands, s.constant([15]), s.constant([0.4], np.float32), s.constant([0.2], np.float32))
    s.node("GatherND", operands[0], s.node("Gather", kept, s.constant([0, 2]), axis=1))
    random = np.random.default_rng(6)
    feeds = []
    for batch, boxes in ((1, 1), (4, 70), (2, 33), (3, 12)):
        scores = random.random((batch, 3, boxes)).astype(np.float32)
        feeds.append({"boxes": corners(random, batch, boxes), "scores": scores})
    hold(s.model(), feeds, tmp_path, {"batch": DimRange(1, 4), "boxes": DimRange(1, 70)})


def test_numbers_that_decide_shapes(tmp_path: Path) -> None:
    """A limit, a k, the end of a slice and a shape that are computed of data."""
    s = Network()
    mask = s.input("mask", np.bool_, 40)
    x = s.input("x", np.float32, 40, 3)
    number = s.node("ReduceSum", s.node("Cast", mask, to=TensorProto.INT64), s.constant([0]))
    scalar = s.node("Squeeze", number)
    s.node("Range", s.constant(2), s.node("Add", scalar, s.constant(5)), s.constant(1))
    s.nodes_of("TopK", s.node("ReduceSum", x, s.constant([1]), keepdims=0), number, outputs=2)
    cut = s.node("Slice", x, s.constant([0]), number, s.constant([0]))
    s.node("Relu", cut)
    s.node("Expand", s.constant([0.5], np.float32), s.node("Concat", s.constant([2]), number, axis=0))
    values = np.random.default_rng(8).standard_normal((40, 3)).astype(np.float32)
    hold(s.model(), [{"mask": mask, "x": values} for mask in masks(40)], tmp_path)


def test_numbers_of_inputs_that_the_host_could_read(tmp_path: Path) -> None:
    """A few numbers are read by the host where that helps; what it cannot work out of them, a kernel does as it does for many."""
    s = Network()
    x = s.input("x", np.float32, 4)
    is_great = s.node("Cast", s.node("Greater", x, s.constant(0, np.float32)), to=TensorProto.INT64)
    s.node("Range", s.constant(0), s.node("ReduceSum", is_great, keepdims=0), s.constant(1))
    s.node("Slice", s.constant(np.arange(12).reshape(3, 4)), s.constant([0]), s.node("ArgMax", x, axis=0, keepdims=1), s.constant([0]))
    feeds = [{"x": np.array(x, np.float32)} for x in ([1, 2, -1, 3], [-1, -2, -3, -1], [3, 2, 2, 1])]
    hold(s.model(), feeds, tmp_path)


def test_a_number_that_decides_a_shape_beyond_its_bound(tmp_path: Path) -> None:
    """Negative, above what there is to take, and above the default bound of a size: an error, after which the library goes on."""
    s = Network()
    x = s.input("x", np.int64, 100)
    number = s.node("ReduceSum", x, s.constant([0]))
    s.node("Cast", s.node("Range", s.constant(0), s.node("Squeeze", number), s.constant(1)), to=TensorProto.FLOAT)
    s.nodes_of("TopK", x, number, outputs=2)
    path, output = tmp_path / "model.onnx", tmp_path / "model.so"
    onnx.save(s.model(), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target=TARGET, verify=False, jobs=1))
    with nautilus_cli.load(output) as library:
        for total in (3, 101, 0, -1, 100, 5000, 2**40, 7):
            feed = {"x": np.array([total] + [0] * 99)}
            if 0 <= total <= 100:
                assert [array.shape for array in library(feed).values()] == [(total,)] * 3
            else:
                told = "the library was compiled for at most 100" if total > 0 else rf"'-{re.escape(number)}\[0\]' is 1; .* at most 0"
                with pytest.raises(UsageError, match=told):
                    library(feed)


def test_two_stages(tmp_path: Path) -> None:
    """Boxes above a score go through suppression, and what is kept through pooling of regions and a classifier; then the best of those."""
    s = Network()
    random = np.random.default_rng(12)
    image, scores = s.input("image", np.float32, 1, 3, 16, 16), s.input("scores", np.float32, 60)
    boxes = s.input("boxes", np.float32, 60, 4)
    likely = s.node("Squeeze", s.node("NonZero", s.node("Greater", scores, s.constant(0.5, np.float32))), s.constant([0]))
    some, rated = s.node("Gather", boxes, likely), s.node("Gather", scores, likely)
    limits = [s.constant([30]), s.constant([0.5], np.float32)]
    kept = s.node("NonMaxSuppression", s.node("Unsqueeze", some, s.constant([0])), s.node("Unsqueeze", rated, s.constant([0, 1])), *limits)
    chosen = s.node("Squeeze", s.node("Gather", kept, s.constant([2]), axis=1), s.constant([1]))
    regions = s.node("Gather", some, chosen)
    places = s.node("Expand", s.constant(0), s.node("Shape", chosen))
    pooled = s.node("RoiAlign", image, regions, places, output_height=2, output_width=2, sampling_ratio=2)
    weights = s.constant(random.standard_normal((12, 5)), np.float32)
    classes = s.node("Softmax", s.node("MatMul", s.node("Reshape", pooled, s.constant([-1, 12])), weights), axis=1)
    s.node("ArgMax", classes, axis=1, keepdims=0)
    best = s.node("Gather", rated, chosen)
    values, order = s.nodes_of("TopK", best, s.node("Min", s.node("Shape", best), s.constant([8])), outputs=2)
    s.node("Gather", classes, order)
    marked = s.node("Expand", s.constant(1.0, np.float32), s.node("Shape", chosen))
    s.node("ScatterND", s.constant(np.zeros(60), np.float32), s.node("Unsqueeze", chosen, s.constant([1])), marked)
    s.node("Relu", values)
    feeds = []
    for shift in (0.0, -2.0, 2.0, 0.2):
        rated_now = (random.random(60) + shift).astype(np.float32)
        given = {"image": random.standard_normal((1, 3, 16, 16)).astype(np.float32), "boxes": np.abs(corners(random, 1, 60)[0]) * 3}
        feeds.append({**given, "scores": rated_now})
    hold(s.model(), feeds, tmp_path)


def test_images_of_a_number_that_a_kernel_gives(tmp_path: Path) -> None:
    """The head that draws masks: convolutions, transposed ones, pools and resampling over as many images as were kept."""
    s = Network()
    random = np.random.default_rng(13)
    x = s.node("Compress", s.input("x", np.float32, 9, 3, 4, 4), s.input("mask", np.bool_, 9), axis=0)
    y = s.node("Relu", s.node("Conv", x, s.constant(random.standard_normal((5, 3, 3, 3)), np.float32), pads=[1, 1, 1, 1]))
    s.node("ConvTranspose", y, s.constant(random.standard_normal((5, 2, 2, 2)), np.float32), strides=[2, 2])
    s.node("MaxPool", y, kernel_shape=[2, 2])
    s.node("Resize", y, "", s.constant([1, 1, 2, 2], np.float32), mode="nearest")
    values = random.standard_normal((9, 3, 4, 4)).astype(np.float32)
    hold(s.model(), [{"x": values, "mask": mask} for mask in masks(9)], tmp_path)


def test_what_the_manifest_says(tmp_path: Path) -> None:
    s = Network()
    s.node("NonZero", s.input("x", np.float32, "rows", 5))
    onnx.save(s.model(), tmp_path / "model.onnx")
    options = driver.CompileOptions(
        model=tmp_path / "model.onnx", output=tmp_path / "model.so", target=TARGET, dims={"rows": DimRange(1, 6)}, verify=False, jobs=1
    )
    driver.compile(options)
    manifest = json.loads((tmp_path / "model.json").read_text())
    assert manifest["counts"] == [{"name": "n0_0.count", "most": "5*rows"}]
    assert [dimension["name"] for dimension in manifest["dimensions"]] == ["rows"]
    assert manifest["outputs"][0]["shape"] == [2, "n0_0.count"]


def selected(s: Network) -> tuple[str, str, str]:
    """Rows of a matrix that a mask selects: the matrix, the numbers of the rows, the rows."""
    x, mask = s.input("x", np.float32, 20, 4), s.input("mask", np.bool_, 20)
    return x, s.node("Squeeze", s.node("NonZero", mask), s.constant([0])), s.node("Compress", x, mask, axis=0)


def products(s: Network) -> None:
    """Of a number of rows, of columns, and of what is summed."""
    x, _, rows = selected(s)
    columns = s.node("Transpose", rows, perm=[1, 0])
    s.node("MatMul", s.constant(np.arange(12).reshape(3, 4), np.float32), columns)
    s.node("MatMul", columns, rows)
    scores = s.node("MatMul", x, columns)
    s.node("MatMul", s.node("Softmax", scores, axis=1), rows)
    s.node("ReduceSum", scores, s.constant([1]), keepdims=0)
    s.node("CumSum", columns, s.constant(1))


def indices(s: Network) -> None:
    """Along the other axis, by indices of the same number."""
    x, numbers, rows = selected(s)
    columns = s.node("Transpose", x, perm=[1, 0])
    spread = s.node("Expand", numbers, s.node("Concat", s.constant([4]), s.node("Shape", numbers), axis=0))
    s.node("Gather", columns, numbers, axis=1)
    s.node("GatherElements", columns, spread, axis=1)
    s.node("ScatterElements", columns, spread, s.node("Transpose", s.node("Neg", rows), perm=[1, 0]), axis=1)
    most = s.node("Min", s.node("Shape", numbers), s.constant([3]))
    s.nodes_of("TopK", s.node("Transpose", rows, perm=[1, 0]), most, outputs=2, axis=1)


def pairs(s: Network) -> None:
    """Each row with each: the number twice in one shape."""
    _, _, rows = selected(s)
    difference = s.node("Sub", s.node("Unsqueeze", rows, s.constant([1])), s.node("Unsqueeze", rows, s.constant([0])))
    distance = s.node("Sqrt", s.node("ReduceSum", s.node("Mul", difference, difference), s.constant([2]), keepdims=0))
    s.node("ReduceSum", distance, s.constant([1]), keepdims=0)
    s.node("Transpose", difference, perm=[2, 1, 0])
    s.node("Reshape", difference, s.constant([-1, 4]))
    s.node("Trilu", distance, upper=1)


def windows(s: Network) -> None:
    """As many rows of an image, with a border so that there is one."""
    _, _, rows = selected(s)
    image = s.node("Pad", s.node("Unsqueeze", rows, s.constant([0, 1])), s.constant([0, 0, 2, 1, 0, 0, 2, 1]))
    s.node("Conv", image, s.constant(np.arange(18).reshape(2, 1, 3, 3), np.float32))
    s.node("MaxPool", image, kernel_shape=[3, 2])
    s.node("Resize", image, "", s.constant([1, 1, 2, 2], np.float32), mode="linear")


def again(s: Network) -> None:
    """A number of a tensor whose size another number is."""
    _, _, rows = selected(s)
    flat = s.node("Reshape", rows, s.constant([-1]))
    s.node("GatherND", flat, s.node("Transpose", s.node("NonZero", s.node("Less", flat, s.constant(0.5, np.float32))), perm=[1, 0]))


@pytest.mark.parametrize("network", [products, indices, pairs, windows, again])
def test_nothing_some_and_all(network: Callable[[Network], None], tmp_path: Path) -> None:
    s = Network()
    network(s)
    x = np.random.default_rng(14).standard_normal((20, 4)).astype(np.float32)
    hold(s.model(), [{"x": x, "mask": mask} for mask in masks(20)], tmp_path)


def test_tensor_cores(tmp_path: Path) -> None:
    """Products of 16-bit rows and columns of a number that a kernel gives, large enough for tensor cores."""
    s = Network()
    random = np.random.default_rng(15)
    rows = s.node("Compress", s.input("x", np.float16, 512, 512), s.input("mask", np.bool_, 512), axis=0)
    s.node("MatMul", rows, s.constant(random.standard_normal((512, 256)) / 24, np.float16))
    s.node("MatMul", s.constant(random.standard_normal((128, 512)) / 24, np.float16), s.node("Transpose", rows, perm=[1, 0]))
    x = random.standard_normal((512, 512)).astype(np.float16)
    hold(s.model(), [{"x": x, "mask": mask} for mask in masks(512)[:4]], tmp_path)
    families = {kernel["family"] for kernel in json.loads((tmp_path / "model.json").read_text())["kernels"]}
    assert "gemm_mma" in families


def test_memory_behind_outputs(tmp_path: Path) -> None:
    """Where another dimension follows from a maximum, the greatest number of bytes is no product of what each dimension is at most."""
    rows, columns = DimRange(1, 5), DimRange(1, 7)
    s = Network()
    kept = s.node("Compress", s.input("x", np.float32, "n", "m"), s.input("keep", bool, "n"), axis=0)
    ends = s.constant([0]), s.constant([3]), s.constant([1])
    names = [s.node("Slice", kept, *ends), s.node("Slice", kept, *ends, s.constant([2]))]
    shapes = [(1, 7), (2, 2), (5, 7), (3, 1)]
    feeds = [{"x": np.full(shape, 2.5, np.float32), "keep": np.arange(shape[0]) % 3 == 0} for shape in shapes]
    hold(s.model(), feeds, tmp_path, {"n": rows, "m": columns})
    with nautilus_cli.load(tmp_path / "model.so") as library:
        for feed in feeds:
            n, m = feed["x"].shape
            given = {name: np.full(200, -1, np.float32) for name in names}
            rooms = {names[0]: (n, min(m, 3)), names[1]: (n, (min(m, 3) + 1) // 2)}
            library(feed, out={name: array[: np.prod(rooms[name])].reshape(rooms[name]) for name, array in given.items()})
            for name, array in given.items():
                assert (array[np.prod(rooms[name]) :] == -1).all(), name
