"""Sizes that a kernel of one thread works out are what the host would work out of the same numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import count, symbol
from nautilus_cli.ir.expression import Apply, Constant, Load, Size
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.control.size_arithmetic import SizeArithmetic

N, M, BATCH = count("n", 20), count("m", 9), symbol("batch", 1, 8)
HOLDERS = {name: Value(TensorType(I64, ())) for name in ("n", "m")}

FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: int(a / b),  # towards zero, as a kernel divides
    "mod": lambda a, b, _: a % b,
    "max": max,
    "equal": lambda a, b: a == b,
    "greater": lambda a, b: a > b,
    "where": lambda flag, a, b: a if flag else b,
}


def run(lowered: Lowered, numbers: Mapping[str, int]) -> list[int]:
    """Return what the kernel stores, by place."""
    (body,) = dict(lowered.functors).values()
    values: list[int] = []
    for step in body.steps:
        match step:
            case Constant():
                values.append(int(step.text))
            case Size():
                values.append(bind(step.value, numbers))
            case Load():
                (name,) = (name for name, value in HOLDERS.items() if lowered.slots.referents[step.slot] is value)
                values.append(numbers[name])
            case Apply():
                values.append(FUNCTIONS[step.function](*(values[operand] for operand in step.operands)))
    stored = {int(store.map.offsets()[0].item()): values[store.step] for store in body.stores}
    return [stored[place] for place in range(len(stored))]


SIZES = {
    "a multiple and some": 3 * N + 1,
    "a product": N * M,
    "a square": N * N - M + 4,
    "of an open size": N * BATCH + BATCH,
    "half of them": N // 2,
    "rounded down below zero": (N - M) // 3,
    "the greater": maximum(N, M),
    "the greater of what is left": maximum(N - 5, 0) * 2,
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_size(size: int) -> None:
    lowered = SizeArithmetic(HOLDERS).lowered([size], Value(TensorType(I64, (1,))))
    for n, m, batch in itertools.product((0, 1, 7, 20), (0, 3, 9), (1, 8)):
        numbers = {"n": n, "m": m, "batch": batch}
        assert run(lowered, numbers) == [bind(size, numbers)]


def test_sizes_share_what_they_have_in_common() -> None:
    sizes = [N * M, N * M + 1, 2 * (N * M)]
    table = Value(TensorType(I64, (len(sizes),)))
    lowered = SizeArithmetic(HOLDERS).lowered(sizes, table)
    assert run(lowered, {"n": 6, "m": 7}) == [42, 43, 84]
    (body,) = dict(lowered.functors).values()
    loads = [step for step in body.steps if isinstance(step, Load)]
    products = [step for step in body.steps if isinstance(step, Apply) and step.operands == (0, 1)]
    assert len(loads) == 2 and len(products) == 1
    assert len(lowered.slots.referents) == 3 and any(one is table for one in lowered.slots.referents)
