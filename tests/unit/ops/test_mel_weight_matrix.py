from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.oracle import check, onnxruntime_says


def numbers(bands: int, length: int, rate: int, low: float, high: float, kind: Any = np.float32) -> list[np.ndarray]:
    return [np.array(bands), np.array(length), np.array(rate), np.array(low, kind), np.array(high, kind)]


@pytest.mark.parametrize(
    "arrays",
    [numbers(8, 16, 8192, 0, 4096), numbers(40, 400, 16000, 20, 7600), numbers(80, 512, 22050, 0, 8000), numbers(1, 8, 100, 0, 50)],
)
def test_agrees_with_the_reference(arrays: list[np.ndarray]) -> None:
    check("MelWeightMatrix", arrays, terms=4)
    check("MelWeightMatrix", arrays, oracle=onnxruntime_says, terms=4)
    check("MelWeightMatrix", arrays, {"output_datatype": 11}, terms=4)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (numbers(8, 16, 8192, 0, 9000), "The upper edge is at most half the sample rate: 4096.0 Hz"),
        (numbers(8, 16, 8192, 400, 100), "ascending edges"),
        (numbers(8, 16, 0, 0, 100), "requires positive sizes"),
    ],
)
def test_numbers_out_of_range(arrays: list[np.ndarray], message: str) -> None:
    operator = operators()["MelWeightMatrix"]
    with pytest.raises(ModelError) as caught:
        operator.evaluate(operator.attributes(), tuple(arrays), 1)
    assert message in str(caught.value)


def test_refusals() -> None:
    operator, arrays = operators()["MelWeightMatrix"], numbers(8, 16, 8192, 0, 4000)
    types = tuple(TensorType(dtype_of(a), a.shape) for a in arrays)
    with pytest.raises(ModelError, match="'num_mel_bins' decides the result's shape"):
        operator.infer(Inference(operator.attributes(), types, (None,) * 5, 1))
    with pytest.raises(ModelError, match="'dft_length' has shape"):
        operator.infer(Inference(operator.attributes(), (types[0], TensorType(types[1].dtype, (2,)), *types[2:]), tuple(arrays), 1))
    with pytest.raises(ModelError, match="output_datatype is bool"):
        operator.infer(Inference(operator.attributes(output_datatype=9), types, tuple(arrays), 1))
