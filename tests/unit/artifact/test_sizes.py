"""Tables of operations give what their expressions give."""

from __future__ import annotations

import pytest

from nautilus_cli.artifact.sizes import Operation, Patched, SizeTable
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.functions import factor, maximum, minimum, named
from nautilus_cli.ir.indicators import equal, from_front, less, selected
from nautilus_cli.ir.substitution import substitute

N, M, W = symbol("n", 1, 64), symbol("m", 1, 512), symbol("w", 8, 512, 8)

EXPRESSIONS = [
    N,
    W,
    64 * N * M - 3,
    -N,
    N * N * W + M // 2,
    (M - 1) // 2 + 1,
    W // 8 * 3 + W,
    N * ((M + 6) // 7) * (W // 16),
    maximum(N, M, 40) * 2,
    minimum(N, 8) - M // N,
    -(-(N * M) // 128) * 256,
    factor(N * M + 1),
    named("offset", maximum(N, M)) * 3 + named("other", N // 2),
    less(N, 8) * M - equal(N, 7) * W,
    selected(from_front(N - 65, 64), [M, *[2] * 63]),
]


def evaluated(table: SizeTable, sizes: dict[str, int]) -> list[int]:
    """Evaluate as templates/host/sizes.c does."""
    values: list[int] = []
    for operation, left, right in table.rows:
        match operation:
            case Operation.CONSTANT:
                values.append(right)
            case Operation.SYMBOL:
                values.append(sizes[table.symbols[left].name])
            case Operation.ADD:
                values.append(values[left] + values[right])
            case Operation.MULTIPLY:
                values.append(values[left] * values[right])
            case Operation.DIVIDE:
                values.append(values[left] // values[right])
            case Operation.MAXIMUM:
                values.append(max(values[left], values[right]))
            case Operation.FACTOR:
                values.append(factor(values[left]))
            case Operation.IS_ZERO:
                values.append(int(values[left] == 0))
            case Operation.IS_POSITIVE:
                values.append(int(values[left] > 0))
            case _:
                raise AssertionError(operation)
    return values


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_rows_give_the_expression(expression: int) -> None:
    table = SizeTable()
    row = table.add(expression)
    for n, m, w in ((1, 1, 8), (64, 512, 512), (7, 31, 136), (2, 500, 24)):
        sizes = {"n": n, "m": m, "w": w}
        assert evaluated(table, sizes)[row] == substitute(expression, sizes)


def test_equal_parts_are_worked_out_once() -> None:
    table = SizeTable()
    first = [table.add(e) for e in EXPRESSIONS]
    count = len(table.rows)
    assert [table.add(e) for e in EXPRESSIONS] == first
    assert len(table.rows) == count == len(set(table.rows))


def test_a_dimension_of_an_input_is_a_bare_symbol() -> None:
    table = SizeTable()
    assert [table.rows[table.add(e)][0] for e in (N, W)] == [Operation.SYMBOL, Operation.SYMBOL]


def test_numbers_need_no_patch() -> None:
    table = SizeTable()
    table.patch(Patched.WORD, 3, 0, 17)
    assert table.patches == [] and table.rows == []
    table.patch(Patched.GRID, 2, 1, N)
    assert table.patches == [(Patched.GRID, 2, 1, 0)]


def test_one_name_has_one_range() -> None:
    table = SizeTable()
    table.add(N)
    with pytest.raises(InternalError, match="dimension n has two ranges"):
        table.add(symbol("n", 1, 65))
