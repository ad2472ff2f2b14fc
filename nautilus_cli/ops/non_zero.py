"""NonZero: where elements are not zero."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.ops.checks import contents, first_of, operand, operand_count
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import HostOnly, Inference, NoAttrs, Operator


def _places(x: np.ndarray) -> np.ndarray:
    """Return one row a dimension; a scalar has no row."""
    if x.ndim == 0:
        return np.zeros((0, int(x != 0)), np.int64)
    return np.array(np.nonzero(x), np.int64)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    operand(inference, 0, "X", ALL)
    return (TensorType(I64, _places(contents(inference.constants, 0, "X")).shape),)


def _evaluate(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return (_places(first_of(arrays)),)


OPERATOR = Operator(
    name="NonZero",
    infer=_infer,
    evaluate=_evaluate,
    lowering=HostOnly(
        "the size of its result depends on its operand's contents: they must be known at compile time, or an output of the model must "
        "declare the size, which the run then checks"
    ),
    source="ONNX 28, NonZero-13",
    since=9,
)
