"""Row programs, and all functors of a kernel, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nautilus_cli.codegen.access_rows import AccessRow, IndexedRow, load_row
from nautilus_cli.codegen.functor_rows import FunctorRow, WriteRow, functor_row, unique_loads
from nautilus_cli.codegen.names import identifier, tag_name, type_name
from nautilus_cli.codegen.numbers import NO_SCALARS, Scalars
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.expression import Expression, Load, RowProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """A functor of a row program, with which of its loads the program holds for it and which it must read itself."""

    functor: FunctorRow
    held: tuple[WriteRow, ...]
    fresh: tuple[AccessRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionRow:
    """One reduction of a row program."""

    name: str
    combine: str
    term: PhaseRow
    finish: FunctorRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRow:
    """A row program as one struct; `loads` are those that more than one phase reads, none of which is `indexed_loads`."""

    name: str
    load_count: int
    loads: tuple[AccessRow, ...]
    indexed_loads: tuple[IndexedRow, ...]
    reductions: tuple[ReductionRow, ...]
    column: PhaseRow
    row: FunctorRow


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctorRows:
    """All functors of a kernel, in the request's order within each kind."""

    expressions: tuple[FunctorRow, ...]
    programs: tuple[ProgramRow, ...]


def functor_rows(functors: Sequence[tuple[str, Expression | RowProgram]], scalars: Scalars = NO_SCALARS) -> FunctorRows:
    """Return all functors of a request as rows."""
    return FunctorRows(
        expressions=tuple(functor_row(name, value, scalars) for name, value in functors if isinstance(value, Expression)),
        programs=tuple(program_row(name, value, scalars) for name, value in functors if isinstance(value, RowProgram)),
    )


def program_row(name: str, program: RowProgram, scalars: Scalars = NO_SCALARS) -> ProgramRow:
    """Return a row program as rows.

    Raises:
        InternalError: a reduction's `finish` gives another type than the reduction says.
    """
    columns = [*(reduction.term for reduction in program.reductions), program.column_epilogue]
    held = tuple(load for load in unique_loads(columns) if sum(load in unique_loads([expression]) for expression in columns) > 1)
    reductions = []
    for number, reduction in enumerate(program.reductions):
        finish = functor_row("Finish", reduction.finish, scalars)
        if finish.result != type_name(reduction.dtype):
            raise InternalError(f"reduction {number} gives {finish.result}, not {reduction.dtype}")
        reductions.append(
            ReductionRow(
                name=f"Reduction{number}",
                combine=tag_name(reduction.combine),
                term=_phase("Term", reduction.term, held, scalars),
                finish=finish,
            )
        )
    return ProgramRow(
        name=identifier(name),
        load_count=len(held),
        loads=tuple(load_row(number, load, scalars) for number, load in enumerate(held)),
        indexed_loads=(),
        reductions=tuple(reductions),
        column=_phase("ColumnEpilogue", program.column_epilogue, held, scalars),
        row=functor_row("RowEpilogue", program.row_epilogue, scalars),
    )


def _phase(name: str, expression: Expression, held: tuple[Load, ...], scalars: Scalars) -> PhaseRow:
    own = unique_loads([expression])
    return PhaseRow(
        functor=functor_row(name, expression, scalars),
        held=tuple(WriteRow(field=f"load{number}", value=f"load{held.index(load)}") for number, load in enumerate(own) if load in held),
        fresh=tuple(load_row(number, load, scalars) for number, load in enumerate(own) if load not in held),
    )
