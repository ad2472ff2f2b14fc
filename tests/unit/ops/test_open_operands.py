"""Operators whose operands decide shapes, with elements that are only known when the model runs: lowered once, right at all values."""

from __future__ import annotations

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.types import F32, I64, TensorType
from tests.unit.ops.open_lowered import Open, elements, evaluate_bound, reals

N, M = symbol("n", 1, 9), symbol("m", 1, 20)
RANDOM = np.random.default_rng(5)


def data(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def vector(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_slice_of_any_bounds_forwards_and_backwards() -> None:
    for step in (1, 2, -1, -3):
        one = Open(
            "Slice",
            {
                "x": TensorType(F32, (4, N)),
                "starts": elements("starts", (-30, 30)),
                "ends": elements("ends", (-30, 30)),
                "axes": vector(1),
                "steps": vector(step),
            },
        )
        assert upper(one.inferred[0].static[1]) <= 9
        for n in (1, 2, 9):
            for start in (-30, -n - 1, -n, -1, 0, 1, n - 1, n, 30):
                for end in (-30, -n - 1, -n, -1, 0, n // 2, n, n + 1, 30):
                    one.check({"x": data(4, n), "starts": vector(start), "ends": vector(end)})


def test_slice_with_steps_and_axes_that_are_open() -> None:
    one = Open(
        "Slice",
        {
            "x": TensorType(F32, (5, N, 4)),
            "starts": elements("starts", (-12, 12), (-12, 12)),
            "ends": elements("ends", (-12, 12), (-12, 12)),
            "axes": elements("axes", (-3, 2), (-3, 2)),
            "steps": elements("steps", (-4, 4), (-4, 4)),
        },
    )
    assert [upper(d) for d in one.inferred[0].static] == [5, 9, 4]
    for _ in range(200):
        axes = RANDOM.permutation(3)[:2] - 3 * RANDOM.integers(0, 2, 2)
        steps = RANDOM.integers(1, 5, 2) * RANDOM.choice([-1, 1], 2)
        arrays = {"starts": RANDOM.integers(-12, 13, 2), "ends": RANDOM.integers(-12, 13, 2), "axes": axes, "steps": steps}
        one.check({"x": data(5, int(RANDOM.integers(1, 10)), 4), **arrays})


def test_slice_refuses_a_step_of_zero_where_it_is_known() -> None:
    with pytest.raises(Exception, match="does not allow 0"):
        Open(
            "Slice", {"x": TensorType(F32, (5,)), "starts": elements("s", (0, 3)), "ends": vector(5), "axes": vector(0), "steps": vector(0)}
        )


def test_tile() -> None:
    one = Open("Tile", {"x": TensorType(F32, (3, N)), "repeats": elements("repeats", (0, 4), (0, 5))})
    for n in (1, 4, 9):
        for repeats in ((0, 3), (1, 1), (4, 5), (2, 0)):
            one.check({"x": data(3, n), "repeats": vector(*repeats)})


@pytest.mark.parametrize("largest", [0, 1])
def test_top_k(largest: int) -> None:
    one = Open("TopK", {"x": TensorType(F32, (3, 12, 2)), "k": elements("k", (0, 12))}, outputs=2, axis=1, largest=largest)
    for k in (0, 1, 5, 12):
        one.check({"x": data(3, 12, 2), "k": vector(k)})


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int) -> None:
    on = np.array([-1, 2], np.float32)
    one = Open("OneHot", {"indices": TensorType(F32, (2, N)), "depth": elements("depth", (0, 7)), "values": on}, axis=axis)
    for depth in (0, 1, 7):
        one.check({"indices": RANDOM.integers(-9, 10, (2, 5)).astype(np.float32), "depth": vector(depth)})


def test_range_with_steps_of_either_sign() -> None:
    one = Open("Range", {name: elements(name, (-20, 20), is_scalar=True) for name in ("start", "limit", "delta")})
    for start, limit, delta in ((0, 10, 1), (3, 20, 4), (10, -7, -3), (5, 5, 1), (5, 9, -1), (-20, 20, 1), (20, -20, -1), (0, 1, 20)):
        one.check({"start": np.array(start), "limit": np.array(limit), "delta": np.array(delta)})


@pytest.mark.parametrize("upper", [0, 1])
def test_trilu_of_open_matrices(upper: int) -> None:
    one = Open("Trilu", {"x": TensorType(F32, (2, N, M)), "k": elements("k", (-25, 25))}, upper=upper)
    for n, m, k in ((1, 1, 0), (4, 7, 2), (9, 20, -3), (5, 5, 25), (5, 5, -25)):
        one.check({"x": data(2, n, m), "k": vector(k)})


def test_pad_with_a_constant_by_open_amounts_along_open_axes() -> None:
    pads, axes = elements("pads", *[(0, 9)] * 4), elements("axes", (-3, 2), (-3, 2))
    one = Open("Pad", {"x": TensorType(F32, (2, N, 3)), "pads": pads, "value": np.array(7, np.float32), "axes": axes})
    for amounts, chosen in (((0, 0, 0, 0), (0, 1)), ((1, 2, 3, 4), (-1, 0)), ((9, 0, 0, 9), (1, 2)), ((0, 5, 5, 0), (-2, -3))):
        one.check({"x": data(2, 4, 3), "pads": vector(*amounts), "axes": vector(*chosen)})


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_pad_with_elements_further_than_they_reach(mode: str) -> None:
    pads = elements("pads", (0, 0), (0, 9), (0, 0), (0, 9))
    one = Open("Pad", {"x": TensorType(F32, (2, N)), "pads": pads}, mode=mode)
    for n in (1, 2, 5, 9):
        for before, after in ((0, 0), (1, 0), (0, 1), (4, 3), (9, 9)):
            one.check({"x": data(2, n), "pads": vector(0, before, 0, after)})


COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(
    ("mode", "rounding", "excludes"),
    [
        ("nearest", "round_prefer_floor", 0),
        ("nearest", "ceil", 0),
        ("nearest", "floor", 0),
        ("nearest", "round_prefer_ceil", 0),
        ("linear", "floor", 0),
        ("cubic", "floor", 0),
        ("cubic", "floor", 1),
    ],
)
def test_resize_to_open_sizes(coordinates: str, mode: str, rounding: str, excludes: int) -> None:
    one = Open(
        "Resize",
        {"x": TensorType(F32, (2, 1, N, 6)), "roi": None, "scales": None, "sizes": elements("sizes", (2, 2), (1, 1), (1, 30), (1, 30))},
        mode=mode,
        coordinate_transformation_mode=coordinates,
        nearest_mode=rounding,
        exclude_outside=excludes,
    )
    for n, h, w in ((1, 1, 1), (9, 9, 6), (4, 8, 12), (5, 13, 3), (9, 2, 1), (7, 30, 29), (2, 3, 7)):
        one.check({"x": data(2, 1, n, 6), "sizes": vector(2, 1, h, w)}, 0 if mode == "nearest" else 1e-6)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_a_filter_that_stretches(mode: str) -> None:
    one = Open(
        "Resize",
        {"x": TensorType(F32, (2, N, 20)), "roi": None, "scales": None, "sizes": elements("sizes", (1, 30), (1, 30))},
        mode=mode,
        antialias=1,
        axes=(1, 2),
    )
    for n, h, w in ((1, 1, 1), (9, 9, 20), (9, 4, 7), (5, 13, 3), (9, 1, 30), (7, 6, 19)):
        one.check({"x": data(2, n, 20), "sizes": vector(h, w)}, 1e-6)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_that_keeps_the_aspect(mode: str, policy: str) -> None:
    sizes = elements("sizes", (1, 30), (1, 30))
    one = Open(
        "Resize",
        {"x": TensorType(F32, (N, 6)), "roi": None, "scales": None, "sizes": sizes},
        mode=mode,
        keep_aspect_ratio_policy=policy,
    )
    for n, h, w in ((1, 1, 1), (9, 9, 20), (9, 4, 7), (5, 13, 3), (7, 6, 19), (4, 30, 30)):
        one.check({"x": data(n, 6), "sizes": vector(h, w)}, 0 if mode == "nearest" else 1e-6)


@pytest.mark.parametrize("scale", [2.0, 3.0, 0.5, 0.7, 1.0, 1.3])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_of_open_dimensions_by_known_scales(mode: str, scale: float) -> None:
    scales = np.array([1, scale, 2], np.float32)
    for antialias in (0, 1) if mode != "nearest" else (0,):
        one = Open("Resize", {"x": TensorType(F32, (N, M, 4)), "roi": None, "scales": scales}, mode=mode, antialias=antialias)
        for n, m in ((1, 2), (9, 20), (4, 7), (2, 13)):
            one.check({"x": data(n, m, 4)}, 0 if mode == "nearest" else 1e-6)


def test_resize_of_an_open_region() -> None:
    one = Open(
        "Resize",
        {
            "x": TensorType(F32, (1, 1, 4, N)),
            "roi": TensorType(F32, (8,)),
            "scales": None,
            "sizes": elements("sizes", (1, 1), (1, 1), (1, 8), (1, 8)),
        },
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=10.0,
    )
    for n, h, w in ((4, 3, 3), (9, 1, 8), (1, 8, 1)):
        for region in ((0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8), (0, 0, 0.6, 0.6, 1, 1, 1.2, 1.7), (0, 0, 1, 0, 1, 1, 0, 1)):
            one.check({"x": data(1, 1, 4, n), "roi": np.array(region, np.float32), "sizes": vector(1, 1, h, w)}, 1e-5)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_by_open_scales(mode: str, coordinates: str) -> None:
    for antialias in (0, 1) if mode != "nearest" else (0,):
        one = Open(
            "Resize",
            {"x": TensorType(F32, (2, N, 6)), "roi": None, "scales": reals("scales", (0, 8), (0, 8), (0, 8))},
            mode=mode,
            antialias=antialias,
            coordinate_transformation_mode=coordinates,
        )
        for n, scales in ((1, (1, 1, 1)), (9, (1, 2, 2)), (4, (0.5, 0.75, 3)), (9, (1, 0.4, 0.7)), (5, (2, 1.3, 1 / 3))):
            one.check({"x": data(2, n, 6), "scales": np.array(scales, np.float16).astype(np.float32)}, 0 if mode == "nearest" else 1e-6)


def test_range_of_floats() -> None:
    one = Open("Range", {name: reals(name, (-8, 8)).reshape(()) for name in ("start", "limit", "delta")})
    for start, limit, delta in ((1, 5, 2), (0.5, 7.75, 0.25), (8, -8, -1.5), (0, 8, -1), (3, 3, 1)):
        one.check({name: np.array(v, np.float32) for name, v in (("start", start), ("limit", limit), ("delta", delta))})


def test_split_into_open_sizes() -> None:
    one = Open("Split", {"x": TensorType(F32, (2, N)), "split": elements("split", (0, 9), (0, 9), (0, 9))}, outputs=3, axis=1)
    for sizes in ((1, 2, 3), (0, 9, 0), (0, 0, 1), (4, 0, 0)):
        one.check({"x": data(2, sum(sizes)), "split": vector(*sizes)})


def test_pad_by_amounts_that_may_crop() -> None:
    for mode in ("constant", "edge", "reflect", "wrap"):
        one = Open("Pad", {"x": TensorType(F32, (2, 5)), "pads": elements("pads", (0, 0), (-9, 9), (0, 0), (-9, 9))}, mode=mode)
        for before, after in ((-2, 1), (1, -4), (-1, -1), (-5, 9), (0, -5)):
            one.check({"x": data(2, 5), "pads": vector(0, before, 0, after)})


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("rank", [2, 3])
def test_affine_grid(rank: int, corners: int) -> None:
    size = elements("size", (2, 2), (1, 9), *[(1, 6)] * rank)
    one = Open("AffineGrid", {"theta": TensorType(F32, (2, rank, rank + 1)), "size": size}, align_corners=corners)
    for sizes in ((1, 1, 1), (6, 5, 4), (2, 1, 3)):
        one.check({"theta": data(2, rank, rank + 1), "size": vector(2, 3, *sizes[:rank])}, 1e-6)


def test_max_unpool() -> None:
    shape = elements("shape", (1, 1), (1, 1), (4, 9), (4, 9))
    operands = {"x": TensorType(F32, (1, 1, 2, 2)), "i": TensorType(I64, (1, 1, 2, 2)), "shape": shape}
    one = Open("MaxUnpool", operands, kernel_shape=(2, 2), strides=(2, 2))
    for h, w in ((4, 4), (5, 5), (9, 4)):
        one.check({"x": data(1, 1, 2, 2), "i": np.array([5, 7, 13, 15]).reshape(1, 1, 2, 2), "shape": vector(1, 1, h, w)})


@pytest.mark.parametrize(
    ("attributes", "images", "blocks"),
    [
        ({}, [(5, 5), (4, 9), (1, 5)], [(1, 5), (2, 2), (1, 1)]),
        ({"strides": (2, 2)}, [(5, 5), (6, 7)], [(3, 3), (2, 3)]),
        ({"pads": (0, 1, 0, 1), "dilations": (1, 2)}, [(5, 5), (6, 6)], [(1, 3), (2, 2)]),
    ],
)
def test_col2im(attributes: dict[str, tuple[int, ...]], images: list[tuple[int, int]], blocks: list[tuple[int, int]]) -> None:
    x = TensorType(F32, (2, symbol("channels", 1, 24), symbol("blocks", 1, 64)))
    operands = {"x": x, "image": elements("image", (1, 9), (1, 9)), "block": elements("block", (1, 5), (1, 5))}
    pads, dilations = attributes.get("pads", (0,) * 4), attributes.get("dilations", (1, 1))
    one = Open("Col2Im", operands, **attributes)
    for image, block in zip(images, blocks, strict=False):
        reach = [s + b + e - d * (k - 1) - 1 for s, k, b, e, d in zip(image, block, pads[:2], pads[2:], dilations, strict=True)]
        count = np.prod([r // s + 1 for r, s in zip(reach, attributes.get("strides", (1, 1)), strict=True)])
        one.check({"x": data(2, 2 * block[0] * block[1], int(count)), "image": vector(*image), "block": vector(*block)}, 1e-5)


@pytest.mark.parametrize(("inverse", "onesided", "parts"), [(0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 1), (1, 0, 2), (1, 1, 2)])
def test_dft_of_an_open_length_along_an_open_axis(inverse: int, onesided: int, parts: int) -> None:
    operands = {
        "x": TensorType(F32, (N, 4, 5, parts)),
        "length": elements("length", (1, 24), is_scalar=True),
        "axis": elements("axis", (-4, 2), is_scalar=True),
    }
    one = Open("DFT", operands, inverse=inverse, onesided=onesided)
    for n, length, axis in ((1, 1, 0), (9, 9, 0), (7, 12, -4), (3, 3, 1), (3, 24, 2), (2, 5, -2)):
        one.check({"x": data(n, 4, 5, parts), "length": np.array(length), "axis": np.array(axis)}, 1e-4)


def test_dft_of_an_open_length_that_an_operand_has() -> None:
    for onesided in (0, 1):
        one = Open("DFT", {"x": TensorType(F32, (2, M, 1)), "length": None, "axis": np.array(1)}, onesided=onesided)
        for m in (1, 2, 13, 20):
            one.check({"x": data(2, m, 1)}, 1e-4)


@pytest.mark.parametrize("parts", [1, 2])
def test_stft(parts: int) -> None:
    step, length = elements("step", (1, 20), is_scalar=True), elements("length", (1, 20), is_scalar=True)
    one = Open("STFT", {"x": TensorType(F32, (2, M, parts)), "step": step, "w": None, "length": length}, onesided=2 - parts)
    for m, s, n in ((20, 8, 16), (20, 1, 20), (7, 3, 2), (1, 1, 1)):
        one.check({"x": data(2, m, parts), "step": np.array(s), "length": np.array(n)}, 1e-4)
    window = np.hanning(6).astype(np.float32)
    one = Open("STFT", {"x": TensorType(F32, (2, 20, parts)), "step": step, "w": window, "length": length}, onesided=2 - parts)
    for s in (1, 5, 20):
        one.check({"x": data(2, 20, parts), "step": np.array(s), "length": np.array(6)}, 1e-4)


def test_mel_weight_matrix() -> None:
    operands = {
        "bands": elements("bands", (1, 12), is_scalar=True),
        "length": elements("length", (1, 64), is_scalar=True),
        "rate": TensorType(I64, ()),
        "low": TensorType(F32, ()),
        "high": TensorType(F32, ()),
    }
    one = Open("MelWeightMatrix", operands)
    for bands, length, rate, low, high in (
        (8, 16, 8192, 0, 4096),
        (12, 64, 16000, 20, 7900),
        (1, 2, 100, 0, 50),
        (5, 33, 44100, 300, 8000),
    ):
        scalars = {"bands": np.array(bands), "length": np.array(length), "rate": np.array(rate)}
        one.check({**scalars, "low": np.array(low, np.float32), "high": np.array(high, np.float32)}, 1e-6)
    with pytest.raises(ModelError, match="index"):
        evaluate_bound(
            one.graph,
            {"rate": np.array(8192), "low": np.array(0, np.float32), "high": np.array(9000, np.float32)},
            {"bands[0]": 8, "length[0]": 16},
        )


def test_range_and_pad_of_onnxruntime() -> None:
    one = Open("com.microsoft::Range", {name: elements(name, (-20, 20), is_scalar=True) for name in ("start", "limit")})
    for start, limit in ((0, 10), (-3, 4), (5, 5), (7, 2)):
        one.check({"start": np.array(start), "limit": np.array(limit)})
    one = Open("com.microsoft::Pad", {"x": TensorType(F32, (2, N)), "pads": elements("pads", *[(0, 5)] * 4)}, mode="reflect")
    for amounts in ((0, 0, 0, 0), (1, 2, 0, 5)):
        one.check({"x": data(2, 6), "pads": vector(*amounts)})
