"""What the cases of all matrix products share: dense operands, work before and after the sums, and what is expected of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import F16, F32, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.numerics import derived
from tests.emulated.building import Steps
from tests.emulated.harness import Case, output
from tests.emulated.reference import evaluate

Operation = tuple[tuple[np.ndarray, ...], Expression, Expression, Expression]
"""Buffers, and the functors A, B and Epilogue that read and write them."""

Functors = tuple[Expression, Expression, Expression]
"""A, B and Epilogue."""


def shaped(extents: tuple[int, int, int, int], *, sums: int = 1, a_k_last: bool = True, b_k_last: bool = True) -> dict[str, Any]:
    """Return the fields that problems of all families share, for (batch, m, results, k) extents of which each result has some sums."""
    batch, m, n, k = extents
    return {"batch": batch, "m": m, "n": sums * n, "k": k, "a_k_last": a_k_last, "b_k_last": b_k_last}


def values(elements: int, dtype: DType, seed: int) -> np.ndarray:
    """Return random elements of a storage type: small integers, or floats of mean zero."""
    random = np.random.default_rng(seed)
    if dtype.is_float:
        return random.standard_normal(elements).astype(dtype.numpy)
    return random.integers(-9, 10, elements).astype(dtype.numpy)


def read(slot: int, storage: DType, index_map: IndexMap) -> Expression:
    """Return a functor that only loads."""
    steps = Steps()
    return steps.expression(steps.load(slot, storage, index_map))


def dense(
    extents: tuple[int, int, int, int],
    *,
    storage: DType,
    result: DType,
    a_k_last: bool,
    b_k_last: bool,
    accumulate: DType = F32,
) -> Operation:
    """Return a product of (batch, m, n, k) extents: slots 0 and 1 are A and B, 2 the result."""
    batch, m, n, k = extents
    buffers = (values(batch * m * k, storage, 1), values(batch * n * k, storage, 2), output(batch * m * n, result.numpy))
    types = {"storage": storage, "result": result, "accumulate": accumulate}
    return (buffers, *dense_functors(extents, a_k_last=a_k_last, b_k_last=b_k_last, **types))


def dense_functors(
    extents: tuple[int, int, int, int], *, storage: DType, result: DType, a_k_last: bool, b_k_last: bool, accumulate: DType
) -> Functors:
    """Return the functors of a dense product of (batch, m, n, k) extents."""
    batch, m, n, k = extents
    steps = Steps()
    steps.store(steps.parameter(0, accumulate), 2, result, identity((batch, m, n)))
    return (
        read(0, storage, identity((batch, m, k) if a_k_last else (batch, k, m))),
        read(1, storage, identity((batch, n, k) if b_k_last else (batch, k, n))),
        steps.expression(),
    )


def opened(case: Case, names: str, divisor: int = 1) -> Case:
    """Return the case of a dense product whose extents NAMES, of `m`, `n` and `k`, are arguments: `n` and `k` multiples of DIVISOR."""
    functors = dict(case.request.functors)
    storage, result = functors["A"].steps[0].storage, functors["Epilogue"].stores[0].storage

    def of(problem: Any) -> Functors:
        return dense_functors(
            (problem.batch, problem.m, problem.n, problem.k),
            storage=storage,
            result=result,
            a_k_last=problem.a_k_last,
            b_k_last=problem.b_k_last,
            accumulate=problem.accumulate,
        )

    return with_open_extents(case, names, of, divisor)


def with_open_extents(case: Case, names: str, functors: Callable[[Any], Functors], divisor: int = 1) -> Case:
    """Return the case of a product whose extents NAMES, of `m`, `n` and `k`, are arguments; FUNCTORS are those of the open problem."""
    problem = case.request.problem
    sizes: dict[str, int] = {name: getattr(problem, name) for name in names}
    divisors = {"m": 1, "n": divisor, "k": divisor}
    problem = replace(problem, **{name: symbol(name, divisors[name], 100 * size, divisors[name]) for name, size in sizes.items()})
    a, b, epilogue = functors(problem)
    request = replace(case.request, problem=problem, functors=(("A", a), ("B", b), ("Epilogue", epilogue)))
    scalars = request.scalar_values
    request = replace(request, scalars=len(scalars))
    return replace(case, name=f"{case.name}-open-{names}", request=request, scalars=bind(scalars, sizes), sizes=sizes)


def worked_on(extents: tuple[int, int, int, int], storage: DType, *, b_k_last: bool) -> Operation:
    """Return a product with work before and after it: A is max(A·scale[m], 0), the result max(A B + bias[n] + residual, 0) in one slot,
    transposed, and half of it before the maximum in another. Scales are powers of two, so that nothing is rounded before the product."""
    batch, m, n, k = extents
    prologue, epilogue = Steps(), Steps()
    scaled = prologue.apply(
        "mul", prologue.load(0, storage, identity((batch, m, k))), prologue.load(2, F32, from_strides((batch, m, k), (0, 1, 0)))
    )
    a = prologue.expression(prologue.apply("relu", scaled))
    where = identity((batch, m, n))
    transposed = from_strides((batch, m, n), (m * n, 1, m))
    biased = epilogue.apply("add", epilogue.parameter(0), epilogue.load(3, storage, from_strides((batch, m, n), (0, 0, 1))))
    summed = epilogue.apply("add", biased, epilogue.load(4, storage, where))
    epilogue.store(epilogue.apply("relu", summed), 5, storage, transposed)
    epilogue.store(epilogue.apply("mul", summed, epilogue.constant(0.5)), 6, F32, where)
    return (
        (
            values(batch * m * k, storage, 1),
            values(batch * k * n, storage, 2),
            (2.0 ** np.random.default_rng(3).integers(-2, 3, m)).astype(np.float32),
            values(n, storage, 4),
            values(batch * m * n, storage, 5),
            output(batch * m * n, storage.numpy),
            output(batch * m * n, F32.numpy),
        ),
        a,
        read(1, storage, identity((batch, n, k) if b_k_last else (batch, k, n))),
        epilogue.expression(),
    )


def gated(extents: tuple[int, int, int, int], storage: DType, *, has_residual: bool) -> Operation:
    """Return a gated unit of (batch, m, results, k) extents, x·sigmoid(x)·(y + bias[result]) of two products x and y of A, whose columns
    lie in turn in B; with or without a residual, which is added. Sums are about one, so that the gate is neither open nor shut."""
    batch, m, n, k = extents
    shape = (batch, m, n)
    random = np.random.default_rng(7)
    steps = Steps()
    gate = steps.apply("mul", steps.parameter(0), steps.apply("sigmoid", steps.parameter(0)))
    biased = steps.apply("add", steps.parameter(1), steps.load(2, storage, from_strides(shape, (0, 0, 1))))
    result = steps.apply("mul", gate, biased)
    buffers = [
        random.standard_normal(batch * m * k).astype(storage.numpy),
        (random.standard_normal(batch * 2 * n * k) / np.sqrt(k)).astype(storage.numpy),
        values(n, storage, 3),
        output(batch * m * n, storage.numpy),
    ]
    if has_residual:
        result = steps.apply("add", result, steps.load(4, storage, identity(shape)))
        buffers.append(values(batch * m * n, storage, 4))
    steps.store(result, 3, storage, identity(shape))
    a, b = read(0, storage, identity((batch, m, k))), read(1, storage, identity((batch, 2 * n, k)))
    return tuple(buffers), a, b, steps.expression()


def summarised(extents: tuple[int, int, int, int], result: DType, *, shift: float = 0.0) -> Operation:
    """Return a product of f16 of (batch, m, n, k) extents to which a bias, a residual and SHIFT are added, and which is handed back as
    it is stored, for statistics of its rows: those go to slots 5 and 6."""
    batch, m, n, k = extents
    shape = (batch, m, n)
    random = np.random.default_rng(5)
    steps = Steps()
    biased = steps.apply("add", steps.parameter(0), steps.load(2, F16, from_strides(shape, (0, 0, 1))))
    summed = steps.apply("add", steps.apply("add", biased, steps.load(3, F16, identity(shape))), steps.constant(shift))
    rounded = summed if result == F32 else steps.apply("cast_f32_f16", summed)
    steps.store(rounded, 4, result, identity(shape))
    buffers = [
        random.standard_normal(batch * m * k).astype(np.float16),
        (random.standard_normal(batch * n * k) / np.sqrt(k)).astype(np.float16),
        values(n, F16, 3),
        values(batch * m * n, F16, 4),
        output(batch * m * n, result.numpy),
        *(output(batch * m * n // PART_COLUMNS, np.dtype(np.float32)) for _ in range(2)),
    ]
    a, b = read(0, F16, identity((batch, m, k))), read(1, F16, identity((batch, n, k)))
    return tuple(buffers), a, b, steps.expression(rounded)


PART_COLUMNS = 32
"""Of the statistics of `summarised`, and of the moments of `normalised`."""


def normalised(extents: tuple[int, int, int, int], *, shift: float = 0.0, is_paired: bool = False) -> Operation:
    """Return a product of normalised rows of f16 of (batch, m, results, k) extents, as the epilogue of one of rows as they are: (A·B -
    mean·sums[result]) / √(variance + 10⁻⁵) + bias[result], where B's columns add up to sums. Rows have standard deviation 1 and mean SHIFT.
    Pairs multiply the first of two such products, B's columns in turn, by the second one's sigmoid."""
    batch, m, n, k = extents
    shape, sums = (batch, m, n), 2 if is_paired else 1
    random = np.random.default_rng(6)
    a = (random.standard_normal((batch, m, k)) + shift).astype(np.float16)
    b = random.standard_normal((batch, sums * n, k)) / np.sqrt(k)
    b = (b - b.mean(-1, keepdims=True)).astype(np.float16)
    parts = a.astype(np.float64).reshape(batch, m, -1, PART_COLUMNS)
    moments = np.stack([parts.mean(-1), parts.var(-1) * PART_COLUMNS], -1)
    totals = b.astype(np.float64).sum(-1).reshape(batch, n, sums)
    steps = Steps()
    mean, variance = steps.parameter(sums), steps.parameter(sums + 1)
    scale = steps.apply("reciprocal", steps.apply("sqrt", steps.apply("add", variance, steps.constant(1e-5))))
    found = []
    for number in range(sums):
        total = steps.load(4 + number, F32, from_strides(shape, (n, 0, 1)))
        moved = steps.apply("sub", steps.parameter(number), steps.apply("mul", mean, total))
        found.append(steps.apply("add", steps.apply("mul", moved, scale), steps.load(4 + sums, F32, from_strides(shape, (0, 0, 1)))))
    steps.store(steps.apply("mul", found[0], steps.apply("sigmoid", found[1])) if is_paired else found[0], 2, F16, identity(shape))
    buffers = (
        a.reshape(-1),
        b.reshape(-1),
        output(batch * m * n, np.float16),
        moments.reshape(-1).astype(np.float32),
        *(totals[..., number].reshape(-1).astype(np.float32) for number in range(sums)),
        values(n, F32, 7),
    )
    left, right = read(0, F16, identity((batch, m, k))), read(1, F16, identity((batch, sums * n, k)))
    return buffers, left, right, steps.expression()


def normalises(extents: tuple[int, int, int, int], *, is_paired: bool = False) -> dict[str, Any]:
    """Return the fields of the problem of such a product."""
    fields = shaped(extents, sums=2 if is_paired else 1) | {"is_paired": is_paired}
    return fields | {"multiply": F16, "b_is_constant": True, "moment_parts": extents[3] // PART_COLUMNS, "moment_columns": PART_COLUMNS}


def summarises(extents: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return what problems of `summarised` have in common."""
    return {**shaped(extents), "multiply": F16, "b_is_constant": True, "part_columns": PART_COLUMNS}


def _statistics(shape: tuple[int, int, int]) -> Expression:
    """Return the functor that stores means and squares of parts of SHAPE."""
    steps = Steps()
    for number in range(2):
        steps.store(steps.parameter(number), 5 + number, F32, identity(shape))
    return steps.expression()


def _mean(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows.astype(np.float64).mean(-1))


def _variance(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows.astype(np.float64).var(-1))


def product_case(
    name: str,
    family: str,
    problem: Any,
    schedule: Any,
    operation: Operation,
    multiplied: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Case:
    """Return the case whose expected buffers follow the functors.

    Args:
        name: of the case.
        family: of the kernel.
        problem: of the family.
        schedule: of the family.
        operation: what is computed.
        multiplied: gives the sums of a batch of [m, k] and [k, n] matrices, in a type that is wider than the kernel's.
    """
    buffers, a, b, epilogue = operation
    (left,), (right,) = evaluate(a, buffers), evaluate(b, buffers)
    left = left if problem.a_k_last else left.swapaxes(1, 2)
    right = right.swapaxes(1, 2) if problem.b_k_last else right
    expected: dict[int, np.ndarray] = {}
    sums = multiplied(left, right)
    parameters = [sums[..., 0::2], sums[..., 1::2]] if problem.is_paired else [sums]
    parts = getattr(problem, "moment_parts", 0)
    if parts:
        parameters += [np.broadcast_to(of_row(left)[..., None], parameters[0].shape) for of_row in (_mean, _variance)]
    results = evaluate(epilogue, buffers, parameters, expected)
    stores = {store.slot: store.storage for store in epilogue.stores}
    tolerances = {
        slot: derived(array, terms=max(1, problem.k), accumulate=problem.accumulate, storage=stores[slot])
        for slot, array in expected.items()
    }
    functors: tuple[tuple[str, Expression], ...] = (("A", a), ("B", b), ("Epilogue", epilogue))
    if parts:
        functors = (*functors, ("Moments", read(3, F32, identity((problem.batch, problem.m, 2 * parts)))))
    for whole in results:
        stored = whole.reshape(*whole.shape[:2], -1, problem.part_columns)
        mean = stored.mean(-1)
        squares = ((stored - mean[..., None]) ** 2).sum(-1)
        functor = _statistics(mean.shape)
        evaluate(functor, buffers, [mean, squares], expected)
        functors = (*functors, ("Statistics", functor))
        storage = stores[4]
        sizes = (float(np.abs(whole).max()), float(squares.max()))
        tolerances |= {
            5 + number: derived(expected[5 + number], terms=problem.part_columns, storage=storage, scale=size)
            for number, size in enumerate(sizes)
        }
    request = KernelRequest(family=family, problem=problem, schedule=schedule, functors=functors, pointers=len(buffers))
    return Case(name=name, request=request, buffers=buffers, expected=expected, tolerances=tolerances)
