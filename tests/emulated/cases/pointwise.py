"""Cases of the pointwise family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from nautilus_cli.ir.expression import Expression
from nautilus_cli.ir.index_map import IndexMap, broadcast, compose, from_strides, identity, padded, permuted, regroup, sliced
from nautilus_cli.ir.stages import row_major
from nautilus_cli.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.pointwise import Problem, Schedule
from nautilus_cli.numerics import EXACT, Tolerance, derived
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output
from tests.emulated.reference import evaluate

SCHEDULES = (
    Schedule(threads=32, vector=1, unroll=1),
    Schedule(threads=32, vector=4, unroll=2),
    Schedule(threads=64, vector=8, unroll=1),
    Schedule(threads=96, vector=2, unroll=3),
)


def flat(index_map: IndexMap) -> IndexMap:
    """Return a map of several coordinates as one of their row-major linear index, as pointwise kernels iterate."""
    return regroup(index_map, [list(range(len(index_map.extents)))])


def request(expression: Expression, elements: int, schedule: Schedule, pointers: int, index_bits: int = 32) -> KernelRequest:
    """Return the request of a body."""
    return KernelRequest(
        family="pointwise",
        problem=Problem(elements=elements),
        schedule=schedule,
        functors=(("Body", expression),),
        pointers=pointers,
        index_bits=index_bits,
    )


def case(
    name: str,
    expression: Expression,
    elements: int,
    schedule: Schedule,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[DType],
    *,
    depth: int = 1,
    is_exact: bool = False,
    index_bits: int = 32,
) -> Case:
    """Return the case whose expected results the expression itself gives in float64; outputs have one element an iteration."""
    buffers = (*inputs, *(output(elements, dtype.numpy) for dtype in outputs))
    written: dict[int, np.ndarray] = {}
    evaluate(expression, buffers, (), written)
    assert sorted(written) == list(range(len(inputs), len(buffers)))
    tolerances = {slot: _tolerance(value, outputs[slot - len(inputs)], depth, is_exact) for slot, value in written.items()}
    return Case(
        name=name,
        request=request(expression, elements, schedule, len(buffers), index_bits),
        buffers=buffers,
        expected=written,
        tolerances=tolerances,
    )


def _tolerance(expected: np.ndarray, storage: DType, depth: int, is_exact: bool) -> Tolerance:
    return EXACT if is_exact else derived(expected, depth=depth, storage=storage)


def _chain(elements: int, storage: DType) -> Expression:
    """relu(a × b + c) × 0.5, every operand read in order."""
    where = identity((elements,))
    steps = Steps()
    a, b, c = (steps.load(slot, storage, where) for slot in range(3))
    total = steps.apply("add", steps.apply("mul", a, b), c)
    steps.store(steps.apply("mul", steps.apply("relu", total), steps.constant(0.5)), 3, storage, where)
    return steps.expression()


def chains() -> list[Case]:
    """Edge sizes around the tile of each schedule, in three storage types."""
    cases = []
    for number, schedule in enumerate(SCHEDULES):
        tile = schedule.threads * schedule.vector * schedule.unroll
        storage = (F32, F16, BF16, F32)[number]
        for elements in (1, 7, tile - 1, tile, tile + 1, 1009):
            name = f"chain-{storage}-{elements}-{number}"
            inputs = [random(f"{name}{i}", (elements,), storage) for i in range(3)]
            cases.append(case(name, _chain(elements, storage), elements, schedule, inputs, [storage], depth=3))
    return cases


def broadcasts() -> list[Case]:
    """Operands that repeat: along the last axis, along others, wholly; with widths that do and do not divide the vector."""
    cases = []
    shapes = {
        "channels-first": ((2, 6, 8, 4), (6, 1, 1)),
        "channels-last": ((2, 8, 4, 12), (12,)),
        "odd-channels": ((3, 5, 7), (7,)),
        "odd-plane": ((2, 3, 5), (3, 1)),
        "scalar": ((4, 24), ()),
        "column": ((24, 16), (24, 1)),
        "middle": ((4, 3, 8), (4, 1, 8)),
    }
    for number, (name, (shape, other)) in enumerate(shapes.items()):
        schedule = SCHEDULES[1 + number % 3]
        elements = prod(shape)
        storage = F16 if number % 2 else F32
        steps = Steps()
        a = steps.load(0, storage, identity((elements,)))
        b = steps.load(1, F32, flat(broadcast(other, shape)))
        steps.store(steps.apply("add", a, b), 2, storage, identity((elements,)))
        inputs = [random(name + "a", shape, storage), random(name + "b", other or (1,), F32)]
        built = case(f"broadcast-{name}", steps.expression(), elements, schedule, inputs, [storage])
        truth = inputs[0].astype(np.float64) + inputs[1].astype(np.float64).reshape(other)
        np.testing.assert_array_equal(built.expected[2].reshape(shape), truth)
        cases.append(built)
    return cases


def _moved(name: str, data: np.ndarray, index_map: IndexMap, truth: np.ndarray, schedule: Schedule, storage: DType = F32) -> Case:
    """Return the case that copies through a map; what it must give comes from numpy, not from the map."""
    elements = truth.size
    steps = Steps()
    steps.store(steps.load(0, storage, flat(index_map)), 1, storage, identity((elements,)))
    return Case(
        name=name,
        request=request(steps.expression(), elements, schedule, 2),
        buffers=(data, output(elements, storage.numpy)),
        expected={1: np.ascontiguousarray(truth)},
    )


def movements() -> list[Case]:
    """One movement each, and chains of them, some of which stay several stages."""
    cases = []

    def add(name: str, data: np.ndarray, index_map: IndexMap, truth: np.ndarray, storage: DType = F32) -> None:
        for number in (0, 2):
            cases.append(_moved(f"{name}-{number}", data, index_map, truth, SCHEDULES[number], storage))

    x = random("movement", (3, 4, 5, 8), F32)
    half = x.astype(np.float16)
    add("transpose", x, permuted(x.shape, (0, 2, 3, 1)), x.transpose(0, 2, 3, 1))
    add("transpose-outer", half, permuted(x.shape, (1, 0, 2, 3)), half.transpose(1, 0, 2, 3), F16)
    add("reverse", x, sliced(x.shape, (0, 3, 0, 7), (1, -1, 1, -1), x.shape), x[:, ::-1, :, ::-1])
    add("slice", x, sliced(x.shape, (1, 0, 1, 2), (1, 2, 1, 1), (2, 2, 4, 4)), x[1:, ::2, 1:, 2:6])
    add("pad-outer", x, padded(x.shape, (1, 0, 2, 0), (5, 4, 9, 8)), np.pad(x, ((1, 1), (0, 0), (2, 2), (0, 0))))
    add("pad-inner", half, padded(x.shape, (0, 0, 0, 3), (3, 4, 5, 13)), np.pad(half, ((0, 0), (0, 0), (0, 0), (3, 2))), F16)
    add("crop", x, padded(x.shape, (0, -1, 0, -2), (3, 2, 5, 4)), x[:, 1:3, :, 2:6])
    # Reshapes whose borders cross those of the movement before them: two stages, guarded or not.
    crossed = compose(identity((4, 9)), permuted((6, 6), (1, 0)))
    y = random("crossed", (6, 6), F32)
    add("two-stages", y, crossed, y.T.reshape(4, 9))
    padded_reshape = compose(compose(permuted((9, 4), (1, 0)), identity((6, 6))), padded((5, 5), (0, 1), (6, 6)))
    padded_stages = compose(padded((4, 9), (1, 2), (6, 11)), crossed)
    add("guard-before-stages", y, padded_stages, np.pad(y.T.reshape(4, 9), ((1, 1), (2, 0))))
    assert len(crossed.stages) == len(padded_reshape.stages) == len(padded_stages.stages) == 2
    w = random("padded reshape", (5, 5), F32)
    add("guard-behind-stages", w, padded_reshape, np.pad(w, ((0, 1), (1, 0))).reshape(9, 4).T)
    return cases


def _random_movement(generator: np.random.Generator, shape: tuple[int, ...], truth: np.ndarray) -> tuple[IndexMap, np.ndarray]:
    """Return one movement of a tensor, as a map from the result to it and as numpy does it."""
    rank = len(shape)
    kind = generator.choice(["permute", "slice", "pad", "reshape", "broadcast"])
    if kind == "permute":
        perm = tuple(int(i) for i in generator.permutation(rank))
        return permuted(shape, perm), truth.transpose(perm)
    if kind == "slice":
        steps = [int(generator.choice([-2, -1, 1, 2])) for _ in shape]
        starts = [int(generator.integers(0, max(1, n // 2))) if k > 0 else n - 1 for n, k in zip(shape, steps, strict=True)]
        extents = [len(range(b, n if k > 0 else -1, k)) for n, b, k in zip(shape, starts, steps, strict=True)]
        cut = tuple(slice(b, None, k) for b, k in zip(starts, steps, strict=True))
        return sliced(shape, starts, steps, extents), truth[cut]
    if kind == "pad":
        before = [int(generator.integers(0, 3)) for _ in shape]
        after = [int(generator.integers(0, 3)) for _ in shape]
        extents = [n + b + a for n, b, a in zip(shape, before, after, strict=True)]
        return padded(shape, before, extents), np.pad(truth, list(zip(before, after, strict=True)))
    if kind == "broadcast":
        target = (int(generator.integers(1, 4)), *shape)
        return broadcast(shape, target), np.broadcast_to(truth, target)
    elements = prod(shape)
    divisors = [d for d in range(1, elements + 1) if elements % d == 0]
    first = int(generator.choice(divisors))
    second = int(generator.choice([d for d in divisors if (elements // first) % d == 0]))
    target = (first, second, elements // first // second)
    return identity(target), truth.reshape(target)


def fuzzed(count: int) -> list[Case]:
    """Random chains of movements against numpy."""
    cases = []
    for seed in range(count):
        generator = np.random.default_rng(seed)
        shape = tuple(int(n) for n in generator.integers(1, 7, 3))
        data = np.arange(1, prod(shape) + 1, dtype=np.float32)
        index_map, truth = identity(shape), data.reshape(shape)
        for _ in range(int(generator.integers(2, 5))):
            step, moved = _random_movement(generator, truth.shape, truth)
            if not 0 < moved.size <= 4000:
                continue
            index_map, truth = compose(step, index_map), moved
        cases.append(_moved(f"fuzz-{seed}", data, index_map, truth, SCHEDULES[seed % len(SCHEDULES)]))
    return cases


def joins() -> list[Case]:
    """Concatenation and padding with a value: guards, and a choice between loads."""
    cases = []
    for number, (axis, schedule) in enumerate(((0, SCHEDULES[2]), (1, SCHEDULES[1]), (2, SCHEDULES[3]))):
        shapes = [(2, 3, 8), (2, 3, 8), (2, 3, 8)]
        shapes[1] = tuple(n + 1 if i == axis else n for i, n in enumerate(shapes[1]))
        parts = [random(f"join{axis}{i}", shape, F32) for i, shape in enumerate(shapes)]
        truth = np.concatenate(parts, axis=axis)
        steps, start, result = Steps(), 0, -1
        maps = []
        for part in parts:
            before = [start if i == axis else 0 for i in range(3)]
            maps.append(flat(padded(part.shape, before, truth.shape)))
            start += part.shape[axis]
        loads = [steps.load(slot, F32, index_map) for slot, index_map in enumerate(maps)]
        result = loads[-1]
        for load, index_map in reversed(list(zip(loads[:-1], maps[:-1], strict=True))):
            result = steps.apply("where", steps.inside(index_map), load, result)
        steps.store(result, 3, F32, identity((truth.size,)))
        built = case(f"concat-{axis}", steps.expression(), truth.size, schedule, parts, [F32], is_exact=True)
        np.testing.assert_array_equal(built.expected[3].reshape(truth.shape), truth)
        cases.append(built)

        x = random(f"fill{number}", (4, 6), F16)
        pads = ((1, 2), (2, 2)) if number else ((1, 2), (0, 0))
        filled = np.pad(x, pads, constant_values=7)
        index_map = flat(padded(x.shape, [p[0] for p in pads], filled.shape))
        steps = Steps()
        inside = steps.inside(index_map)
        steps.store(steps.apply("where", inside, steps.load(0, F16, index_map), steps.constant(7.0)), 1, F16, identity((filled.size,)))
        built = case(f"fill-{number}", steps.expression(), filled.size, schedule, [x], [F16], is_exact=True)
        np.testing.assert_array_equal(built.expected[1].reshape(filled.shape), filled)
        cases.append(built)
    return cases


def types() -> list[Case]:
    """Integers, booleans, doubles, and conversions of storage on the way."""
    elements, where, schedule = 203, identity((203,)), SCHEDULES[2]
    cases = []
    for dtype in (I8, I32, I64, U8):
        steps = Steps()
        a, b = steps.load(0, dtype, where), steps.load(1, dtype, where)
        steps.store(steps.apply("add", steps.apply("mul", a, b, dtype=dtype), steps.constant(3, dtype), dtype=dtype), 2, dtype, where)
        inputs = [random(f"{dtype}{i}", (elements,), dtype) for i in range(2)]
        with np.errstate(over="ignore"):
            cases.append(case(f"wrap-{dtype}", steps.expression(), elements, schedule, inputs, [dtype]))
    steps = Steps()
    a, b, flag = steps.load(0, F32, where), steps.load(1, F32, where), steps.load(2, BOOL, where)
    both = steps.apply("logical_and", steps.apply("less", a, b, dtype=BOOL), steps.apply("logical_not", flag, dtype=BOOL), dtype=BOOL)
    steps.store(both, 3, BOOL, where)
    steps.store(steps.apply("where", both, a, b), 4, F16, where)
    inputs = [random("left", (elements,), F32), random("right", (elements,), F32), random("flag", (elements,), BOOL)]
    cases.append(case("booleans", steps.expression(), elements, SCHEDULES[1], inputs, [BOOL, F16]))
    steps = Steps()
    a = steps.load(0, F64, where)
    steps.store(steps.apply("div", steps.constant(1.0, F64), a, dtype=F64), 1, F64, where)
    cases.append(case("doubles", steps.expression(), elements, schedule, [random("f64", (elements,), F64)], [F64]))
    steps = Steps()
    special = [steps.constant(v) for v in (float("inf"), float("-inf"), float("nan"))]
    a = steps.load(0, F32, where)
    for slot, step in enumerate(special, start=1):
        steps.store(steps.apply("max", a, step), slot, F32, where)
    cases.append(case("not-finite", steps.expression(), elements, schedule, [random("finite", (elements,), F32)], [F32] * 3))
    return cases


def several_stores() -> list[Case]:
    """One result written in two orders and types; one written over another's shape."""
    shape = (4, 6, 8)
    elements, schedule = prod(shape), SCHEDULES[1]
    perm = (1, 2, 0)
    permuted_shape = [shape[p] for p in perm]
    strides = [0, 0, 0]
    for place, p in enumerate(perm):
        strides[p] = row_major(permuted_shape)[place]
    steps = Steps()
    x = steps.load(0, F32, identity((elements,)))
    y = steps.apply("mul", x, x)
    steps.store(y, 1, F32, identity((elements,)))
    steps.store(y, 2, F16, flat(from_strides(shape, strides)))
    steps.store(x, 3, F16, identity((elements,)))
    data = random("stores", shape, F32)
    built = case("several-stores", steps.expression(), elements, schedule, [data], [F32, F16, F16])
    truth = np.square(data.astype(np.float64)).transpose(perm)
    np.testing.assert_array_equal(built.expected[2].reshape(permuted_shape), truth)
    return [built]


def wide_indices() -> list[Case]:
    """64-bit indices, with a guarded map of two coordinates of digits."""
    x = random("wide", (5, 6, 4), F32)
    truth = np.pad(x, ((1, 1), (0, 0), (0, 0))).transpose(1, 0, 2)
    index_map = compose(permuted((7, 6, 4), (1, 0, 2)), padded(x.shape, (1, 0, 0), (7, 6, 4)))
    built = _moved("index-64", x, index_map, truth, SCHEDULES[2])
    expression = built.request.functors[0][1]
    assert isinstance(expression, Expression)
    return [
        Case(
            name=built.name,
            request=request(expression, truth.size, SCHEDULES[2], 2, index_bits=64),
            buffers=built.buffers,
            expected=built.expected,
        )
    ]


PARTS: tuple[Callable[[], list[Case]], ...] = (
    chains, broadcasts, movements, joins, types, several_stores, wide_indices, lambda: fuzzed(24)
)  # fmt: skip


def cases() -> list[Case]:
    """Return every case of the family."""
    return [built for part in PARTS for built in part()]
