from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check, onnxruntime_says


@given(st.data(), st.integers(1, 3), seeds())
@settings(max_examples=60)
def test_back_from_a_maximum(data: st.DataObject, rank: int, rng: np.random.Generator) -> None:
    kernel = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    strides = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    pads = [data.draw(st.integers(0, k - 1)) for k in (*kernel, *kernel)]
    windows = [data.draw(st.integers(1, 4)) for _ in range(rank)]
    size = [(n - 1) * s + k - b - e for n, s, k, b, e in zip(windows, strides, kernel, pads[:rank], pads[rank:], strict=True)]
    if min(size) < 1:
        return
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    x = values(rng, (2, 3, *size), np.float32)
    maximum, place = onnxruntime_says("MaxPool", [x], attrs, 2, 22)
    check("MaxUnpool", [maximum, place], attrs, oracle=onnxruntime_says)
    wanted = np.array([2, 3, *(n + data.draw(st.integers(0, 2)) for n in size)])
    check("MaxUnpool", [maximum, place, wanted], attrs)


@pytest.mark.parametrize(
    ("shapes", "given_shape", "attrs", "message"),
    [
        ([(1, 2, 3), (1, 2, 4)], None, {}, "requires equal ones"),
        ([(1, 2), (1, 2)], None, {}, "one size a dimension"),
        ([(1, 2, 3), (1, 2, 3)], None, {"pads": (1,)}, "two numbers each"),
        ([(1, 2, 1), (1, 2, 1)], None, {"pads": (1, 1)}, "leaves nothing"),
        ([(1, 2, 3), (1, 2, 3)], [1, 2, 3], {}, "no smaller"),
    ],
)
def test_refusals(shapes: list[tuple[int, ...]], given_shape: list[int] | None, attrs: dict[str, Any], message: str) -> None:
    operator = operators()["MaxUnpool"]
    types: list[TensorType | None] = [TensorType(F32, shapes[0]), TensorType(I64, shapes[1])]
    constants = [None, None, None if given_shape is None else np.array(given_shape)]
    types.append(None if given_shape is None else TensorType(I64, (len(given_shape),)))
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes((2,), **attrs), tuple(types), tuple(constants), 1))
