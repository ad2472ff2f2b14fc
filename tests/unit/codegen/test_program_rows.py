from __future__ import annotations

import pytest

from nautilus_cli.codegen.program_rows import program_row
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.expression import Reduction, RowProgram
from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import F16, F32, I32
from tests.emulated.building import Steps
from tests.emulated.cases.programs import NOTHING, layer_norm, passed_on

WHERE = identity((8,))


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
