from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import check, onnxruntime_says


@st.composite
def transposed(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Shapes of X and W, and attributes, for one to three spatial dimensions."""
    rank, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    inside, outside = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 4)) for _ in range(rank)]
    size = [draw(st.integers(1, 5)) for _ in range(rank)]
    strides, dilations = [draw(st.integers(1, 3)) for _ in range(rank)], [draw(st.integers(1, 3)) for _ in range(rank)]
    attrs: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group}
    numbers = list(zip(size, strides, kernel, dilations, strict=True))
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in numbers]
    kind = draw(st.sampled_from(["pads", "output_shape", "auto_pad"]))
    if kind == "pads":
        attrs["pads"] = [draw(st.integers(0, min(2, (r - 1) // 2))) for r in (*reach, *reach)]
        # onnxruntime refuses more than the stride, the specification more than both.
        attrs["output_padding"] = [draw(st.integers(0, s - 1)) for s in strides]
    elif kind == "output_shape":
        attrs["output_shape"] = [draw(st.integers(max(1, r - 2), r)) for r in reach]
        attrs["auto_pad"] = draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER"]))
    else:
        # Where elements reach fewer results than the stride, onnxruntime's result is smaller than SAME asks for.
        fits = all((k - 1) * d + 1 >= s for _, s, k, d in numbers)
        attrs["auto_pad"] = draw(st.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID"] if fits else ["VALID"]))
    batch = draw(st.integers(1, 2))
    return (batch, group * inside, *size), (group * inside, outside, *kernel), attrs


@given(transposed(), st.booleans(), seeds())
@settings(max_examples=100)
def test_conv_transpose(drawn: tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], has_bias: bool, rng: np.random.Generator) -> None:
    x, w, attrs = drawn
    bias = [values(rng, (w[1] * attrs["group"],), np.float32)] if has_bias else []
    terms = w[0] // attrs["group"] * int(np.prod(w[2:])) + 1
    check("ConvTranspose", [values(rng, x, np.float32), values(rng, w, np.float32), *bias], attrs, oracle=onnxruntime_says, terms=terms)


def test_conv_transpose_beyond_what_is_reached() -> None:
    """SAME and output_shape may ask for more than any element reaches: zeros at the end."""
    x, w = np.ones((1, 1, 3), np.float32), np.ones((1, 1, 1), np.float32)
    operator = operators()["ConvTranspose"]
    for attrs, wanted in (
        ({"auto_pad": "SAME_UPPER"}, [1, 0, 1, 0, 1, 0]),
        ({"output_shape": (8,)}, [1, 0, 1, 0, 1, 0, 0, 0]),
        ({"output_padding": (1,)}, [1, 0, 1, 0, 1, 0]),
    ):
        typed = operator.attributes(strides=(2,), **attrs)
        assert operator.evaluate(typed, (x, w), 1)[0].reshape(-1).tolist() == wanted
        assert lowered(operator, typed, [x, w], 1)[0].reshape(-1).tolist() == wanted


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        ([(1, 2, 5), (2, 3, 3, 3)], {}, "batch, channels and spatial"),
        ([(1, 2, 5), (3, 2, 3)], {}, "equally many channels"),
        ([(1, 3, 5), (3, 2, 3)], {"group": 2}, "which group divides"),
        ([(1, 2, 5), (2, 3, 3)], {"kernel_shape": (2,)}, "but operand 'W'"),
        ([(1, 2, 5), (2, 3, 3)], {"pads": (4, 4)}, "leaves nothing of"),
        ([(1, 2, 5), (2, 3, 3)], {"pads": (-1, 0)}, "none negative"),
        ([(1, 2, 5), (2, 3, 3)], {"output_padding": (1, 1)}, "requires 1 numbers"),
        ([(1, 2, 5), (2, 3, 3)], {"output_shape": (0,)}, "one positive size each"),
        ([(1, 2, 0), (2, 3, 3)], {}, "must not be empty"),
        ([(1, 2, 5), (2, 3, 3), (2,)], {}, r"requires \[3\]"),
        ([(1, 2, 5), (2, 3, 3)], {"auto_pad": "SAME"}, "auto_pad is 'SAME'"),
    ],
)
def test_refusals_of_conv_transpose(shapes: list[tuple[int, ...]], attrs: dict[str, Any], message: str) -> None:
    operator = operators()["ConvTranspose"]
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), tuple(TensorType(F32, s) for s in shapes), (None,) * len(shapes), 1))
