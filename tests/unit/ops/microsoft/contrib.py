"""How operators of com.microsoft are held against onnxruntime, which alone knows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import TensorType, dtype_of
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.lowered import lowered
from tests.unit.ops.oracle import attributes, check, model, onnxruntime_says, same

Arrays = Sequence[np.ndarray | None]


def agrees(op: str, arrays: Arrays, attrs: dict[str, Any] | None = None, *, outputs: int = 1, terms: int = 1, depth: int = 8) -> None:
    """Hold shape rule, truth and lowering of com.microsoft's OP against onnxruntime."""
    check(f"com.microsoft::{op}", arrays, attrs, outputs=outputs, terms=terms, depth=depth, oracle=onnxruntime_says, opset=22)


def agrees_in_half(op: str, arrays: Arrays, attrs: dict[str, Any] | None = None, *, outputs: int = 1, terms: int = 1) -> None:
    """Hold truth and lowering on float16 against onnxruntime in float32 on the same numbers: its CPU kernels have no other type."""
    attrs = attrs or {}
    name = f"com.microsoft::{op}"
    half = [a.astype(np.float16) if a is not None and a.dtype == np.float32 else a for a in arrays]
    wide = [a.astype(np.float32) if a is not None and a.dtype == np.float16 else a for a in half]
    expected = onnxruntime_says(name, wide, attrs, outputs, 22)
    operator = operators()[name]
    typed = attributes(operator, model(name, half, attrs, outputs, 22).graph.node[0])
    for found in (operator.evaluate(typed, tuple(half), outputs), lowered(operator, typed, half, outputs)):
        for result, wanted in zip(found, expected, strict=True):
            same(result, wanted.astype(result.dtype), terms=terms, depth=8)


def refuses(op: str, arrays: Arrays, attrs: dict[str, Any], message: str, *, known: bool = True) -> None:
    """Check that the shape rule of com.microsoft's OP refuses a node."""
    operator = operators()[f"com.microsoft::{op}"]
    types = tuple(None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays)
    constants = tuple(arrays) if known else (None,) * len(arrays)
    with pytest.raises(ModelError, match=message):
        operator.infer(Inference(operator.attributes(**attrs), types, constants, 1))


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Return float32 numbers of moderate size."""
    return rng.standard_normal(shape).astype(np.float32)
