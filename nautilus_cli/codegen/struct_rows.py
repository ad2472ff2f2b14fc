"""Problems and schedules as rows: the members of a struct."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from nautilus_cli.codegen.names import boolean, index_name, member_constant, member_type, tag_name, type_name
from nautilus_cli.codegen.numbers import NO_SCALARS, NumberRow, Scalars
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import Symbolic
from nautilus_cli.ir.types import DType


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
            constants.append(MemberRow(type="bool", name=member_constant(field.name), value=boolean(value)))
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
            constants.append(MemberRow(type="bool", name=member_constant(field.name), value=boolean(value)))
        elif isinstance(value, int):
            constants.append(MemberRow(type="int", name=member_constant(field.name), value=str(value)))
        else:
            raise InternalError(f"field {field.name} of {type(schedule).__qualname__} cannot be rendered: {value!r}")
    return StructRow(dims=(), types=(), constants=tuple(constants), arrays=())
