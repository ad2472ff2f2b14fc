from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F16, F32, TensorType
from nautilus_cli.ops.builder import GraphBuilder
from nautilus_cli.ops.pool import AveragePoolAttrs, pool_counts, pool_window
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from nautilus_cli.passes.rewriting.decompose import decompose
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check, onnxruntime_says


@st.composite
def windows(draw: st.DrawFn, *, dilates: bool = True) -> tuple[tuple[int, ...], dict[str, Any]]:
    """A shape and attributes for one to three spatial dimensions."""
    rank = draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 3)) for _ in range(rank)]
    mode = draw(st.sampled_from(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    # onnxruntime refuses SAME where the stride is larger than the kernel, and the padding would be negative.
    strides = [draw(st.integers(1, k if mode.startswith("SAME") else 3)) for k in kernel]
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "auto_pad": mode}
    if mode == "NOTSET":
        attrs["pads"] = [draw(st.integers(0, k - 1)) for k in (*kernel, *kernel)]
        if dilates:
            attrs["dilations"] = [draw(st.integers(1, 2)) for _ in range(rank)]
    if mode in ("NOTSET", "VALID"):
        attrs["ceil_mode"] = draw(st.integers(0, 1))
    return (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *(draw(st.integers(6, 8)) for _ in range(rank))), attrs


@given(windows(), st.sampled_from([np.float32, np.float64, np.int8, np.uint8]), seeds())
@settings(max_examples=80)
def test_max_pool(drawn: tuple[tuple[int, ...], dict[str, Any]], dtype: object, rng: np.random.Generator) -> None:
    shape, attrs = drawn
    check("MaxPool", [values(rng, shape, dtype)], attrs, oracle=onnxruntime_says)


@given(windows(), st.integers(0, 1), seeds())
@settings(max_examples=60)
def test_max_pool_indices(drawn: tuple[tuple[int, ...], dict[str, Any]], order: int, rng: np.random.Generator) -> None:
    shape, attrs = drawn
    check("MaxPool", [values(rng, shape, np.float32)], {**attrs, "storage_order": order}, outputs=2, oracle=onnxruntime_says)


@given(windows(dilates=True), st.integers(0, 1), seeds())
@settings(max_examples=80)
def test_average_pool(drawn: tuple[tuple[int, ...], dict[str, Any]], include: int, rng: np.random.Generator) -> None:
    shape, attrs = drawn
    check(
        "AveragePool", [values(rng, shape, np.float32)], {**attrs, "count_include_pad": include}, oracle=onnxruntime_says, terms=27, depth=4
    )


@given(windows(), st.integers(1, 3), seeds())
@settings(max_examples=40)
def test_lp_pool(drawn: tuple[tuple[int, ...], dict[str, Any]], p: int, rng: np.random.Generator) -> None:
    shape, attrs = drawn
    check("LpPool", [values(rng, shape, np.float32)], {**attrs, "p": p}, oracle=onnxruntime_says, terms=27, depth=4)


def test_sixteen_bits() -> None:
    x = values(np.random.default_rng(0), (1, 2, 5, 5), np.float16)
    for name in ("MaxPool", "AveragePool"):
        check(name, [x], {"kernel_shape": [2, 2]}, terms=4)


def test_nan_wins() -> None:
    x = np.array([[[1, np.nan, 2, 3]]], np.float32)
    operator = operators()["MaxPool"]
    (found,) = lowered(operator, operator.attributes((2,)), [x], 1)
    np.testing.assert_array_equal(found, [[[np.nan, np.nan, 3]]])


def test_padding_behind_a_rounded_up_window_does_not_count() -> None:
    attrs = AveragePoolAttrs((3,), ceil_mode=1, strides=(2,), pads=(0, 1), count_include_pad=1)
    found = pool_window(attrs, (1, 1, 5))
    # Windows start at 0, 2 and 4; the last has one element and one of padding, and reaches one beyond the padding.
    assert found.results == (3,)
    assert pool_counts(attrs, found).tolist() == [3, 3, 2]


@pytest.mark.parametrize(
    ("shape", "attrs", "message"),
    [
        ((1, 2), {"kernel_shape": (2,)}, "batch, channels and spatial dimensions"),
        ((1, 2, 5), {"kernel_shape": (2, 2)}, "for 1 spatial dimensions"),
        ((1, 2, 5), {"kernel_shape": (0,)}, "one positive size each"),
        ((1, 2, 5), {"kernel_shape": (6,)}, "a window of 6 does not fit"),
        ((1, 2, 5), {"kernel_shape": (2,), "pads": (2, 0)}, "could lie in the padding alone"),
        ((1, 2, 5), {"kernel_shape": (2,), "pads": (-1, 0)}, "none negative"),
    ],
)
def test_refusals(shape: tuple[int, ...], attrs: dict[str, Any], message: str) -> None:
    operator = operators()["MaxPool"]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), (TensorType(F32, shape),), (None,), 1))


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_same_gives_the_number_of_windows_itself(op: str, auto_pad: str) -> None:
    """ceil_mode changes nothing there, and must not do so where auto_pad has become pads."""
    x = np.arange(14, dtype=np.float32).reshape(1, 1, 2, 7)
    attrs = {"kernel_shape": (1, 2), "strides": (1, 3), "auto_pad": auto_pad}
    operator = operators()[op]
    plain = operator.evaluate(operator.attributes(**attrs), (x,), 1)
    rounded_up = operator.attributes(**attrs, ceil_mode=1)
    for found in (operator.evaluate(rounded_up, (x,), 1), lowered(operator, rounded_up, (x,), 1)):
        np.testing.assert_array_equal(found[0], plain[0])


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_valid_counts_windows_that_are_cut_off_where_ceil_mode_does(op: str) -> None:
    """As onnxruntime and ONNX's shape inference have it, against ONNX's text."""
    attrs = {"kernel_shape": [2], "strides": [2], "auto_pad": "VALID", "ceil_mode": 1}
    check(op, [np.arange(17, dtype=np.float32).reshape(1, 1, 17)], attrs, oracle=onnxruntime_says)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_normal_form_of_lp_pool_sums_magnitudes(p: int) -> None:
    builder = GraphBuilder()
    x = builder.input("x", TensorType(F16, (1, 2, 4, 4)))
    y = builder.node("LpPool", [x], kernel_shape=(2, 2), p=p)
    graph = decompose(builder.graph([("y", y)]))
    (pool,) = [n for n in graph.nodes if n.op == "LpPool"]
    assert pool.attrs.p == 1
    assert next(pool.results()).type.dtype == (F16 if p == 1 else F32)


def test_a_norm_below_one_is_refused() -> None:
    with pytest.raises(ModelError, match="p is 0"):
        GraphBuilder().node("LpPool", [Value(TensorType(F32, (1, 1, 2, 2)))], kernel_shape=(2, 2), p=0)
