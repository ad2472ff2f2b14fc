"""A branch of which only the run knows which way it goes. The frontend makes it of an If."""

from __future__ import annotations

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.control import BranchAttrs, bodies
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.spec import Control, Inference, Operator


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    attrs: BranchAttrs = inference.attrs
    inputs = (*attrs.then_branch.inputs, *attrs.else_branch.inputs)
    check_inputs(inference.types[1:], tuple(value.type for _, value in inputs))
    found, other = (tuple(value.type for _, value in graph.outputs) for graph in bodies(attrs))
    if found != other:
        raise InternalError("the branches give results of other types")
    return found


def check_inputs(given: tuple[TensorType | None, ...], wanted: tuple[TensorType, ...]) -> None:
    """Check that operands are what the graphs of a node take.

    Raises:
        InternalError: one is not.
    """
    if given != wanted:
        raise InternalError(f"has operands {', '.join(map(str, given))}; its graphs take {', '.join(map(str, wanted))}")


def _evaluate(attrs: BranchAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    condition, *operands = arrays
    assert condition is not None
    count = len(attrs.then_branch.inputs)
    if condition.item():
        return evaluate_body(attrs.then_branch, operands[:count])
    return evaluate_body(attrs.else_branch, operands[count:])


def evaluate_body(graph: Graph, arrays: list[np.ndarray | None]) -> tuple[np.ndarray, ...]:
    """Return the results of a node's graph."""
    from nautilus_cli.ops.evaluate import evaluate  # which asks the registry for this operator

    given = {name: array for (name, _), array in zip(graph.inputs, arrays, strict=True) if array is not None}
    return tuple(evaluate(graph, given).values())


OPERATOR = Operator(
    name="nautilus::If",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Control(),
    attributes=BranchAttrs,
    source="ONNX 28, If-25, with what the branches read from outside as operands",
)
