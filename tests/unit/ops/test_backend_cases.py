"""The single-node cases of onnx.backend.test: shape rule, truth and lowering of every operator, on values that nobody here chose."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import HostOnly, Inference
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import attributes, same

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the cases overflow on purpose while they are made

REFUSED = {
    "test_equal_string": "element type object",
    "test_equal_string_broadcast": "element type object",
    "test_training_dropout": "training_mode is not known to be false",
    "test_training_dropout_default": "training_mode is not known to be false",
    "test_training_dropout_default_mask": "training_mode is not known to be false",
    "test_training_dropout_mask": "training_mode is not known to be false",
}
NOISE = {"test_dft_inverse"}
"""Cases that hold numpy's own rounding: 1.9e-7 where the result is 0, and 1e-7 is allowed."""
WITHOUT = {"GlobalLpPool", "MaxRoiPool", "SimplifiedLayerNormalization"}
"""Operators without a case of one node."""


@cache
def cases() -> dict[str, list[Any]]:
    found = defaultdict(list)
    for case in load_model_tests(kind="node"):
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].domain != "" or nodes[0].op_type not in operators():
            continue
        if case.model.opset_import[0].version >= operators()[nodes[0].op_type].since:  # what is older comes in another form
            found[nodes[0].op_type].append(case)
    return found


def array(value: Any) -> np.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def reason(name: str) -> str | None:
    return REFUSED.get(name)


def run(case: Any) -> None:
    (node,) = case.model.graph.node
    operator = operators()[node.op_type]
    attrs = attributes(operator, node)
    for inputs, outputs in case.data_sets:
        given = dict(zip((i.name for i in case.model.graph.input), map(array, inputs), strict=True))
        arrays = tuple(given[name] if name else None for name in node.input)
        types = tuple(None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays)
        count = len(node.output)
        inferred = operator.infer(Inference(attrs, types, arrays, count))
        with np.errstate(all="ignore"):
            truth = operator.evaluate(attrs, arrays, count)
        assert inferred == tuple(TensorType(dtype_of(a), a.shape) for a in truth)
        wanted = dict(zip((o.name for o in case.model.graph.output), map(array, outputs), strict=True))
        for name, result in zip(node.output, truth, strict=True):
            if name:
                assert result.dtype == wanted[name].dtype
                rtol = max(case.rtol, 2**-6) if result.dtype.name == "bfloat16" else case.rtol  # as ONNX's own runner has it
                np.testing.assert_allclose(
                    result.astype(np.float64), wanted[name].astype(np.float64), rtol, case.atol, equal_nan=True, err_msg=case.name
                )
        if not isinstance(operator.lowering, HostOnly):
            for result, expected in zip(lowered(operator, attrs, arrays, count), truth, strict=True):
                same(result, expected, terms=max((a.size for a in arrays if a is not None), default=1), depth=8)


@pytest.mark.parametrize("name", sorted(name for name in operators() if "::" not in name))
def test_cases_of(name: str) -> None:
    found = cases()[name]
    assert bool(found) != (name in WITHOUT)
    for case in found:
        refusal = reason(case.name)
        if case.name in NOISE:
            with pytest.raises(AssertionError, match="Not equal to tolerance"):
                run(case)
        elif refusal is None:
            run(case)
        else:
            with pytest.raises(ModelError, match=refusal):
                run(case)
