"""Expressions as rows of names and numbers: all that a stub may loop over.

A template has no conditions, so a row of one kind always has the same fields, and what varies is which lists a row stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nautilus_cli.codegen.access_rows import AccessRow, IndexedRow, guard_row, indexed_row, load_row, store_row
from nautilus_cli.codegen.constants import bits
from nautilus_cli.codegen.names import boolean, identifier, type_name
from nautilus_cli.codegen.numbers import NO_SCALARS, NumberRow, Scalars
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.expression import AnyLoad, Apply, Constant, Expression, IndexedLoad, Inside, Load, Parameter, Size, Step
from nautilus_cli.ir.types import BOOL, DType

_WITH_FORM_BESIDE = ("gelu",)  # functions that core/math.cuh has another form of, for beside tensor cores


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


def functor_row(name: str, expression: Expression, scalars: Scalars = NO_SCALARS) -> FunctorRow:
    """Return an expression as rows; equal loads are one load.

    Raises:
        InternalError: a step uses a later one, or the expression has more than one result.
    """
    _check(name, expression)
    loads = unique_loads([expression])
    indexed = tuple(dict.fromkeys(step for step in expression.steps if isinstance(step, IndexedLoad)))
    reads: tuple[AnyLoad, ...] = (*loads, *indexed)
    guards = tuple(dict.fromkeys(step for step in expression.steps if isinstance(step, Inside)))
    steps = [(f"v{number}", step) for number, step in enumerate(expression.steps)]
    result = [type_name(_dtype(expression.steps[index])) for index in expression.results] or ["nautilus::Nothing"]
    return FunctorRow(
        name=identifier(name),
        is_plain_load=boolean(expression.is_plain_load()),
        result=result[0],
        load_count=len(reads),
        store_count=len(expression.stores),
        loads=tuple(load_row(number, load, scalars) for number, load in enumerate(loads)),
        indexed_loads=tuple(indexed_row(number, load, scalars) for number, load in enumerate(indexed, len(loads))),
        guards=tuple(guard_row(number, guard, scalars) for number, guard in enumerate(guards)),
        stores=tuple(store_row(number, store, scalars) for number, store in enumerate(expression.stores)),
        parameters=tuple(_value(v, step, str(step.index)) for v, step in steps if isinstance(step, Parameter)),
        reads=tuple(_value(v, step, f"load{reads.index(step)}") for v, step in steps if isinstance(step, AnyLoad)),
        insides=tuple(_value(v, step, f"inside{guards.index(step)}") for v, step in steps if isinstance(step, Inside)),
        constants=tuple(_constant(v, step) for v, step in steps if isinstance(step, Constant)),
        sizes=tuple(
            SizeRow(type=type_name(step.dtype), name=v, number=scalars.row(step.value)) for v, step in steps if isinstance(step, Size)
        ),
        applies=tuple(_apply(v, step) for v, step in steps if isinstance(step, Apply)),
        writes=tuple(WriteRow(field=f"store{number}", value=f"v{store.step}") for number, store in enumerate(expression.stores)),
        results=tuple(f"v{index}" for index in expression.results),
    )


def unique_loads(expressions: Sequence[Expression]) -> tuple[Load, ...]:
    """Return the distinct loads of some expressions in order of first use."""
    return tuple(dict.fromkeys(step for expression in expressions for step in expression.steps if isinstance(step, Load)))


def _check(name: str, expression: Expression) -> None:
    """Hold an expression against what a functor can be."""
    for number, step in enumerate(expression.steps):
        if isinstance(step, Apply) and any(not 0 <= operand < number for operand in step.operands):
            raise InternalError(f"step {number} ({step.function}) of {name} uses a step that is not before it")
    if len(expression.results) > 1:
        raise InternalError(f"{name} has {len(expression.results)} results", hint="A functor has one or none.")


def _value(name: str, step: Step, source: str) -> ValueRow:
    return ValueRow(type=type_name(_dtype(step)), name=name, source=source)


def _constant(name: str, step: Constant) -> ConstantRow:
    function = f"constant_{identifier(step.dtype.name)}"
    return ConstantRow(type=type_name(step.dtype), name=name, function=function, bits=bits(step), text=step.text)


def _apply(name: str, step: Apply) -> ApplyRow:
    operands = tuple(f"v{operand}" for operand in step.operands)
    form = "<kIsBeside<At>>" if step.function in _WITH_FORM_BESIDE else ""
    return ApplyRow(type=type_name(step.dtype), name=name, function=identifier(step.function) + form, operands=operands)


def _dtype(step: Step) -> DType:
    return BOOL if isinstance(step, Inside) else step.dtype
