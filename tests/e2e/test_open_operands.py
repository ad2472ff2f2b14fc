"""Operators whose operands only a run knows, in models that declare no shape of an output: one library at many values of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import NautilusError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.numerics import compare, derived
from nautilus_cli.runtime.description import EmulatorOptions

Feeds = Mapping[str, np.ndarray]
F32, I64 = TensorProto.FLOAT, TensorProto.INT64
RANDOM = np.random.default_rng(17)


class Several:
    """A model of several nodes, each with inputs of its own and one output or more."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: dict[str, onnx.ValueInfoProto] = {}
        self.weights: list[onnx.TensorProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, dtype: int, *shape: int | str) -> str:
        self.inputs[name] = helper.make_tensor_value_info(name, dtype, shape)
        return name

    def constant(self, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def node(self, op: str, *operands: str, outputs: Sequence[int] = (F32,), **attributes: object) -> None:
        """Append a node whose results, of the types OUTPUTS, leave the model."""
        names = [f"{op}{len(self.nodes)}.{number}" for number in range(len(outputs))]
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        self.outputs += [helper.make_tensor_value_info(name, dtype, None) for name, dtype in zip(names, outputs, strict=True)]

    def model(self) -> ModelProto:
        graph = helper.make_graph(self.nodes, "several", list(self.inputs.values()), self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def hold(proto: ModelProto, tmp_path: Path, runs: Sequence[Feeds], dims: Mapping[str, DimRange] | None = None, terms: int = 64) -> Path:
    """Compile once and hold every run against onnxruntime; return the library."""
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(proto, path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=dict(dims or {}), verify=False, jobs=1))
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    with nautilus_cli.load(output) as library:
        for number, feeds in enumerate(runs):
            library.configure_emulator(EmulatorOptions(order=("fifo", "reverse", "random")[number % 3], poison=True, lazy=bool(number % 2)))
            found = library(dict(feeds))
            for name, truth in zip(names, session.run(names, dict(feeds)), strict=True):
                assert found[name].shape == truth.shape, f"{name} of run {number}"
                if truth.dtype.kind != "f":
                    np.testing.assert_array_equal(found[name], truth, err_msg=name)
                    continue
                scale = float(np.abs(truth).max(initial=1))
                result = compare(found[name], truth, derived(truth, terms=terms, depth=16, scale=scale))
                assert result.is_match, f"{name} of run {number}: {result}"
    return output


def data(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_movement(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, "n", 6, 5)
    for name, count in (("starts", 2), ("ends", 2), ("axes", 2), ("steps", 2), ("pads", 4), ("pad_axes", 2), ("repeats", 3), ("parts", 3)):
        several.input(name, I64, count)
    several.node("Slice", "x", "starts", "ends", "axes", "steps")
    several.node("Pad", "x", "pads", several.constant(np.array(3, np.float32)), "pad_axes")
    for mode in ("edge", "reflect", "wrap"):
        several.node("Pad", "x", "pads", "", several.constant(numbers(1, 2)), mode=mode)
    several.node("Tile", "x", "repeats")
    several.node("Split", "x", "parts", outputs=(F32, F32, F32), axis=1)

    def feeds(n: int, **given: tuple[int, ...]) -> Feeds:
        return {"x": data(n, 6, 5), **{name: numbers(*values) for name, values in given.items()}}

    big = 2**63 - 1
    runs = [
        feeds(
            4, starts=(1, 0), ends=(3, 9), axes=(0, 1), steps=(1, 2), pads=(1, 2, 3, 4), pad_axes=(2, 1), repeats=(1, 2, 3), parts=(1, 2, 3)
        ),
        feeds(
            1,
            starts=(-1, big),
            ends=(-9, 0),
            axes=(-1, 1),
            steps=(-1, -2),
            pads=(0, 0, 0, 0),
            pad_axes=(0, -1),
            repeats=(2, 1, 1),
            parts=(6, 0, 0),
        ),
        feeds(
            7,
            starts=(3, 5),
            ends=(3, -big - 1),
            axes=(2, 0),
            steps=(1, -3),
            pads=(5, 4, 0, 3),
            pad_axes=(-3, -2),
            repeats=(1, 0, 2),
            parts=(0, 5, 1),
        ),
        feeds(
            2,
            starts=(0, 1),
            ends=(big, 4),
            axes=(1, 2),
            steps=(4, 3),
            pads=(0, 1, 2, 0),
            pad_axes=(1, 0),
            repeats=(3, 1, 4),
            parts=(2, 2, 2),
        ),
    ]
    hold(several.model(), tmp_path, runs, {"n": DimRange(1, 8)})


def test_counts_and_progressions(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, "n", 12)
    several.input("indices", I64, "n")
    for name in ("start", "limit", "delta", "diagonal"):
        several.input(name, I64)
    for name in ("k", "depth"):
        several.input(name, I64, 1)
    for name in ("first", "last", "step"):
        several.input(name, F32)
    several.node("TopK", "x", "k", outputs=(F32, I64))
    several.node("TopK", "x", "k", outputs=(F32, I64), largest=0)
    several.node("OneHot", "indices", "depth", several.constant(np.array([-1, 4], np.float32)), axis=0)
    several.node("Range", "start", "limit", "delta", outputs=(I64,))
    several.node("Range", "first", "last", "step")
    several.node("Trilu", "x", "diagonal")

    def feeds(n: int, k: int, depth: int, whole: tuple[int, int, int], real: tuple[float, float, float], diagonal: int) -> Feeds:
        found: dict[str, np.ndarray] = {
            "x": data(n, 12),
            "indices": RANDOM.integers(-depth, depth, n),
            "k": numbers(k),
            "depth": numbers(depth),
        }
        found |= dict(zip(("start", "limit", "delta"), map(np.array, whole), strict=True))
        found |= {name: np.array(v, np.float32) for name, v in zip(("first", "last", "step"), real, strict=True)}
        return {**found, "diagonal": np.array(diagonal)}

    runs = [
        feeds(3, 5, 7, (0, 10, 3), (1, 5, 2), 0),
        feeds(1, 12, 1, (10, -4, -5), (0.5, -3, -0.25), -2),
        feeds(8, 1, 30, (3, 3, 1), (2, 1, 1), 4),
        feeds(5, 0, 3, (-7, 100, 1), (0, 9.5, 0.125), 20),
    ]
    hold(several.model(), tmp_path, runs, {"n": DimRange(1, 8)})


def test_resampling_to_sizes(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, 1, 2, "h", 7)
    several.input("sizes", I64, 2)
    several.input("roi", F32, 4)
    for mode, coordinates in (
        ("nearest", "half_pixel"),
        ("nearest", "asymmetric"),
        ("linear", "align_corners"),
        ("cubic", "pytorch_half_pixel"),
    ):
        several.node("Resize", "x", "", "", "sizes", axes=[2, 3], mode=mode, coordinate_transformation_mode=coordinates)
    several.node("Resize", "x", "", "", "sizes", axes=[2, 3], mode="linear", antialias=1)
    several.node("Resize", "x", "", "", "sizes", axes=[2, 3], mode="linear", keep_aspect_ratio_policy="not_larger")
    several.node(
        "Resize",
        "x",
        "roi",
        "",
        "sizes",
        axes=[2, 3],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=9.0,
    )
    runs = [
        {"x": data(1, 2, h, 7), "sizes": numbers(*sizes), "roi": np.array(roi, np.float32)}
        for h, sizes, roi in (
            (5, (10, 14), (0, 0, 1, 1)),
            (9, (4, 3), (0.1, 0.2, 0.8, 0.9)),
            (2, (1, 1), (0.5, 0, 0.6, 1)),
            (8, (9, 5), (0.2, -0.5, 1.3, 0.5)),
        )
    ]
    hold(several.model(), tmp_path, runs, {"h": DimRange(2, 10)})


def test_resampling_by_scales(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, 1, 2, 6, 7)
    several.input("scales", F32, 4)
    for mode, coordinates in (("nearest", "asymmetric"), ("linear", "half_pixel"), ("cubic", "half_pixel")):
        several.node("Resize", "x", "", "scales", mode=mode, coordinate_transformation_mode=coordinates)
    runs = [
        {"x": data(1, 2, 6, 7), "scales": np.array(s, np.float32)} for s in ((1, 1, 2, 3), (1, 1, 0.5, 0.6), (1, 1, 1.7, 1), (1, 1, 1, 0.3))
    ]
    hold(several.model(), tmp_path, runs)


def test_images(tmp_path: Path) -> None:
    several = Several()
    several.input("columns", F32, 1, 12, 20)
    several.input("image", I64, 2)
    several.input("block", I64, 2)
    several.input("theta", F32, "n", 2, 3)
    several.input("size", I64, 4)
    several.input("pooled", F32, 1, 1, 2, 2)
    several.input("places", I64, 1, 1, 2, 2)
    several.input("whole", I64, 4)
    several.node("Col2Im", "columns", "image", "block")
    several.node("AffineGrid", "theta", "size")
    several.node("AffineGrid", "theta", "size", align_corners=1)
    several.node("MaxUnpool", "pooled", "places", "whole", kernel_shape=[2, 2], strides=[2, 2])

    def feeds(image: tuple[int, int], block: tuple[int, int], n: int, grid: tuple[int, int], whole: tuple[int, int]) -> Feeds:
        fixed = {
            "columns": data(1, 12, 20),
            "theta": data(n, 2, 3),
            "pooled": data(1, 1, 2, 2),
            "places": numbers(5, 7, 13, 15).reshape(1, 1, 2, 2),
        }
        return {**fixed, "image": numbers(*image), "block": numbers(*block), "size": numbers(n, 3, *grid), "whole": numbers(1, 1, *whole)}

    runs = [feeds((5, 6), (2, 2), 2, (3, 4), (4, 4)), feeds((6, 6), (3, 2), 1, (2, 5), (4, 4)), feeds((4, 5), (1, 1), 3, (7, 2), (4, 4))]
    hold(several.model(), tmp_path, runs, {"n": DimRange(1, 4)})


def test_signals(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, 2, 9, 4, 1)
    several.input("length", I64)
    several.input("axis", I64)
    several.input("signal", F32, 1, "samples", 1)
    several.input("frame_step", I64)
    several.input("frame_length", I64)
    for name in ("bands", "spectrum", "rate"):
        several.input(name, I64)
    for name in ("low", "high"):
        several.input(name, F32)
    several.node("DFT", "x", "length", "axis")
    several.node("DFT", "x", "length", "axis", onesided=1)
    several.node("STFT", "signal", "frame_step", "", "frame_length")
    several.node("MelWeightMatrix", "bands", "spectrum", "rate", "low", "high")
    several.node("HannWindow", "spectrum")
    several.node("HammingWindow", "spectrum", periodic=0)

    def feeds(length: int, axis: int, samples: int, step: int, frame: int, bands: int, spectrum: int) -> Feeds:
        named = {
            "length": length,
            "axis": axis,
            "frame_step": step,
            "frame_length": frame,
            "bands": bands,
            "spectrum": spectrum,
            "rate": 8000,
        }
        whole = {name: np.array(value) for name, value in named.items()}
        return {"x": data(2, 9, 4, 1), "signal": data(1, samples, 1), "low": np.float32(20), "high": np.float32(3900), **whole}

    runs = [feeds(9, 1, 40, 8, 16, 8, 64), feeds(5, 2, 17, 1, 17, 3, 17), feeds(16, -3, 30, 30, 1, 12, 256)]
    hold(several.model(), tmp_path, [{n: np.asarray(a) for n, a in run.items()} for run in runs], {"samples": DimRange(16, 64)})


REFUSED = [
    ("Slice", {"starts": (1,), "ends": (3,), "axes": (2,), "steps": (1,)}, "axes"),
    ("Slice", {"starts": (1,), "ends": (3,), "axes": (0,), "steps": (0,)}, "how many of the steps are 0"),
    ("Split", {"split": (3, 4)}, "sum of the 2 sizes"),
    ("Split", {"split": (7, -1)}, "split"),
    ("TopK", {"k": (7,)}, "k"),
    ("Tile", {"repeats": (1, -1)}, "repeats"),
    ("Pad", {"pads": (0, 0, -7, 0)}, "the size of dimension 0"),
    ("Resize", {"sizes": (1, -1)}, "sizes"),
]


@pytest.mark.parametrize(("op", "bad", "told"), REFUSED, ids=[f"{op}-{told.split()[0]}" for op, _, told in REFUSED])
def test_a_bad_value_is_named_and_the_next_run_is_right(op: str, bad: dict[str, tuple[int, ...]], told: str, tmp_path: Path) -> None:
    good: dict[str, dict[str, tuple[int, ...]]] = {
        "Slice": {"starts": (1,), "ends": (3,), "axes": (1,), "steps": (1,)},
        "Split": {"split": (2, 4)},
        "TopK": {"k": (3,)},
        "Tile": {"repeats": (2, 1)},
        "Pad": {"pads": (0, 1, -2, 0)},
        "Resize": {"sizes": (3, 12)},
    }
    several = Several()
    several.input("x", F32, 6, 6)
    operands = [several.input(name, I64, len(values)) for name, values in good[op].items()]
    outputs = {"TopK": (F32, I64), "Split": (F32, F32)}.get(op, (F32,))
    several.node(op, "x", *(["", ""] if op == "Resize" else []), *operands, outputs=outputs)
    x = data(6, 6)
    right = {"x": x, **{name: numbers(*values) for name, values in good[op].items()}}
    wrong = {"x": x, **{name: numbers(*values) for name, values in bad.items()}}
    library_path = hold(several.model(), tmp_path, [right])
    with nautilus_cli.load(library_path) as library:
        before = library(dict(right))
        with pytest.raises(NautilusError) as caught:
            library(dict(wrong))
        assert told in str(caught.value)
        for name, array in library(dict(right)).items():
            np.testing.assert_array_equal(array, before[name])


def test_floats_that_are_no_sizes_are_named(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, 1, 4)
    several.input("scales", F32, 2)
    several.node("Resize", "x", "", "scales")
    x = data(1, 4)
    right = {"x": x, "scales": np.array([1, 2], np.float32)}
    library_path = hold(several.model(), tmp_path, [right])
    with nautilus_cli.load(library_path) as library:
        for scale in (-1.0, np.nan, 1000.0, np.inf):
            with pytest.raises(NautilusError, match=r"floor\(4\*scales\[1\]\): .*input 'scales' holds .* in element 1"):
                library({"x": x, "scales": np.array([1, scale], np.float32)})
        assert library(right)["Resize0.0"].shape == (1, 8)


def test_convolutions_of_what_a_run_cuts_out(tmp_path: Path) -> None:
    several = Several()
    several.input("x", F32, 1, 2, 12, 14)
    for name in ("starts", "ends", "sizes"):
        several.input(name, I64, 2)
    weights = several.constant(data(3, 2, 3, 3))
    several.nodes += [
        helper.make_node("Slice", ["x", "starts", "ends", several.constant(numbers(2, 3))], ["cut"]),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["scaled"], axes=[2, 3], mode="linear"),
    ]
    several.node("Conv", "cut", weights, strides=[2, 2])
    several.node("MaxPool", "cut", kernel_shape=[2, 3], strides=[1, 2])
    several.node("Conv", "scaled", weights, strides=[2, 2], pads=[1, 1, 1, 1])

    def feeds(starts: tuple[int, int], ends: tuple[int, int], sizes: tuple[int, int]) -> Feeds:
        return {"x": x, "starts": numbers(*starts), "ends": numbers(*ends), "sizes": numbers(*sizes)}

    x = data(1, 2, 12, 14)
    runs = [
        feeds((0, 0), (12, 14), (6, 7)),
        feeds((3, -9), (-1, 100), (24, 5)),
        feeds((9, 2), (12, 5), (1, 1)),
        feeds((1, 1), (6, 9), (13, 29)),
    ]
    library_path = hold(several.model(), tmp_path, runs)
    with nautilus_cli.load(library_path) as library:
        with pytest.raises(NautilusError, match=r"the number of windows of \[3, 3\]: 0, where 1 to \d+ are right"):
            library(dict(feeds((10, 2), (12, 5), (6, 7))))
        assert library(dict(runs[0]))["Conv2.0"].shape == (1, 3, 5, 6)


def test_operators_written_in_others(tmp_path: Path) -> None:
    """A crop, parts of a sequence, and what a sampler does with the k most likely: all by numbers that only a run knows."""
    several = Several()
    several.input("x", F32, 6, 7)
    for name, count in (("target", 2), ("shape", 3), ("parts", 3), ("k", 1)):
        several.input(name, I64, count)
    several.node("CenterCropPad", "x", "target")
    several.node("ConstantOfShape", "shape", value=numpy_helper.from_array(np.array([3], np.float32)))
    several.nodes += [
        helper.make_node("SplitToSequence", ["x", "parts"], ["sequence"], axis=1),
        helper.make_node("TopK", ["x", "k"], ["values", "places"]),
        helper.make_node("Softmax", ["values"], ["shares"]),
        helper.make_node("CumSum", ["shares", several.constant(np.array(1))], ["sums"]),
        helper.make_node("Shape", ["places"], ["chosen"]),
        helper.make_node("ConstantOfShape", ["chosen"], ["zeros"]),
    ]
    several.node("SequenceAt", "sequence", several.constant(np.array(1)))
    several.node("Add", "sums", "zeros")

    def feeds(target: tuple[int, int], shape: tuple[int, int, int], parts: tuple[int, int, int], k: int) -> Feeds:
        return {"x": data(6, 7), "target": numbers(*target), "shape": numbers(*shape), "parts": numbers(*parts), "k": numbers(k)}

    runs = [feeds((4, 9), (2, 3, 4), (1, 2, 4), 5), feeds((8, 2), (1, 1, 1), (0, 7, 0), 7), feeds((6, 7), (5, 0, 2), (3, 3, 1), 1)]
    hold(several.model(), tmp_path, runs)


def test_scales_and_sizes_that_nodes_compute(tmp_path: Path) -> None:
    """As exporters write them: sizes times a number, a scale times a scale, and a size divided by the size that is there."""
    several = Several()
    several.input("x", F32, 1, 2, "h", "w")
    several.input("scale", F32, 2)
    several.input("size", I64, 2)
    ones = several.constant(np.ones(2, np.float32))
    node = helper.make_node
    several.nodes += [
        node("Shape", ["x"], ["shape"]),
        node("Slice", ["shape", several.constant(numbers(0)), several.constant(numbers(2))], ["outer"]),
        node("Slice", ["shape", several.constant(numbers(2)), several.constant(numbers(4))], ["inner"]),
        node("Cast", ["inner"], ["real"], to=F32),
        node("Mul", ["real", several.constant(np.array([1.5, 0.7], np.float32))], ["product"]),
        node("Floor", ["product"], ["whole"]),
        node("Cast", ["whole"], ["count"], to=I64),
        node("Concat", ["outer", "count"], ["by_number"], axis=0),
        node("Mul", ["scale", several.constant(np.array([0.5, 2], np.float32))], ["scaled"]),
        node("Concat", [ones, "scaled"], ["by_scale"], axis=0),
        node("Cast", ["size"], ["wanted"], to=F32),
        node("Div", ["wanted", "real"], ["ratio"]),
        node("Concat", [ones, "ratio"], ["by_ratio"], axis=0),
    ]
    several.node("Resize", "x", "", "", "by_number", mode="linear")
    several.node("Resize", "x", "", "by_scale", mode="linear")
    several.node("Resize", "x", "", "by_ratio", mode="nearest")
    runs = [
        {"x": data(1, 2, h, w), "scale": np.array(scale, np.float32), "size": numbers(*size)}
        for h, w, scale, size in ((6, 7, (2, 1), (12, 7)), (3, 10, (3, 0.5), (6, 5)), (8, 2, (1.5, 1.25), (4, 8)))
    ]
    hold(several.model(), tmp_path, runs, {"h": DimRange(2, 8), "w": DimRange(2, 10)})
