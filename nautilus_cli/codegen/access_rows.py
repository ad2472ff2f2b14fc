"""Index maps and the accesses that they place, as rows."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.codegen.names import type_name
from nautilus_cli.codegen.numbers import NO_SCALARS, NumberRow, Scalars
from nautilus_cli.ir.expression import IndexedLoad, Inside, Load, Store
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.stages import Axis


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


def load_row(number: int, load: Load, scalars: Scalars) -> AccessRow:
    """Return a load by its number among those of a functor."""
    return AccessRow(
        name=f"Load{number}", field=f"load{number}", slot=load.slot, storage=type_name(load.storage), map=map_rows(load.map, scalars)
    )


def indexed_row(number: int, load: IndexedLoad, scalars: Scalars) -> IndexedRow:
    """Return a load at places that another decides; those follow the loads in number."""
    return IndexedRow(
        name=f"Load{number}",
        field=f"load{number}",
        data=load_row(number, load.data, scalars),
        index=load_row(number, load.index, scalars),
        extent=scalars.row(load.extent),
        stride=scalars.row(load.stride),
    )


def guard_row(number: int, guard: Inside, scalars: Scalars) -> AccessRow:
    """Return a guard by its number."""
    return AccessRow(name=f"Inside{number}", field=f"inside{number}", slot=-1, storage="bool", map=map_rows(guard.map, scalars))


def store_row(number: int, store: Store, scalars: Scalars) -> AccessRow:
    """Return a store by its number."""
    storage = type_name(store.storage)
    return AccessRow(name=f"Store{number}", field=f"store{number}", slot=store.slot, storage=storage, map=map_rows(store.map, scalars))


def _axis(axis: Axis, scalars: Scalars, divides: bool) -> AxisRow:
    """Return a digit; what is left of a coordinate is divided by the extent of all but its most significant one."""
    extent = scalars.divisor(axis.extent) if divides else scalars.row(axis.extent)
    rest = (axis.stride, axis.begin, axis.stop) if axis.is_guarded else (axis.stride,)
    return AxisRow(form="GuardedAxis" if axis.is_guarded else "Axis", numbers=(extent, *map(scalars.row, rest)))
