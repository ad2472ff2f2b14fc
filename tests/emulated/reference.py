"""Expressions and row programs in numpy, in float64: what kernels are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nautilus_cli.ir.expression import Apply, Constant, Expression, IndexedLoad, Inside, Load, Parameter, RowProgram
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.types import DType
from nautilus_cli.ops.activations import GeluAttrs
from nautilus_cli.ops.arg_key import ArgIndexAttrs, ArgKeyAttrs
from nautilus_cli.ops.registry import operators

FUNCTIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "exp": np.exp,
    "reciprocal": np.reciprocal,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, 0)),
    "gelu": lambda x, form: _operator("Gelu", GeluAttrs("tanh" if form == 1 else "none"), x),
    "where": np.where,
    "cast_f32_f16": lambda x: x.astype(np.float32).astype(np.float16).astype(np.float64),
    "less": np.less,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "arg_key": lambda x, index, is_min, last: _operator("nautilus::ArgKey", ArgKeyAttrs(int(is_min), int(last)), x, index),
    "arg_index": lambda key, last: _operator("nautilus::ArgIndex", ArgIndexAttrs(int(last)), key),
}
"""Device functions that the cases use, by their names in core/math.cuh."""

COMBINERS: Mapping[str, Callable[..., np.ndarray]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": lambda x, axis: np.max(x, axis=axis, initial=-np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min),
    "min": lambda x, axis: np.min(x, axis=axis, initial=np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max),
    "any": np.any,
    "all": np.all,
}
"""Combiners of core/reduce.cuh along an axis."""


def _operator(name: str, attrs: object, *arrays: np.ndarray) -> np.ndarray:
    """Return what an operator of our own computes: it has no other truth."""
    return operators()[name].evaluate(attrs, arrays, 1)[0]


def wide(dtype: DType) -> np.dtype:
    """Return the numpy type in which values of a compute type are followed: float64 for floating point."""
    return np.dtype(np.float64) if dtype.is_float else dtype.numpy


def gathered(buffer: np.ndarray, index_map: IndexMap) -> np.ndarray:
    """Return the elements of a buffer at every coordinate of a map, zero where there is none."""
    offsets, valid = index_map.offsets()
    flat = buffer.reshape(-1)
    value = flat[np.where(valid, offsets, 0)] if flat.size else np.zeros(offsets.shape, flat.dtype)
    return np.where(valid, value, np.zeros((), flat.dtype))


def indexed(buffers: Sequence[np.ndarray], load: IndexedLoad) -> np.ndarray:
    """Return the elements that indices name, zero where one is out of range."""
    offsets, valid = load.map.offsets()
    index = gathered(buffers[load.index.slot], load.index.map).astype(np.int64)
    index = np.where(index < 0, index + load.extent, index)
    valid = valid & (index >= 0) & (index < load.extent)
    flat = buffers[load.slot].reshape(-1)
    return np.where(valid, flat[np.where(valid, offsets + index * load.stride, 0)], np.zeros((), flat.dtype))


def evaluate(
    expression: Expression,
    buffers: Sequence[np.ndarray],
    parameters: Sequence[np.ndarray] = (),
    written: dict[int, np.ndarray] | None = None,
) -> list[np.ndarray]:
    """Return the results of an expression over all coordinates, and put what it stores into WRITTEN, by slot."""
    values: list[np.ndarray] = []
    for step in expression.steps:
        if isinstance(step, Parameter):
            value = parameters[step.index]
        elif isinstance(step, Load):
            value = gathered(buffers[step.slot], step.map)
            value = value.astype(wide(step.dtype))
        elif isinstance(step, IndexedLoad):
            value = indexed(buffers, step).astype(wide(step.dtype))
        elif isinstance(step, Inside):
            value = step.map.offsets()[1]
        elif isinstance(step, Constant):
            value = np.asarray(float.fromhex(step.text) if step.dtype.is_float else int(step.text)).astype(wide(step.dtype))
        else:
            assert isinstance(step, Apply)
            with np.errstate(all="ignore"):
                value = np.asarray(FUNCTIONS[step.function](*(values[i] for i in step.operands))).astype(wide(step.dtype))
        values.append(value)
    for store in expression.stores:
        offsets, _ = store.map.offsets()
        assert written is not None
        target = written.setdefault(store.slot, np.empty(buffers[store.slot].size, wide(store.storage)))
        target[offsets] = np.broadcast_to(values[store.step], offsets.shape)
    return [values[i] for i in expression.results]


def run_program(program: RowProgram, columns: int, rows: int, buffers: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Return what a row program stores, by slot."""
    written: dict[int, np.ndarray] = {}
    results: list[np.ndarray] = []
    for reduction in program.reductions:
        by_element = [np.broadcast_to(result[:, None], (rows, columns)) for result in results]
        (term,) = evaluate(reduction.term, buffers, by_element)
        term = np.broadcast_to(term, (rows, columns))
        combined = np.asarray(COMBINERS[reduction.combine](term, axis=1))
        combined = combined.astype(term.dtype)  # numpy widens small integers; kernels wrap
        (finished,) = evaluate(reduction.finish, buffers, [*results, combined])
        results.append(np.broadcast_to(finished, (rows,)))
    evaluate(program.column_epilogue, buffers, [np.broadcast_to(r[:, None], (rows, columns)) for r in results], written)
    evaluate(program.row_epilogue, buffers, results, written)
    return written
