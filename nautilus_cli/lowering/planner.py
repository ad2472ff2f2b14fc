"""From a fused graph to a plan: a kernel for every group, a schedule for every kernel, a place for every tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from nautilus_cli.errors import ModelError, NautilusError
from nautilus_cli.ir.graph import FusedGraph, Group
from nautilus_cli.kernels.base import Choose
from nautilus_cli.lowering.building.lowered_group import LoweredGroup, at_group
from nautilus_cli.lowering.building.rebase import rebased
from nautilus_cli.lowering.choosing.choice import chosen
from nautilus_cli.lowering.choosing.launching import kernels_and_launches
from nautilus_cli.lowering.choosing.ranges import NO_POINTS, RangedChoice
from nautilus_cli.lowering.control.counts import CountTable
from nautilus_cli.lowering.control.walk import Walk
from nautilus_cli.lowering.groups.registry import lower_group
from nautilus_cli.lowering.memory.placement import Places, buffers_of, host_places
from nautilus_cli.lowering.memory.ports import ports
from nautilus_cli.lowering.memory.weight_pool import WeightPool
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.targets.base import Target


def plan(fused: FusedGraph, target: Target, choose: Choose, *, fp32_mode: str, points: Mapping[str, tuple[int, ...]] = NO_POINTS) -> Plan:
    """Lower every group in order.

    Args:
        fused: the fused graph, of which every dimension is a number or has a range.
        target: what the kernels will run on.
        choose: picks the schedule of a problem.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
        points: sizes of open dimensions, by name, that schedules are chosen for.
    """
    return plan_each(fused, ((target, choose),), fp32_mode=fp32_mode, points=points)[0]


def plan_each(
    fused: FusedGraph,
    targets: Iterable[tuple[Target, Choose]],
    *,
    fp32_mode: str,
    points: Mapping[str, tuple[int, ...]] = NO_POINTS,
) -> tuple[Plan, ...]:
    """Lower every group in order for several targets, which differ in schedules only: weights are packed once and lie at the same offsets.

    Args:
        fused: the fused graph, of which every dimension is a number or has a range.
        targets: what the kernels will run on, and what picks the schedule of a problem there.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
        points: sizes of open dimensions, by name, that schedules are chosen for.
    """
    weights, walk = WeightPool(), Walk()
    lowered = _lowered_groups(fused, walk, weights, fp32_mode)
    for value in walk.spans:
        weights.add(value)
    entries, weight_bytes = weights.layout()
    table = CountTable(
        [count for graph in walk.graphs for count in graph.counts],
        [one.group.outputs for one in lowered],
        [one.lowered.scalars for one in lowered],
        [dim for _, value in fused.graph.outputs for dim in value.type.static],
    )
    lowered = _with_sizes(lowered, table)
    walk.insert([(step.behind, step.is_late) for step in table.steps])
    for_host = host_places(fused, lowered, walk, table)
    buffers, arena_bytes = buffers_of(fused, lowered, walk, table, for_host)
    places = Places(fused, buffers, weights, walk, table, for_host)
    steps = walk.steps(places.word)
    words = tuple((*map(places.word, one.referents, one.begins), *map(places.size_word, one.lowered.scalars)) for one in lowered)
    inputs, outputs = ports(fused.graph)
    outputs = tuple(replace(port, counted=table.dims(port.shape)) for port in outputs)
    planned = partial(
        Plan,
        inputs=inputs,
        outputs=outputs,
        buffers=tuple(buffers.values()),
        arena_bytes=arena_bytes,
        weights=entries,
        weight_bytes=weight_bytes,
        checks=fused.graph.requirements,
        steps=steps,
        slots=walk.slots,
        limits=table.limits(fused.graph.limits),
    )
    plans = []
    for target, choose in targets:
        kernels, launches = kernels_and_launches(lowered, words, target, choose, points)
        plans.append(planned(target=target.name, kernels=kernels, launches=launches))
    return tuple(plans)


def refused(fused: FusedGraph, target: Target, choose: Choose, *, fp32_mode: str) -> Iterator[tuple[Group, NautilusError]]:
    """Yield each group for which there is no kernel on a target, and why; weights are not packed, so that this is quick.

    Args:
        fused: the fused graph, of which every dimension is a number or has a range.
        target: what the kernels would run on.
        choose: picks the schedule of a problem.
        fp32_mode: how products of f32 are multiplied, as `Lowering` has it.
    """
    for group in Walk().groups(fused):
        try:
            found, _ = rebased(lower_group(group, fp32_mode))
            at_group(group, partial(chosen, found, target, RangedChoice(choose)))
        except ModelError as error:
            yield group, error


def _lowered_groups(fused: FusedGraph, walk: Walk, weights: WeightPool, fp32_mode: str) -> list[LoweredGroup]:
    """Return the kernels of a graph's groups, and of those of the graphs that its nodes hold, with the weights that they read added."""
    lowered: list[LoweredGroup] = []
    for group in walk.groups(fused):
        found, begins = rebased(lower_group(group, fp32_mode))
        lowered.append(LoweredGroup(group, found, tuple(weights.add(r) for r in found.slots.referents), begins))
    return lowered


def _with_sizes(lowered: Sequence[LoweredGroup], table: CountTable) -> list[LoweredGroup]:
    """Return the kernels with those between them that work out sizes."""
    behind: dict[int, list[LoweredGroup]] = {}
    for step in table.steps:
        referents = tuple(step.lowered.slots.referents)
        behind.setdefault(step.behind, []).append(LoweredGroup(step.group, step.lowered, referents, (0,) * len(referents)))
    return [one for number, kernel in enumerate(lowered) for one in (kernel, *behind.get(number, ()))]
