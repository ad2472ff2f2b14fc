"""Cases of our own at the edges of the types: NaN, infinities, zeros, limits of integers, nothing at all, steps and axes from behind.

What must come out is what onnx's reference evaluator gives, where the specification decides; docs/differences.md lists where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from onnx import defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.conformance.cases import Case, DataSet

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = tuple(np.dtype(t) for t in (np.float16, BF16, np.float32, np.float64))
INTEGERS = tuple(np.dtype(t) for t in (np.int8, np.int64, np.uint8, np.uint64))
BOOL = np.dtype(np.bool_)
MIXED = tuple(np.dtype(t) for t in (np.float32, BF16, np.int64, np.uint8))


def values(dtype: np.dtype) -> np.ndarray:
    """Return the edges of a type."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        found = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.max // 2]
        found += [-1, -2, -3, -7, limits.min, limits.min + 1] if dtype.kind == "i" else []
        return np.array(found + ([2**53 + 1] if dtype.itemsize == 8 else []), dtype)
    limits = ml_dtypes.finfo(dtype)
    common = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1, -1, 3, -3, 88.9, -104, 0.1, -1e4])
    return np.concatenate([common.astype(dtype), np.array([limits.max, limits.min, limits.tiny, limits.smallest_subnormal], dtype)])


def convertible(dtype: np.dtype, to: np.dtype) -> np.ndarray:
    """Return the edges of a type of which the specification says what they are in another: floats within the range of an integer."""
    found = values(dtype)
    if dtype.kind not in "fV" or to.kind not in "iu":
        return found
    wide, limits = found.astype(np.float64), np.iinfo(to)
    return found[(wide > max(limits.min - 1, -(2.0**62))) & (wide < min(limits.max + 1, 2.0**62))]


def case(
    name: str,
    op: str,
    operands: Sequence[np.ndarray],
    *,
    constants: Sequence[int] = (),
    opset: int | None = None,
    outputs: int = 1,
    **attributes: Any,
) -> Case:
    """Return a case of one node; CONSTANTS are the positions of operands that are initializers."""
    names = [f"x{i}" for i in range(len(operands))]
    given = {n: a for i, (n, a) in enumerate(zip(names, operands, strict=True)) if i not in constants}
    results = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attributes)],
        "edges",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()],
        [helper.make_empty_tensor_value_info(n) for n in results],
        [numpy_helper.from_array(operands[i], names[i]) for i in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset or defs.onnx_opset_version())], ir_version=10)
    with np.errstate(all="ignore"):
        wanted = tuple(np.asarray(a) for a in ReferenceEvaluator(model).run(None, given))
    data = DataSet(inputs=tuple(given.values()), outputs=wanted)
    return Case(suite="edges", name=name, operator=op, model=model, data_sets=(data,), rtol=1e-3, atol=1e-7)


def cases() -> Iterator[Case]:
    """Yield them all."""
    yield from _casts()
    yield from _binary()
    yield from _bounds()
    yield from _rows()
    yield from _empty()
    yield from _from_behind()


def _casts() -> Iterator[Case]:
    types = (*FLOATS, *INTEGERS, BOOL)
    for source in types:
        for target in types:
            to = helper.np_dtype_to_tensor_dtype(target)
            yield case(f"cast_{source}_{target}", "Cast", [convertible(source, target)], to=to)


def _binary() -> Iterator[Case]:
    for dtype in (np.dtype(np.float32), np.dtype(np.float16), *INTEGERS):
        a = values(dtype)[:, None]
        b, divisors = a.T, a[(a != 0) if dtype.kind in "iu" else (a == a)][None]
        for op in ("Max", "Min", "Equal", "Less", "GreaterOrEqual"):
            yield case(f"{op}_{dtype}", op, [a, b])
        yield case(f"div_{dtype}", "Div", [a, divisors])
        yield case(f"fmod_{dtype}", "Mod", [a, divisors], fmod=1)
        if dtype.kind in "iu":
            yield case(f"mod_{dtype}", "Mod", [a, divisors])
    for exponents in (values(np.dtype(np.float32)), np.array([0, 1, 2, 3, 7, -1, -2, -3, -7])):
        yield case(f"pow_{exponents.dtype}", "Pow", [values(np.dtype(np.float32))[:, None], exponents[None]])
    for direction in ("LEFT", "RIGHT"):
        counts = np.array([0, 1, 7, 8, 31, 32, 63, 64, 100], np.uint64)
        yield case(f"shift_{direction}", "BitShift", [values(np.dtype(np.uint64))[:, None], counts[None]], direction=direction)


def _bounds() -> Iterator[Case]:
    for dtype in MIXED:
        x, one, three = values(dtype), np.array(1, dtype), np.array(3, dtype)
        yield case(f"clip_{dtype}", "Clip", [x, one, three])
        yield case(f"clip_turned_{dtype}", "Clip", [x, three, one])
        yield case(f"clip_below_{dtype}", "Clip", [x, one])
    for dtype in (np.dtype(np.int8), np.dtype(np.uint8)):
        yield case(f"shrink_{dtype}", "Shrink", [values(dtype)], bias=1.25, lambd=1.5)
    for dtype in FLOATS:
        for op in ("Sign", "Round", "Relu", "Reciprocal", "IsInf"):
            yield case(f"{op}_{dtype}", op, [values(dtype)])


def _rows() -> Iterator[Case]:
    line = np.linspace(-3, 3, 8).astype(np.float32)
    rows = np.stack(
        [np.full(8, -np.inf, np.float32), np.full(8, np.inf, np.float32), np.zeros(8, np.float32), *(line.copy() for _ in range(3))]
    )
    rows[3, 2], rows[4, 3], rows[5, 6] = -np.inf, np.inf, np.nan
    for op in ("Softmax", "LogSoftmax", "Hardmax", "CumSum"):
        yield case(f"rows_{op}", op, [rows] if op != "CumSum" else [rows, np.array(1)], constants=(1,) if op == "CumSum" else ())
    big = np.array([2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**62 + 1, 2**62], np.int64)
    for op in ("ArgMax", "ArgMin"):
        for last in (0, 1):
            yield case(f"rows_{op}_{last}", op, [rows], axis=1, select_last_index=last)
        yield case(f"beyond_2_53_{op}", op, [big], axis=0)
    for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceSumSquare"):
        yield case(f"beyond_2_53_{op}", op, [big])
        yield case(f"rows_{op}", op, [rows, np.array([1])], constants=(1,))
    yield case("beyond_2_53_TopK", "TopK", [big, np.array([3])], constants=(1,), outputs=2)
    yield case("rows_TopK", "TopK", [rows[3:], np.array([3])], constants=(1,), outputs=2)
    yield case("beyond_2_53_MatMul", "MatMul", [big[None], np.eye(5, dtype=np.int64)])
    yield case("beyond_2_53_ScatterElements", "ScatterElements", [big, np.array([0, -1]), big[:2]], reduction="add")


def _empty() -> Iterator[Case]:
    for dtype in (np.dtype(np.float32), np.dtype(np.int64), BF16):
        nothing = np.zeros((2, 0), dtype)
        for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare"):
            yield case(f"nothing_{op}_{dtype}", op, [nothing, np.array([1])], constants=(1,))
        yield case(f"nothing_Concat_{dtype}", "Concat", [nothing, np.ones((2, 3), dtype), nothing], axis=-1)
        yield case(f"nothing_Transpose_{dtype}", "Transpose", [nothing])
        yield case(f"nothing_Add_{dtype}", "Add", [nothing, np.ones((2, 1), dtype)])
        yield case(f"nothing_Gather_{dtype}", "Gather", [np.ones((2, 3), dtype), np.zeros((0, 2), np.int64)])
        yield case(f"scalar_Add_{dtype}", "Add", [np.array(2, dtype), np.array(3, dtype)])
        yield case(f"scalar_ReduceSum_{dtype}", "ReduceSum", [np.array(2, dtype)])
        yield case(f"scalar_Unsqueeze_{dtype}", "Unsqueeze", [np.array(2, dtype), np.array([0, -1])], constants=(1,))
    for left, right in (((0, 3), (3, 4)), ((2, 0), (0, 3)), ((0, 2, 3), (0, 3, 2)), ((2, 3), (3, 0)), ((3,), (3,))):
        yield case(f"product_{left}_{right}".replace(", ", "x"), "MatMul", [np.ones(left, np.float32), np.ones(right, np.float32)])
    yield case("product_of_nothing_and_bias", "Gemm", [np.ones((2, 0), np.float32), np.ones((0, 3), np.float32), np.ones(3, np.float32)])


def _from_behind() -> Iterator[Case]:
    for dtype in MIXED:
        x = np.arange(4 * 6 * 5).reshape(4, 6, 5).astype(dtype)
        ends = ([-1], [-100], [0], [-1]), ([5], [0], [1], [-2]), ([-2], [-(2**63)], [-1], [-3]), ([3, 0], [1, 2**63 - 1], [0, 2], [-1, 2])
        for number, parts in enumerate(ends):
            yield case(f"slice_{number}_{dtype}", "Slice", [x, *(np.array(part, np.int64) for part in parts)], constants=(1, 2, 3, 4))
        yield case(f"gather_{dtype}", "Gather", [x, np.array([-1, 0, -4])], axis=-3)
        yield case(f"split_{dtype}", "Split", [x, np.array([0, 5, 1])], constants=(1,), axis=-2, outputs=3)
        yield case(f"unsqueeze_{dtype}", "Unsqueeze", [x, np.array([-1, 0, 2])], constants=(1,))
        for mode in ("reflect", "edge", "wrap"):
            yield case(f"pad_{mode}_{dtype}", "Pad", [x[0], np.array([1, 2, 3, 4])], constants=(1,), mode=mode)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            x = np.arange(12, dtype=np.int64).reshape(3, 4)
            yield case(f"cumsum_{exclusive}{reverse}", "CumSum", [x, np.array(-2)], constants=(1,), exclusive=exclusive, reverse=reverse)
