"""Networks of every family of kernels that takes sizes as arguments, compiled once and held against onnxruntime at many sizes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.kernels.registry import families
from nautilus_cli.numerics import compare, derived
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.runtime.description import EmulatorOptions
from tests.e2e.networks import model
from tests.e2e.sketch import Sketch

Feeds = Callable[[np.random.Generator, Mapping[str, int]], dict[str, np.ndarray]]

WIDTH, HEADS, VOCABULARY = 24, 3, 50


def encoder() -> ModelProto:
    """One layer of a text encoder: batch and sequence are open, and reshapes read them from shapes; the mask is additive."""
    s = Sketch()
    x = s.node("Gather", s.weight(VOCABULARY, WIDTH), "ids")
    length = s.node("Gather", s.node("Shape", "ids"), s.constant(np.array(1, np.int64)), axis=0)
    places = s.node("Range", s.constant(np.array(0, np.int64)), length, s.constant(np.array(1, np.int64)))
    x = s.node("Add", x, s.node("Gather", s.weight(64, WIDTH), places))
    share = s.node("Div", s.constant(np.float32(1)), s.node("Cast", length, to=TensorProto.FLOAT))
    x = s.node("Add", x, share)  # a size as a number among others
    x = s.node("LayerNormalization", x, s.weight(WIDTH), s.weight(WIDTH), axis=-1)
    batch, sequence = s.dim("ids", 0), s.dim("ids", 1)

    def heads() -> str:
        flat = s.node("Add", s.node("MatMul", x, s.weight(WIDTH, WIDTH)), s.weight(WIDTH))
        cut = s.node("Reshape", flat, s.shape(batch, sequence, HEADS, WIDTH // HEADS))
        return s.node("Transpose", cut, perm=[0, 2, 1, 3])

    query, key, value = heads(), heads(), heads()
    scores = s.node("MatMul", query, s.node("Transpose", key, perm=[0, 1, 3, 2]))
    as_float = s.node("Cast", s.node("Unsqueeze", "mask", s.constant(np.array([1, 2], np.int64))), to=TensorProto.FLOAT)
    penalty = s.node("Mul", s.node("Sub", s.constant(np.float32(1)), as_float), s.constant(np.float32(-100)))
    attended = s.node("MatMul", s.node("Softmax", s.node("Add", scores, penalty), axis=-1), value)
    joined = s.node("Reshape", s.node("Transpose", attended, perm=[0, 2, 1, 3]), s.shape(batch, -1, WIDTH))
    y = s.node("Add", x, s.node("MatMul", joined, s.weight(WIDTH, WIDTH)))
    last = s.node("Gather", y, s.node("Sub", length, s.constant(np.array(1, np.int64))), axis=1)
    y = s.node("Add", y, s.node("Unsqueeze", last, s.constant(np.array([1], np.int64))))
    pooled = s.node("ReduceMean", y, s.constant(np.array([1], np.int64)), keepdims=0)
    s.nodes += [helper.make_node("Identity", [y], ["states"]), helper.make_node("Tanh", [pooled], ["pooled"])]
    ids, mask = (helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"]) for n in ("ids", "mask"))
    outputs = [
        helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "sequence", WIDTH]),
        helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["batch", WIDTH]),
    ]
    return model(s.nodes, [ids, mask], outputs, s.weights)


def encoder_feeds(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    shape = sizes["batch"], sizes["sequence"]
    mask = (random.random(shape) < 0.8).astype(np.int64)
    mask[:, 0] = 1
    return {"ids": random.integers(0, VOCABULARY, shape), "mask": mask}


def images() -> ModelProto:
    """Convolutions, whole, depthwise and of one pixel, with strides and padding, over images of open batch, height and width."""
    s = Sketch()
    x = s.node("Relu", s.node("Conv", "x", s.weight(8, 3, 3, 3), s.weight(8), pads=[1, 1, 1, 1], strides=[2, 2]))
    x = s.node("Conv", x, s.weight(8, 1, 5, 5), group=8, pads=[2, 2, 2, 2])
    short = s.node("Conv", x, s.weight(12, 8, 1, 1), s.weight(12))
    x = s.node("MaxPool", short, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    gate = s.node("Sigmoid", s.node("Conv", s.node("GlobalAveragePool", x), s.weight(12, 12, 1, 1)))
    x = s.node("Add", s.node("Mul", x, gate), short)
    x = s.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    rows = s.node("Reshape", x, s.shape(s.dim(x, 0), 12, -1))
    x = s.node("MatMul", s.node("Transpose", rows, perm=[0, 2, 1]), s.weight(12, 5))
    s.nodes.append(helper.make_node("Softmax", [x], ["y"], axis=-1))
    return model(
        s.nodes,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", None, 5])],
        s.weights,
    )


def image_feeds(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    return {"x": random.standard_normal((sizes["batch"], 3, sizes["height"], sizes["width"])).astype(np.float32)}


def pyramid() -> ModelProto:
    """Two levels of features: the coarse one comes to the size of the fine one, both are doubled, and the greatest ten places remain."""
    s = Sketch()
    fine = s.node("Relu", s.node("Conv", "x", s.weight(8, 3, 3, 3), s.weight(8), pads=[1, 1, 1, 1], strides=[2, 2]))
    coarse = s.node("Relu", s.node("Conv", fine, s.weight(8, 8, 3, 3), s.weight(8), pads=[1, 1, 1, 1], strides=[2, 2]))
    size = s.shape(s.dim(fine, 2), s.dim(fine, 3))
    merged = s.node("Add", fine, s.node("Resize", coarse, "", "", size, axes=[2, 3], mode="linear"))
    scales = s.constant(np.array([1, 1, 2, 2], np.float32))
    nearest = s.node("Resize", merged, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    large = s.node("Add", nearest, s.node("Resize", merged, "", scales, mode="cubic"))
    flat = s.node("Reshape", s.node("ReduceMax", large, s.constant(np.array([1], np.int64))), s.shape(s.dim("x", 0), -1))
    count = s.node("Min", s.dim(flat, 1), s.constant(np.array([10], np.int64)))
    s.nodes.append(helper.make_node("TopK", [flat, count], ["values", "places"]))
    kept = s.node("ScatterElements", s.node("Mul", flat, s.constant(np.float32(0))), "places", "values", axis=1)
    s.nodes += [helper.make_node("Identity", [large], ["large"]), helper.make_node("Identity", [kept], ["kept"])]
    return model(
        s.nodes,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("large", "values", "kept")],
        s.weights,
    )


def half_products() -> ModelProto:
    """Products of 16-bit numbers whose rows, columns and depths are open in turn: x w w', then y = softmax(z z') z."""
    random = np.random.default_rng(4)
    weights = {n: (random.standard_normal(shape) / 16).astype(np.float16) for n, shape in (("w0", (256, 512)), ("w1", (512, 64)))}
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["positive"]),
        helper.make_node("MatMul", ["positive", "w1"], ["z"]),
        helper.make_node("Transpose", ["z"], ["zt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["z", "zt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "z"], ["y"]),
    ]
    port = helper.make_tensor_value_info
    outputs = [port("y", TensorProto.FLOAT16, ["batch", "rows", 64])]
    return model(nodes, [port("x", TensorProto.FLOAT16, ["batch", "rows", 256])], outputs, weights)


def half_feeds(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    return {"x": (random.standard_normal((sizes["batch"], sizes["rows"], 256)) / 4).astype(np.float16)}


def layers() -> ModelProto:
    """Twelve layers that are alike, y = y + relu(y w) w', so that first runs give the graph of a layer the arguments of the next ones."""
    random = np.random.default_rng(5)
    weights, nodes, value = {}, [], "x"
    for layer in range(12):
        for name in ("up", "down"):
            weights[f"{name}{layer}"] = (random.standard_normal((128, 128)) / 32).astype(np.float16)
        nodes += [
            helper.make_node("MatMul", [value, f"up{layer}"], [f"wide{layer}"]),
            helper.make_node("Relu", [f"wide{layer}"], [f"positive{layer}"]),
            helper.make_node("MatMul", [f"positive{layer}", f"down{layer}"], [f"change{layer}"]),
            helper.make_node("Add", [value, f"change{layer}"], [f"y{layer}"]),
            helper.make_node("Softmax", [f"y{layer}"], [f"shares{layer}"], axis=-1),
            helper.make_node("Add", [f"y{layer}", f"shares{layer}"], [f"z{layer}"]),
        ]
        value = f"z{layer}"
    port = helper.make_tensor_value_info
    outputs = [port(value, TensorProto.FLOAT16, ["batch", "rows", 128])]
    return model(nodes, [port("x", TensorProto.FLOAT16, ["batch", "rows", 128])], outputs, weights)


def layer_feeds(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    return {"x": (random.standard_normal((sizes["batch"], sizes["rows"], 128)) / 4).astype(np.float16)}


def sampled() -> ModelProto:
    """Images turned by matrices and sampled at those places, and at places of their own; a deformed convolution; determinants."""
    s = Sketch()
    turned = s.node("GridSample", "x", s.node("AffineGrid", "turns", s.node("Shape", "x"), align_corners=1), align_corners=1)
    cubic = s.node("GridSample", "x", "places", mode="cubic", padding_mode="reflection")
    near = s.node("GridSample", "x", "places", mode="nearest", padding_mode="border")
    deformed = s.node("DeformConv", turned, s.weight(3, 2, 3, 3), "offsets", pads=[1, 1, 1, 1])
    squares = s.node("Slice", "turns", s.constant(np.array([0])), s.constant(np.array([2])), s.constant(np.array([2])))
    s.nodes += [
        helper.make_node("Add", [cubic, near], ["y"]),
        helper.make_node("Relu", [deformed], ["z"]),
        helper.make_node("Det", [squares], ["d"]),
    ]
    shapes = {
        "x": ["batch", 2, "height", "width"],
        "turns": ["batch", 2, 3],
        "places": ["batch", "rows", 3, 2],
        "offsets": ["batch", 18, "height", "width"],
    }
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    return model(s.nodes, inputs, [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("y", "z", "d")], s.weights)


def sampled_feeds(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    batch, height, width = (sizes[name] for name in ("batch", "height", "width"))
    shapes = {
        "x": (batch, 2, height, width),
        "turns": (batch, 2, 3),
        "places": (batch, sizes["rows"], 3, 2),
        "offsets": (batch, 18, height, width),
    }
    return {name: (random.standard_normal(shape) * 0.7).astype(np.float32) for name, shape in shapes.items()}


def products() -> ModelProto:
    """x w w' of 16 bits and of 32: rows, columns and depth of both products are open, each on its own."""
    port, nodes, ports = helper.make_tensor_value_info, [], ([], [])
    for name, dtype in (("half", TensorProto.FLOAT16), ("single", TensorProto.FLOAT)):
        x, w, y = f"x_{name}", f"w_{name}", f"y_{name}"
        ports[0].extend((port(x, dtype, ["rows", "depth"]), port(w, dtype, ["depth", "columns"])))
        ports[1].append(port(y, dtype, ["rows", "depth"]))
        nodes += [
            helper.make_node("MatMul", [x, w], [f"z_{name}"]),
            helper.make_node("Transpose", [w], [f"t_{name}"], perm=[1, 0]),
            helper.make_node("MatMul", [f"z_{name}", f"t_{name}"], [y]),
        ]
    return model(nodes, *ports, {})


def product_feeds(random: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    rows, columns, depth = (sizes[name] for name in ("rows", "columns", "depth"))
    shapes = {"x": (rows, depth), "w": (depth, columns)}
    types = {"half": np.float16, "single": np.float32}
    return {f"{n}_{t}": (random.standard_normal(shape) / 4).astype(types[t]) for t in types for n, shape in shapes.items()}


def product_sizes() -> list[dict[str, int]]:
    """Return sizes of rows, columns and depth: the ends, multiples of 8, and any."""
    random = np.random.default_rng(5)
    names = ("rows", "columns", "depth")
    ends = [dict.fromkeys(names, 1), dict.fromkeys(names, 150), {"rows": 1, "columns": 150, "depth": 8}]
    multiples = [{name: 8 * int(random.integers(1, 19)) for name in names} for _ in range(5)]
    return [*ends, *multiples, *({name: int(random.integers(1, 151)) for name in names} for _ in range(7))]


NETWORKS: dict[str, tuple[Callable[[], ModelProto], Feeds, dict[str, DimRange], list[dict[str, int]]]] = {
    "encoder": (
        encoder,
        encoder_feeds,
        {"batch": DimRange(1, 4), "sequence": DimRange(1, 40)},
        [{"batch": b, "sequence": n} for b, n in ((1, 1), (4, 40), (3, 7), (2, 31), (1, 32), (4, 1))],
    ),
    "pyramid": (
        pyramid,
        image_feeds,
        {"batch": DimRange(1, 3), "height": DimRange(1, 20), "width": DimRange(1, 20)},
        [{"batch": b, "height": h, "width": w} for b, h, w in ((1, 1, 1), (3, 20, 20), (2, 7, 13), (1, 2, 20), (2, 16, 5))],
    ),
    "half products": (
        half_products,
        half_feeds,
        {"batch": DimRange(1, 8), "rows": DimRange(1, 200)},
        [{"batch": b, "rows": n} for b, n in ((1, 1), (2, 200), (8, 96), (1, 136), (3, 67), (2, 8))],
    ),
    "products": (products, product_feeds, {name: DimRange(1, 150) for name in ("rows", "columns", "depth")}, product_sizes()),
    "layers": (
        layers,
        layer_feeds,
        {"batch": DimRange(1, 4), "rows": DimRange(1, 64)},
        [{"batch": b, "rows": n} for b, n in ((1, 1), (4, 64), (3, 17), (1, 40), (2, 8))],
    ),
    "sampled": (
        sampled,
        sampled_feeds,
        {"batch": DimRange(1, 3), "height": DimRange(2, 12), "width": DimRange(2, 9), "rows": DimRange(1, 20)},
        [{"batch": b, "height": h, "width": w, "rows": n} for b, h, w, n in ((1, 2, 2, 1), (3, 12, 9, 20), (2, 7, 5, 11), (1, 12, 2, 3))],
    ),
    "images": (
        images,
        image_feeds,
        {"batch": DimRange(1, 3), "height": DimRange(4, 24), "width": DimRange(8, 32, 4)},
        [{"batch": b, "height": h, "width": w} for b, h, w in ((1, 4, 8), (3, 24, 32), (2, 7, 12), (1, 23, 28), (3, 5, 8))],
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_one_library_at_many_sizes(name: str, tmp_path: Path) -> None:
    check(tmp_path, *NETWORKS[name])


def test_bulk_copies_of_tensors_whose_strides_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever bulk copies can bring the operands they do: of rows of an open length where that is a multiple of 8."""
    for kind in {type(families()[name]) for name in ("gemm", "gemm_mma", "gemm_skinny", "gemm_wgmma")}:
        monkeypatch.setattr(kind, "estimated_us", lambda family, *_: 1.0 if family.name == "gemm_wgmma" else 1e9)
    make, feeds, _, _ = NETWORKS["half products"]
    cases = [{"batch": 2, "rows": n} for n in (8, 72, 67)]
    check(tmp_path, make, feeds, {"batch": DimRange(1, 3), "rows": DimRange(1, 72)}, cases)
    manifest = json.loads((tmp_path / "libmodel.json").read_text())
    maps = [map_ for kernel in manifest["kernels"] for map_ in kernel["tensor_maps"]]
    assert {kernel["family"] for kernel in manifest["kernels"]} >= {"gemm_wgmma"}
    assert any("rows" in str(stride) for map_ in maps for stride in map_["strides"])
    assert any("rows" in str(extent) for map_ in maps for extent in map_["extents"])


def check(
    tmp_path: Path, make: Callable[[], ModelProto], feeds: Feeds, dims: Mapping[str, DimRange], cases: Sequence[Mapping[str, int]]
) -> None:
    """Compile a network once for the emulator and hold it against the graph's evaluation at many sizes."""
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(make(), path)
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=dims, verify=False, jobs=1))
    random = np.random.default_rng(11)
    with nautilus_cli.load(output) as library:
        for number, sizes in enumerate(cases):
            inputs = feeds(random, sizes)
            graph = load(path, shapes={n: a.shape for n, a in inputs.items()}).graph
            expected = evaluate(graph, inputs)
            library.configure_emulator(EmulatorOptions(order=("fifo", "reverse", "random")[number % 3], poison=True, lazy=bool(number % 2)))
            found = library(inputs)
            for output_name, truth in expected.items():
                assert found[output_name].shape == truth.shape
                scale = float(np.abs(truth).max())
                result = compare(found[output_name], truth, derived(truth, terms=200, depth=12, scale=scale))
                assert result.is_match, f"{output_name} at {sizes}: {result}"
            used = library.model.workspace_bytes_for([a.shape for a in inputs.values()])
            assert 0 < used <= library.info.workspace_bytes
