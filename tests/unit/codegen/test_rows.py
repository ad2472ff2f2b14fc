from __future__ import annotations

from dataclasses import dataclass

import pytest

from nautilus_cli.codegen.numbers import NumberRow, Scalars
from nautilus_cli.codegen.rows import functor_row, problem_row, program_row, schedule_row
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Apply, Expression, Reduction, RowProgram, Size
from nautilus_cli.ir.index_map import identity, padded
from nautilus_cli.ir.types import F16, F32, I32, DType
from tests.emulated.building import Steps
from tests.emulated.cases.programs import NOTHING, layer_norm, passed_on

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


def test_a_program_holds_what_more_than_one_phase_reads() -> None:
    row = program_row("Program", layer_norm(4, 8, F16))
    assert [load.slot for load in row.loads] == [0, 1]
    assert [(w.field, w.value) for w in row.column.held] == [("load0", "load0"), ("load1", "load1")]
    assert [load.slot for load in row.column.fresh] == [2, 3]
    assert [reduction.name for reduction in row.reductions] == ["Reduction0", "Reduction1"]


def test_a_single_phase_holds_nothing() -> None:
    steps = Steps()
    term = steps.expression(steps.load(0, F32, identity((4, 8))))
    row = program_row("Program", RowProgram((Reduction("sum", term, passed_on(), F32),), NOTHING, NOTHING))
    assert row.loads == ()
    assert [load.slot for load in row.reductions[0].term.fresh] == [0]


def test_a_reduction_of_another_type_is_refused() -> None:
    steps = Steps()
    term = steps.expression(steps.load(0, F32, identity((4, 8))))
    with pytest.raises(InternalError, match="not i32"):
        program_row("Program", RowProgram((Reduction("sum", term, passed_on(), I32),), NOTHING, NOTHING))


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


def test_a_size_in_an_expression_is_an_argument() -> None:
    n = symbol("n", 1, 64)
    row = functor_row("Finish", Expression((Size(n, F32),), (0,)), Scalars((n,)))
    assert [(size.type, size.name, size.number.form, size.number.numbers) for size in row.sizes] == [("float", "v0", "Scalar", (0, 1))]


def test_fields_that_have_no_text_are_refused() -> None:
    @dataclass(frozen=True)
    class Bad:
        value: object

    for value in (1.5, (), ("a",), None):
        with pytest.raises(InternalError, match="value of .*Bad"):
            problem_row(Bad(value), 32)
    with pytest.raises(InternalError, match="value of .*Bad"):
        schedule_row(Bad("max"))
