from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, TensorType
from nautilus_cli.ops.conv import ConvAttrs
from nautilus_cli.ops.deform_conv import DeformConvAttrs
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says, same


@given(st.data(), seeds(), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_agrees_with_onnxruntime(data: st.DataObject, rng: np.random.Generator, biased: bool, masked: bool) -> None:
    groups, shares = data.draw(st.sampled_from([(1, 1), (2, 1), (1, 3), (2, 2), (3, 6)]))
    channels, outputs = 6, 6
    kernel = [data.draw(st.integers(1, 3)) for _ in range(2)]
    strides, dilations = ([data.draw(st.integers(1, 2)) for _ in range(2)] for _ in range(2))
    pads = [data.draw(st.integers(0, 2)) for _ in range(4)]
    sizes = [data.draw(st.integers(5, 8)) for _ in range(2)]
    results = [(sizes[a] + pads[a] + pads[a + 2] - dilations[a] * (kernel[a] - 1) - 1) // strides[a] + 1 for a in range(2)]
    taps = shares * kernel[0] * kernel[1]
    x, w = values(rng, (2, channels, *sizes), np.float32), values(rng, (outputs, channels // groups, *kernel), np.float32)
    offset = 2 * values(rng, (2, 2 * taps, *results), np.float32)
    arrays = [x, w, offset, values(rng, (outputs,), np.float32) if biased else None]
    arrays.append(values(rng, (2, taps, *results), np.float32) if masked else None)
    attrs = {"group": groups, "offset_group": shares, "pads": pads, "strides": strides, "dilations": dilations, "kernel_shape": kernel}
    check("DeformConv", arrays, attrs, oracle=onnxruntime_says, terms=64, depth=16)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_without_offsets_it_is_a_convolution(rank: int, dtype: Any) -> None:
    rng = np.random.default_rng(rank)
    x, w = values(rng, (2, 4, *range(5, 5 + rank)), dtype), values(rng, (6, 2, *(3,) * rank), dtype)
    window = {"group": 2, "pads": (1,) * (2 * rank), "strides": (2,) * rank}
    (wanted,) = operators()["Conv"].evaluate(ConvAttrs(**window), (x, w), 1)
    offset = np.zeros((2, 3**rank * rank, *wanted.shape[2:]), dtype)
    (found,) = operators()["DeformConv"].evaluate(DeformConvAttrs(**window), (x, w, offset), 1)
    same(found, wanted, terms=64, depth=4)


@pytest.mark.parametrize("rank", [1, 3])
def test_whole_offsets_shift_the_image(rank: int) -> None:
    rng = np.random.default_rng(7)
    x, w = values(rng, (1, 2, *(6,) * rank), np.float32), values(rng, (3, 2, *(1,) * rank), np.float32)
    offset = np.zeros((1, rank, *(6,) * rank), np.float32)
    offset[:, 0], offset[:, -1] = 1, 2 if rank > 1 else 1
    (found,) = operators()["DeformConv"].evaluate(DeformConvAttrs(), (x, w, offset), 1)
    shifted = np.zeros_like(x)
    ahead = (1, *(0,) * (rank - 2), 2) if rank > 1 else (1,)
    target = tuple(slice(0, 6 - n) for n in ahead)
    shifted[(slice(None), slice(None), *target)] = x[(slice(None), slice(None), *(slice(n, 6) for n in ahead))]
    same(found, np.einsum("oc,nc...->no...", w.reshape(3, 2), shifted), terms=4, depth=4)


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        (((1, 4, 5, 5), (6, 4, 3, 3), (1, 18, 3, 4)), {}, "'offset' has shape"),
        (((1, 4, 5, 5), (6, 4, 3, 3), (1, 18, 3, 3), (5,)), {}, "'B' has shape"),
        (((1, 4, 5, 5), (6, 4, 3, 3), (1, 18, 3, 3), None, (1, 18, 3, 3)), {}, "'mask' has shape"),
        (((1, 4, 5, 5), (6, 4, 3, 3), (1, 54, 3, 3)), {"offset_group": 3}, "offset_group is 3 for 4 channels"),
        (((1, 4, 5, 5), (6, 3, 3, 3), (1, 18, 3, 3)), {}, "requires channels = group"),
        (((1, 4, 5, 5), (6, 4, 3, 3), (1, 18, 3, 3)), {"kernel_shape": (2, 2)}, "kernel_shape is"),
    ],
)
def test_refusals(shapes: tuple[tuple[int, ...] | None, ...], attrs: dict[str, Any], message: str) -> None:
    types = tuple(None if shape is None else TensorType(F32, shape) for shape in shapes)
    with pytest.raises(ModelError, match=message):
        operators()["DeformConv"].infer(Inference(DeformConvAttrs(**attrs), types, (None,) * len(types), 1))
