from __future__ import annotations

from dataclasses import dataclass

import pytest

from nautilus_cli.codegen.numbers import NumberRow, Scalars
from nautilus_cli.codegen.struct_rows import problem_row, schedule_row
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import F16, DType


@dataclass(frozen=True, kw_only=True)
class Problem:
    in_channels: int
    is_padded: bool
    storage: DType
    combine: str
    strides: tuple[int, ...]


def test_problem_and_schedule_members() -> None:
    row = problem_row(Problem(in_channels=3, is_padded=True, storage=F16, combine="max", strides=(4, -1)), 64)
    assert [(m.name, m.number.form, m.number.numbers) for m in row.dims] == [("InChannels", "Static", (3,))]
    assert [(m.name, m.value) for m in row.types] == [("Index", "long long"), ("Storage", "nautilus::half"), ("Combine", "nautilus::Max")]
    assert [(m.type, m.name, m.value) for m in row.constants] == [("bool", "kIsPadded", "true")]
    assert [(a.name, a.values, a.count) for a in row.arrays] == [("kStrides", (4, -1), 2)]


def test_sizes_that_are_not_known_are_arguments() -> None:
    n, m = symbol("n", 1, 64), symbol("m", 1, 2**31)
    row = problem_row(Problem(in_channels=n * 12, is_padded=True, storage=F16, combine="max", strides=(4,)), 32, Scalars((m, n * 12)))
    assert [(d.number.form, d.number.numbers) for d in row.dims] == [("Scalar", (1, 4))]
    assert Scalars((m,)).row(m) == NumberRow(form="LongScalar", numbers=(0, 1))
    with pytest.raises(InternalError, match="n is no argument"):
        Scalars((m,)).row(n)


def test_fields_that_have_no_text_are_refused() -> None:
    @dataclass(frozen=True)
    class Bad:
        value: object

    for value in (1.5, (), ("a",), None):
        with pytest.raises(InternalError, match="value of .*Bad"):
            problem_row(Bad(value), 32)
    with pytest.raises(InternalError, match="value of .*Bad"):
        schedule_row(Bad("max"))
