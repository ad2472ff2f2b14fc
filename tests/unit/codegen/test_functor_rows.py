from __future__ import annotations

import pytest

from nautilus_cli.codegen.functor_rows import functor_row
from nautilus_cli.codegen.numbers import Scalars
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Apply, Expression, Size
from nautilus_cli.ir.index_map import identity, padded
from nautilus_cli.ir.types import F16, F32
from tests.emulated.building import Steps

WHERE = identity((8,))


def test_equal_loads_are_one() -> None:
    steps = Steps()
    total = steps.apply("add", steps.load(0, F16, WHERE), steps.load(0, F16, WHERE))
    row = functor_row("Body", steps.expression(total))
    assert [load.name for load in row.loads] == ["Load0"]
    assert [read.source for read in row.reads] == ["load0", "load0"]
    assert row.load_count == 1


def test_loads_of_another_map_or_slot_or_type_are_others() -> None:
    steps = Steps()
    for slot, dtype, index_map in ((0, F16, WHERE), (1, F16, WHERE), (0, F32, WHERE), (0, F16, identity((2, 4)))):
        steps.load(slot, dtype, index_map)
    assert functor_row("Body", steps.expression()).load_count == 4


def test_plain_load() -> None:
    steps = Steps()
    plain = functor_row("A", steps.expression(steps.load(2, F16, WHERE)))
    assert (plain.is_plain_load, plain.result, plain.loads[0].storage) == ("true", "float", "nautilus::half")
    steps = Steps()
    guarded = functor_row("A", steps.expression(steps.load(2, F16, padded((4,), (2,), (8,)))))
    assert guarded.is_plain_load == "false"
    assert guarded.loads[0].map[0].coordinates[0][0].form == "GuardedAxis"
    assert [n.numbers for n in guarded.loads[0].map[0].coordinates[0][0].numbers] == [(8,), (1,), (2,), (6,)]


def test_nothing_to_hand_back() -> None:
    steps = Steps()
    steps.store(steps.parameter(0), 1, F16, WHERE)
    row = functor_row("Epilogue", steps.expression())
    assert (row.result, row.results, row.store_count) == ("nautilus::Nothing", (), 1)


def test_broken_expressions_are_refused() -> None:
    later = Expression((Apply("neg", (1,), F32), Apply("neg", (0,), F32)), (1,))
    with pytest.raises(InternalError, match="not before it"):
        functor_row("Body", later)
    steps = Steps()
    with pytest.raises(InternalError, match="2 results"):
        functor_row("Body", steps.expression(steps.parameter(0), steps.parameter(1)))
    with pytest.raises(InternalError, match="no identifier"):
        functor_row("Body", Expression((Apply("neg(); evil", (), F32),)))


def test_a_size_in_an_expression_is_an_argument() -> None:
    n = symbol("n", 1, 64)
    row = functor_row("Finish", Expression((Size(n, F32),), (0,)), Scalars((n,)))
    assert [(size.type, size.name, size.number.form, size.number.numbers) for size in row.sizes] == [("float", "v0", "Scalar", (0, 1))]
