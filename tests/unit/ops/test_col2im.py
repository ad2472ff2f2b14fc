from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.oracle import check


@given(st.data(), seeds(), st.sampled_from([np.float32, np.float64, np.float16, np.int32, np.int64]))
@settings(max_examples=60)
def test_agrees_with_the_reference(data: st.DataObject, rng: np.random.Generator, dtype: Any) -> None:
    rank = data.draw(st.integers(2, 3))
    block = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    strides, dilations = ([data.draw(st.integers(1, 2)) for _ in range(rank)] for _ in range(2))
    pads = [data.draw(st.integers(0, 1)) for _ in range(2 * rank)]
    image = [data.draw(st.integers(5, 7)) for _ in range(rank)]
    blocks = [(image[a] + pads[a] + pads[a + rank] - dilations[a] * (block[a] - 1) - 1) // strides[a] + 1 for a in range(rank)]
    x = values(rng, (2, 2 * int(np.prod(block)), int(np.prod(blocks))), dtype)
    attrs = {"strides": strides, "pads": pads, "dilations": dilations}
    check("Col2Im", [x, np.array(image), np.array(block)], attrs, terms=32)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
def test_sums_of_narrow_numbers_wrap_and_those_of_bools_are_alternatives(dtype: Any) -> None:
    from tests.unit.ops.lowered import lowered

    rng = np.random.default_rng(1)
    x = rng.integers(0, 2 if dtype is np.bool_ else 100, (1, 4, 12)).astype(dtype)
    operator, arrays = operators()["Col2Im"], [x, np.array([4, 5]), np.array([2, 2])]
    (truth,) = operator.evaluate(operator.attributes(), tuple(arrays), 1)
    (found,) = lowered(operator, operator.attributes(), arrays, 1)
    wide = operator.evaluate(operator.attributes(), (x.astype(np.int64), *arrays[1:]), 1)[0]
    assert np.array_equal(truth, wide.astype(dtype))
    assert np.array_equal(found, truth)


@pytest.mark.parametrize(
    ("arrays", "attrs", "message"),
    [
        ((np.zeros((1, 5, 12), np.float32), np.array([4, 5]), np.array([2, 2])), {}, "'input' has shape"),
        ((np.zeros((1, 4, 11), np.float32), np.array([4, 5]), np.array([2, 2])), {}, "'input' has shape"),
        ((np.zeros((4, 12), np.float32), np.array([4, 5]), np.array([2, 2])), {}, "requires rank 3"),
        ((np.zeros((1, 4, 12), np.float32), np.array([4, 5]), np.array([2])), {}, "as many positive sizes"),
        ((np.zeros((1, 4, 12), np.float32), np.array([4, 5]), np.array([2, 2])), {"strides": (0, 1)}, "strides is"),
    ],
)
def test_refusals(arrays: tuple[np.ndarray, ...], attrs: dict[str, Any], message: str) -> None:
    operator = operators()["Col2Im"]
    types = tuple(TensorType(dtype_of(a), a.shape) for a in arrays)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), types, arrays, 1))
