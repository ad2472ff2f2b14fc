"""Kernels and launches: a schedule for every group, each distinct kernel once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import lower, same
from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.base import Choose, Geometry, KernelRequest, TensorMap, scalar_values
from nautilus_cli.kernels.registry import tensor_maps
from nautilus_cli.lowering.building.lowered import index_bits
from nautilus_cli.lowering.building.lowered_group import LoweredGroup, at_group, note_of, origin_of
from nautilus_cli.lowering.building.slots import PackedWeight
from nautilus_cli.lowering.choosing.intervals import Intervals
from nautilus_cli.lowering.choosing.serving import Serving
from nautilus_cli.lowering.plan import Alternative, Kernel, Launch, Word
from nautilus_cli.targets.base import Target


def kernels_and_launches(
    lowered: Sequence[LoweredGroup],
    words: Sequence[tuple[Word, ...]],
    target: Target,
    choose: Choose,
    points: Mapping[str, tuple[int, ...]],
) -> tuple[tuple[Kernel, ...], tuple[Launch, ...]]:
    """Give every group its kernels; return the distinct ones, and the launches.

    Args:
        lowered: the groups.
        words: argument block of each.
        target: what they run on.
        choose: picks the schedule of a problem.
        points: sizes that schedules are chosen for.
    """
    kernels, intervals = _Kernels(), Intervals(target, choose, points)
    launches = []
    for one, block in zip(lowered, words, strict=True):
        *special, rest = at_group(one.group, partial(intervals.servings, one.lowered))
        number = kernels.add(one, rest)
        known = dict(zip(one.lowered.scalars, block[len(one.referents) :], strict=True))
        alternatives = []
        for serving in special:
            other = kernels.add(one, serving)
            sizes = serving.scalars(kernels.request(other), tuple(known))
            moved = (*block[: len(one.referents)], *(known.get(size) or Word(kind="integer", value=size) for size in sizes))
            alternatives.append(Alternative(condition=serving.condition, kernel=other, words=moved))
        if not same(kernels.request(number).scalar_values, one.lowered.scalars):
            raise InternalError("kernels of one group take different sizes", where=", ".join(origin_of(one.group)) or None)
        launches.append(
            Launch(kernel=number, words=block, origin=origin_of(one.group), note=note_of(one.group), alternatives=tuple(alternatives))
        )
    return kernels.finished(), tuple(launches)


class _Kernels:
    """The distinct kernels of a plan."""

    def __init__(self) -> None:
        self._numbers: dict[KernelRequest, int] = {}
        self._geometries: list[Geometry] = []
        self._maps: list[tuple[TensorMap, ...]] = []
        self._recipes: list[set[str]] = []

    def add(self, one: LoweredGroup, serving: Serving) -> int:
        """Return the number of the kernel that serves a group."""
        kind = serving.chosen
        request = KernelRequest(
            family=kind.family.name,
            problem=kind.problem,
            schedule=kind.schedule,
            functors=serving.functors,
            pointers=len(one.referents),
            scalars=len(scalar_values(kind.problem, serving.functors)),
            index_bits=index_bits(one.lowered.slots, (v.type.elements for v in one.group.outputs)),
        )
        if request not in self._numbers:
            self._numbers[request] = len(self._numbers)
            self._geometries.append(_launchable(serving.plain(kind.family.geometry(kind.problem, kind.schedule))))
            self._maps.append(serving.plain(tensor_maps(request)))
            self._recipes.append(set())
        number = self._numbers[request]
        self._recipes[number].update(r.recipe for r in one.referents if isinstance(r, PackedWeight))
        return number

    def request(self, number: int) -> KernelRequest:
        """Return what a kernel is."""
        return list(self._numbers)[number]

    def finished(self) -> tuple[Kernel, ...]:
        """Return the distinct kernels by their numbers."""
        return tuple(
            Kernel(request=request, geometry=geometry, recipes=tuple(sorted(used)), maps=maps)
            for request, geometry, used, maps in zip(self._numbers, self._geometries, self._recipes, self._maps, strict=True)
        )


def _launchable(geometry: Geometry) -> Geometry:
    """Return a geometry of a block at least: one without work does nothing, while a launch of none is an error.

    Where only the device will know how many blocks have work, there are as many as can have.
    """
    x, y, z = (blocks if lower(blocks) > 0 else maximum(1, blocks) for blocks in map(ceiling, geometry.grid))
    return geometry if same((x, y, z), geometry.grid) else replace(geometry, grid=(x, y, z))
