"""Inputs whose values follow from the shapes that the model declares for its outputs."""

from __future__ import annotations

import pytest
from onnx import helper

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.load import load_model
from nautilus_cli.ir.ranges import DimRange
from tests.unit.frontend.models import INT64, model, output, tensor_input, told


def test_a_question_about_a_dimension_is_no_question_about_values() -> None:
    """The values of `k` have nothing to do with it: the pool is refused as it is without that input, and at once."""
    pool = helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[2])
    count = helper.make_node("Identity", ["k"], ["n"], "count")
    ports = [tensor_input("x", 1, 3, "length"), tensor_input("k", 1, dtype=INT64)]
    proto = model([pool, count], ports, [output("y"), output("n", INT64)])
    with pytest.raises(ModelError) as caught:
        load_model(proto, ExternalData(None), "", dims={"length": DimRange(1, 6)})
    assert "it holds for length = 1, it fails for length = 2..6" in told(caught.value)
