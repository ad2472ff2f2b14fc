"""Expressions, problems and schedules as rows of names and numbers: all that a stub may loop over.

A template has no conditions, so a row of one kind always has the same fields, and what varies is which lists a row stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from nautilus_cli.codegen.constants import bits
from nautilus_cli.codegen.names import identifier, index_name, member_constant, member_type, tag_name, type_name
from nautilus_cli.codegen.numbers import NumberRow, Scalars
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Symbolic
from nautilus_cli.ir.expression import AnyLoad, Apply, Constant, Expression, IndexedLoad, Inside, Load, Parameter, RowProgram, Size, Step
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.stages import Axis
from nautilus_cli.ir.types import BOOL, DType

NO_SCALARS = Scalars()


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRow:
    """One digit of a map: `form` is Axis or GuardedAxis, `numbers` its template arguments."""

    form: str
    numbers: tuple[NumberRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage of a map: the digits of each coordinate."""

    offset: NumberRow
    coordinates: tuple[tuple[AxisRow, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRow:
    """A load, store or guard: a type `name`, a variable `field`, and the map; guards have neither slot nor storage."""

    name: str
    field: str
    slot: int
    storage: str
    map: tuple[StageRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRow:
    """A load at places that another decides: a type `name`, a variable `field`, both loads, and what a step of the index is."""

    name: str
    field: str
    data: AccessRow
    index: AccessRow
    extent: NumberRow
    stride: NumberRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """A step whose value comes from elsewhere: from a parameter by number, or from the field of a load or guard."""

    type: str
    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRow:
    """A constant: the function that makes it from its bits, and the number as a reader knows it."""

    type: str
    name: str
    function: str
    bits: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRow:
    """A number among the kernel's arguments."""

    type: str
    name: str
    number: NumberRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRow:
    """A step that calls a device function."""

    type: str
    name: str
    function: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRow:
    """A lane that goes to a result or store: the vector's field and the value's name."""

    field: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctorRow:
    """An expression as one struct."""

    name: str
    is_plain_load: str
    result: str
    load_count: int
    store_count: int
    loads: tuple[AccessRow, ...]
    indexed_loads: tuple[IndexedRow, ...]
    guards: tuple[AccessRow, ...]
    stores: tuple[AccessRow, ...]
    parameters: tuple[ValueRow, ...]
    reads: tuple[ValueRow, ...]
    insides: tuple[ValueRow, ...]
    constants: tuple[ConstantRow, ...]
    sizes: tuple[SizeRow, ...]
    applies: tuple[ApplyRow, ...]
    writes: tuple[WriteRow, ...]
    results: tuple[str, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A member of a struct: a type or a constant and what it is."""

    type: str
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DimRow:
    """A dimension that is a member of a struct."""

    name: str
    number: NumberRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayRow:
    """A constant array member."""

    name: str
    values: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRow:
    """A list of dimensions of which some are arguments, as types; the array of the same field holds divisors of those."""

    name: str
    numbers: tuple[NumberRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructRow:
    """A problem or schedule: dimensions, type members, constants and arrays."""

    dims: tuple[DimRow, ...]
    types: tuple[MemberRow, ...]
    constants: tuple[MemberRow, ...]
    arrays: tuple[ArrayRow, ...]
    packs: tuple[PackRow, ...] = ()


def map_rows(index_map: IndexMap, scalars: Scalars = NO_SCALARS) -> tuple[StageRow, ...]:
    """Return the stages of a map."""
    return tuple(
        StageRow(
            offset=scalars.row(stage.offset),
            coordinates=tuple(
                tuple(_axis(axis, scalars, number > 0) for number, axis in enumerate(digits)) for digits in stage.coordinates
            ),
        )
        for stage in index_map.stages
    )


def _axis(axis: Axis, scalars: Scalars, divides: bool) -> AxisRow:
    """Return a digit; what is left of a coordinate is divided by the extent of all but its most significant one."""
    extent = scalars.divisor(axis.extent) if divides else scalars.row(axis.extent)
    rest = (axis.stride, axis.begin, axis.stop) if axis.is_guarded else (axis.stride,)
    return AxisRow(form="GuardedAxis" if axis.is_guarded else "Axis", numbers=(extent, *map(scalars.row, rest)))


def functor_row(name: str, expression: Expression, scalars: Scalars = NO_SCALARS) -> FunctorRow:
    """Return an expression as rows; equal loads are one load.

    Raises:
        InternalError: a step uses a later one, or the expression has more than one result.
    """
    steps = expression.steps
    for number, step in enumerate(steps):
        if isinstance(step, Apply) and any(not 0 <= operand < number for operand in step.operands):
            raise InternalError(f"step {number} ({step.function}) of {name} uses a step that is not before it")
    if len(expression.results) > 1:
        raise InternalError(f"{name} has {len(expression.results)} results", hint="A functor has one or none.")
    loads = unique_loads([expression])
    indexed = tuple(dict.fromkeys(step for step in steps if isinstance(step, IndexedLoad)))
    reads: tuple[AnyLoad, ...] = (*loads, *indexed)
    guards = tuple(dict.fromkeys(step for step in steps if isinstance(step, Inside)))
    result = [type_name(_dtype(steps[index])) for index in expression.results] or ["nautilus::Nothing"]
    return FunctorRow(
        name=identifier(name),
        is_plain_load=_boolean(expression.is_plain_load()),
        result=result[0],
        load_count=len(reads),
        store_count=len(expression.stores),
        loads=tuple(_load(number, load, scalars) for number, load in enumerate(loads)),
        indexed_loads=tuple(
            IndexedRow(
                name=f"Load{number}",
                field=f"load{number}",
                data=_load(number, load.data, scalars),
                index=_load(number, load.index, scalars),
                extent=scalars.row(load.extent),
                stride=scalars.row(load.stride),
            )
            for number, load in enumerate(indexed, len(loads))
        ),
        guards=tuple(
            AccessRow(name=f"Inside{number}", field=f"inside{number}", slot=-1, storage="bool", map=map_rows(guard.map, scalars))
            for number, guard in enumerate(guards)
        ),
        stores=tuple(
            AccessRow(
                name=f"Store{number}",
                field=f"store{number}",
                slot=store.slot,
                storage=type_name(store.storage),
                map=map_rows(store.map, scalars),
            )
            for number, store in enumerate(expression.stores)
        ),
        parameters=tuple(
            ValueRow(type=type_name(step.dtype), name=f"v{number}", source=str(step.index))
            for number, step in enumerate(steps)
            if isinstance(step, Parameter)
        ),
        reads=tuple(
            ValueRow(type=type_name(step.dtype), name=f"v{number}", source=f"load{reads.index(step)}")
            for number, step in enumerate(steps)
            if isinstance(step, AnyLoad)
        ),
        insides=tuple(
            ValueRow(type=type_name(BOOL), name=f"v{number}", source=f"inside{guards.index(step)}")
            for number, step in enumerate(steps)
            if isinstance(step, Inside)
        ),
        constants=tuple(
            ConstantRow(
                type=type_name(step.dtype),
                name=f"v{number}",
                function=f"constant_{identifier(step.dtype.name)}",
                bits=bits(step),
                text=step.text,
            )
            for number, step in enumerate(steps)
            if isinstance(step, Constant)
        ),
        sizes=tuple(
            SizeRow(type=type_name(step.dtype), name=f"v{number}", number=scalars.row(step.value))
            for number, step in enumerate(steps)
            if isinstance(step, Size)
        ),
        applies=tuple(
            ApplyRow(
                type=type_name(step.dtype),
                name=f"v{number}",
                function=identifier(step.function),
                operands=tuple(f"v{operand}" for operand in step.operands),
            )
            for number, step in enumerate(steps)
            if isinstance(step, Apply)
        ),
        writes=tuple(WriteRow(field=f"store{number}", value=f"v{store.step}") for number, store in enumerate(expression.stores)),
        results=tuple(f"v{index}" for index in expression.results),
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
        loads=tuple(_load(number, load, scalars) for number, load in enumerate(held)),
        indexed_loads=(),
        reductions=tuple(reductions),
        column=_phase("ColumnEpilogue", program.column_epilogue, held, scalars),
        row=functor_row("RowEpilogue", program.row_epilogue, scalars),
    )


def functor_rows(functors: Sequence[tuple[str, Expression | RowProgram]], scalars: Scalars = NO_SCALARS) -> FunctorRows:
    """Return all functors of a request as rows."""
    return FunctorRows(
        expressions=tuple(functor_row(name, value, scalars) for name, value in functors if isinstance(value, Expression)),
        programs=tuple(program_row(name, value, scalars) for name, value in functors if isinstance(value, RowProgram)),
    )


def problem_row(problem: Any, index_bits: int, scalars: Scalars = NO_SCALARS) -> StructRow:
    """Return a problem dataclass as rows: an int is a dimension, a DType or str a type, a bool a constant, a tuple an array.

    Raises:
        InternalError: a field is something else.
    """
    packs = []
    dims, types, constants, arrays = [], [MemberRow(type="", name="Index", value=index_name(index_bits))], [], []
    for field in fields(problem):
        value = getattr(problem, field.name)
        if isinstance(value, bool):
            constants.append(MemberRow(type="bool", name=member_constant(field.name), value=_boolean(value)))
        elif isinstance(value, int | Symbolic):
            dims.append(DimRow(name=member_type(field.name), number=scalars.row(value)))
        elif isinstance(value, DType):
            types.append(MemberRow(type="", name=member_type(field.name), value=type_name(value)))
        elif isinstance(value, str):
            types.append(MemberRow(type="", name=member_type(field.name), value=tag_name(value)))
        elif isinstance(value, tuple) and value and all(isinstance(item, int | Symbolic) for item in value):
            numbers = tuple(map(scalars.row, value))
            # Of a number that is an argument, the array holds what divides it: that is all that the compiler may know.
            values = tuple(number.numbers[-1] for number in numbers)
            arrays.append(ArrayRow(name=member_constant(field.name), values=values, count=len(value)))
            if any(isinstance(item, Symbolic) for item in value):
                packs.append(PackRow(name=member_type(field.name), numbers=numbers))
        else:
            raise InternalError(f"field {field.name} of {type(problem).__qualname__} cannot be rendered: {value!r}")
    return StructRow(dims=tuple(dims), types=tuple(types), constants=tuple(constants), arrays=tuple(arrays), packs=tuple(packs))


def schedule_row(schedule: Any) -> StructRow:
    """Return a schedule dataclass as rows: ints and bools are constants.

    Raises:
        InternalError: a field is something else.
    """
    constants = []
    for field in fields(schedule):
        value = getattr(schedule, field.name)
        if isinstance(value, bool):
            constants.append(MemberRow(type="bool", name=member_constant(field.name), value=_boolean(value)))
        elif isinstance(value, int):
            constants.append(MemberRow(type="int", name=member_constant(field.name), value=str(value)))
        else:
            raise InternalError(f"field {field.name} of {type(schedule).__qualname__} cannot be rendered: {value!r}")
    return StructRow(dims=(), types=(), constants=tuple(constants), arrays=())


def unique_loads(expressions: Sequence[Expression]) -> tuple[Load, ...]:
    """Return the distinct loads of some expressions in order of first use."""
    return tuple(dict.fromkeys(step for expression in expressions for step in expression.steps if isinstance(step, Load)))


def _phase(name: str, expression: Expression, held: tuple[Load, ...], scalars: Scalars) -> PhaseRow:
    own = unique_loads([expression])
    return PhaseRow(
        functor=functor_row(name, expression, scalars),
        held=tuple(WriteRow(field=f"load{number}", value=f"load{held.index(load)}") for number, load in enumerate(own) if load in held),
        fresh=tuple(_load(number, load, scalars) for number, load in enumerate(own) if load not in held),
    )


def _load(number: int, load: Load, scalars: Scalars) -> AccessRow:
    return AccessRow(
        name=f"Load{number}", field=f"load{number}", slot=load.slot, storage=type_name(load.storage), map=map_rows(load.map, scalars)
    )


def _dtype(step: Step) -> DType:
    return BOOL if isinstance(step, Inside) else step.dtype


def _boolean(value: bool) -> str:
    return "true" if value else "false"
