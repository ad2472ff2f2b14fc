"""Single ONNX nodes, and what others say that they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.numerics import compare, derived
from nautilus_cli.numerics.tolerance import magnitude
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import HostOnly, Inference, Operator
from tests.unit.ops.lowered import lowered

ONNXRUNTIME_OPSET = 22


def attributes(operator: Operator, node: onnx.NodeProto) -> Any:
    """Read a node's attributes into the operator's dataclass."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, onnx.TensorProto):
            value = numpy_helper.to_array(value)
        if isinstance(value, list):
            value = tuple(v.decode() if isinstance(v, bytes) else v for v in value)
        found[attribute.name] = value
    return operator.attributes(**found)


def model(op: str, arrays: Sequence[np.ndarray | None], attrs: dict[str, Any], outputs: int, opset: int) -> onnx.ModelProto:
    """Return a model of one node; the name of an operator of another domain starts with that, as in the registry."""
    domain, _, op_type = op.rpartition("::")
    names = ["" if a is None else f"in{i}" for i, a in enumerate(arrays)]
    node = helper.make_node(op_type, names, [f"out{i}" for i in range(outputs)], domain=domain, **attrs)
    inputs = [
        helper.make_tensor_value_info(n, ONNX_NUMBERS[dtype_of(a)], a.shape) for n, a in zip(names, arrays, strict=True) if a is not None
    ]
    results = [helper.make_empty_tensor_value_info(f"out{i}") for i in range(outputs)]
    graph = helper.make_graph([node], op_type, inputs, results)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def reference(op: str, arrays: Sequence[np.ndarray | None], attrs: dict[str, Any], outputs: int, opset: int) -> list[np.ndarray]:
    """Return what onnx's reference evaluator computes."""
    feeds = {f"in{i}": a for i, a in enumerate(arrays) if a is not None}
    with np.errstate(all="ignore"):
        return [np.asarray(a) for a in ReferenceEvaluator(model(op, arrays, attrs, outputs, opset)).run(None, feeds)]


def onnxruntime_says(op: str, arrays: Sequence[np.ndarray | None], attrs: dict[str, Any], outputs: int, opset: int) -> list[np.ndarray]:
    """Return what onnxruntime computes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    content = model(op, arrays, attrs, outputs, min(opset, ONNXRUNTIME_OPSET)).SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {f"in{i}": a for i, a in enumerate(arrays) if a is not None})


def check(
    op: str,
    arrays: Sequence[np.ndarray | None],
    attrs: dict[str, Any] | None = None,
    *,
    outputs: int = 1,
    opset: int | None = None,
    terms: int = 1,
    depth: int = 4,
    oracle: Any = reference,
) -> None:
    """Hold shape rule, truth and lowering of an operator against an oracle.

    Args:
        op: name.
        arrays: operands.
        attrs: ONNX attributes.
        outputs: how many results are asked for.
        opset: of the model that the oracle runs; None for the newest.
        terms: longest sum behind an element.
        depth: operations in a row.
        oracle: `reference` or `onnxruntime_says`.
    """
    attrs = attrs or {}
    operator = operators()[op]
    opset = opset or onnx.defs.onnx_opset_version()
    node = model(op, arrays, attrs, outputs, opset).graph.node[0]
    typed = attributes(operator, node)
    with np.errstate(all="ignore"):
        truth = operator.evaluate(typed, tuple(arrays), outputs)
    inferred = operator.infer(
        Inference(typed, tuple(None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays), tuple(arrays), outputs)
    )
    assert inferred == tuple(TensorType(dtype_of(a), a.shape) for a in truth)
    expected = oracle(op, arrays, attrs, outputs, opset)
    for found, wanted in zip(truth, expected, strict=True):
        same(found, wanted, terms=terms, depth=depth)
    if not isinstance(operator.lowering, HostOnly):
        for found, wanted in zip(lowered(operator, typed, arrays, outputs), truth, strict=True):
            same(found, wanted, terms=terms, depth=depth)


def same(found: np.ndarray, wanted: np.ndarray, *, terms: int, depth: int) -> None:
    """Hold an array against another within the tolerance of so many operations; integers and booleans must be equal."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    scale = max(1.0, magnitude(wanted)) if dtype_of(wanted).is_float else None
    compared = compare(found, wanted, derived(wanted, terms=terms, depth=depth, scale=scale))
    assert compared.is_match, str(compared)
