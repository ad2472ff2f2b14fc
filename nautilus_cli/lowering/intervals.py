"""Which kernel serves which sizes: problems of open dimensions have several, of which the host launches one.

What decides is one expression of a problem, its key: the rows of a product, the columns of a row program. Its range is walked in a ladder
of sizes; neighbours whose best kernels do about as well with one are joined. A product or row program whose vectors or bulk copies need
sizes that are multiples has kernels for such sizes too, which come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import isqrt, lcm, log2
from typing import Any, TypeVar

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind, expressions
from nautilus_cli.ir.dims import (
    Element,
    Quotient,
    Symbol,
    Symbolic,
    atoms,
    is_symbolic,
    lower,
    maximum,
    same,
    substitute,
    symbol,
    symbols,
    upper,
)
from nautilus_cli.kernels.base import Choose, KernelRequest, Ranked, Staying
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.choice import EMULATES, Chosen, chosen, fitted, serves
from nautilus_cli.lowering.lowered import Functors, Lowered
from nautilus_cli.lowering.ranges import NO_POINTS, OPEN_FAMILIES, RangedChoice, dimensions, is_legal, representative
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target as target_named

T = TypeVar("T")

KEYS: Mapping[str, tuple[str, ...]] = {"gemm": ("m", "n", "k", "batch"), "row": ("columns", "rows")}
"""Fields of a family's problem of which the first that is open decides."""

MULTIPLE = 8
"""Divisor of sizes for which there are kernels of their own: of 16-bit elements, what one transaction moves."""

_RATIO = 2
"""From one size of a ladder to the next, where families have estimates of their kernels."""
_COARSE_RATIO = 4
_MOST_SIZES = 16
_MOST_ALTERNATIVES = 5
_SLACK = 1.03
"""How much slower than the best a kernel may be by the estimates and still serve: they are not closer than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A kernel for some sizes.

    Attributes:
        condition: at most 0 for these sizes; 0 for all.
        chosen: family, problem and schedule.
        functors: of the kernel.
        dims: the dimensions in whose place problem and functors have others of the same names, for such sizes only.
    """

    condition: int
    chosen: Chosen
    functors: Functors
    dims: Mapping[str, int]

    def plain(self, value: T) -> T:
        """Return VALUE, a tree of dataclasses and tuples, in the dimensions as they are."""
        return bind(value, self.dims) if self.dims else value

    def scalars(self, request: KernelRequest, known: Sequence[int]) -> tuple[int, ...]:
        """Return what the integer arguments of the kernel hold, where possible as one of the expressions that are KNOWN."""
        if not self.dims:
            return request.scalar_values
        plain = {bind(value, self._special()): value for value in known}
        return tuple(plain[value] if value in plain else self.plain(value) for value in request.scalar_values)

    def _special(self) -> dict[str, int]:
        found = {d.name: symbol(d.name, d.low, d.high, d.divisor) for d in dimensions((self.chosen.problem, self.functors))}
        return {name: found[name] for name in self.dims if name in found}


def servings(lowered: Lowered, target: Target, choose: Choose, points: Mapping[str, tuple[int, ...]] = NO_POINTS) -> tuple[Serving, ...]:
    """Return kernels for a group, of which the first whose condition holds serves; the last one serves all sizes.

    Raises:
        ModelError: no kernel serves all sizes.
    """
    ranged = RangedChoice(choose, points)
    dims = dimensions(lowered.problem)
    fields = KEYS.get(lowered.family)
    if not dims or fields is None or not all(map(_is_known_to_host, dimensions((lowered.problem, lowered.functors)))):
        only = chosen(lowered, target, ranged)
        return (Serving(condition=0, chosen=only, functors=lowered.functors, dims={}),)
    search = _Search(target, choose, points, fields)
    whole = search.case(lowered)
    if not whole:
        whole = [(0, chosen(replace(lowered, alternatives=()), target, ranged))]
    found = tuple(Serving(condition=c, chosen=k, functors=lowered.functors, dims={}) for c, k in whole)
    sizes = _multiples(lowered, dims, search)
    if not sizes:
        return found
    special = _bound(lowered, sizes)
    plain = {d.name: symbol(d.name, d.low, d.high, d.divisor) for d in dims if d.name in sizes}
    rest = [dim % MULTIPLE for dim in plain.values()]
    some = (
        Serving(condition=maximum(*rest, *([bind(c, plain)] if is_symbolic(c) else [])), chosen=k, functors=special.functors, dims=plain)
        for c, k in search.case(special)
    )
    return (*some, *found)


def _is_known_to_host(dim: Symbol) -> bool:
    """Whether the host knows a dimension before it launches."""
    return dim.source is None or isinstance(dim.source, Element)


def _bound(lowered: Lowered, sizes: Mapping[str, int]) -> Lowered:
    """Return a kernel for some sizes only."""
    functors = bind(lowered.functors, sizes)
    alternatives = tuple((name, fitted(name, bind(problem, sizes), functors)) for name, problem in lowered.alternatives)
    return replace(lowered, problem=bind(lowered.problem, sizes), functors=functors, alternatives=alternatives)


def _multiples(lowered: Lowered, dims: Sequence[Symbol], search: _Search) -> dict[str, int]:
    """Return the dimensions of which multiples allow kernels that the others do not, as such multiples."""
    found = {}
    for dim in dims:
        divisor = lcm(dim.divisor, MULTIPLE)
        if divisor == dim.divisor or max(dim.low, divisor) > dim.high // divisor * divisor:
            continue
        if dim.source is not None:
            continue  # an element of an input is checked on its own
        sizes = {dim.name: symbol(dim.name, max(dim.low, divisor), dim.high, divisor)}
        special = _bound(lowered, sizes)
        best = search.best(special, search.largest(special))
        if best is None or _divides_by_symbols((special.problem, special.functors)):
            continue
        problem = next(p for name, p in _problems(lowered) if name == best.family.name)
        if not (serves(best.family, problem, lowered.functors) and is_legal(best.family, problem, best.schedule, search.target)):
            found.update(sizes)
    return found


def _divides_by_symbols(tree: object) -> bool:
    """Whether a size is divided by a dimension: where that is no multiple, the host could divide by zero."""
    return any(
        isinstance(atom, Quotient) and is_symbolic(atom.divisor)
        for value in expressions(tree)
        if isinstance(value, Symbolic)
        for atom in atoms(value)
    )


def _problems(lowered: Lowered) -> Iterator[tuple[str, Any]]:
    yield lowered.family, lowered.problem
    yield from lowered.alternatives


@dataclass(frozen=True, slots=True)
class _Step:
    """A size of the ladder: the dimensions' sizes and what the key is there."""

    key: int
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for the kernels of a problem's sizes."""

    target: Target
    choose: Choose
    points: Mapping[str, tuple[int, ...]]
    fields: tuple[str, ...]

    def case(self, lowered: Lowered) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions, the last one without; empty where none that is estimated to be best is legal."""
        key = next((value for name in self.fields if is_symbolic(value := getattr(lowered.problem, name))), None)
        if key is None:  # of a range of one multiple: a problem of fixed sizes
            return [(0, chosen(lowered, self.target, RangedChoice(self.choose, self.points)))]
        ladder = self._ladder(lowered, key)
        if not isinstance(families()[lowered.family], Ranked):
            return self._by_steps(lowered, key, ladder)
        kernels = [best for step in ladder if (best := self.best(lowered, step.sizes)) is not None]
        kernels = list({(k.family.name, k.schedule): k for k in kernels}.values())
        if not kernels:
            return []
        costs = [[self._us(kernel, step.sizes) for kernel in kernels] for step in ladder]
        parts = _joined(costs)
        return [
            (0 if end == len(ladder) else key - isqrt(ladder[end - 1].key * ladder[end].key), self._on_target(lowered, kernels[number]))
            for end, number in parts
        ]

    def _by_steps(self, lowered: Lowered, key: int, ladder: Sequence[_Step]) -> list[tuple[int, Chosen]]:
        """Give each step of the ladder the schedule of its largest size, legal from the last step on to there."""
        family = families()[lowered.family]
        found: list[tuple[int, Chosen]] = []
        last = lower(key) - 1
        for number, step in enumerate(ladder):
            is_last = number + 1 == len(ladder)
            part = _narrowed(lowered.problem, key, last + 1, upper(key) if is_last else step.key)
            near = {d.name: representative(replace(d, high=max(d.low, step.sizes[d.name]))) for d in dimensions(lowered.problem)}
            tried = (self.choose(family, bind(lowered.problem, sizes), self.target) for sizes in (step.sizes, near))
            schedule = next((s for s in tried if is_legal(family, part, s, self.target)), None)
            if schedule is None:
                try:
                    schedule = RangedChoice(self.choose, self.points)(family, part, self.target)
                except ModelError:
                    continue
            kernel = Chosen(family=family, problem=lowered.problem, schedule=schedule)
            if found and found[-1][1].schedule == schedule:
                found.pop()
            found.append((0 if is_last else key - step.key, kernel))
            last = step.key
        return found if found and same(found[-1][0], 0) else []

    def best(self, lowered: Lowered, sizes: Mapping[str, int]) -> Chosen | None:
        """Return the legal kernel of least estimated time at some sizes; on the emulator what would be on the GPU that it stands for.

        A schedule for exactly these sizes may need them to be multiples; then one for sizes just below is taken that need not.
        """
        judged = self._judged()
        dims = dimensions(lowered.problem)
        near = {d.name: representative(replace(d, high=max(d.low, sizes[d.name]))) for d in dims}
        found: list[tuple[float, Chosen]] = []
        for name, problem in _problems(lowered):
            family = families()[name]
            if name not in OPEN_FAMILIES or not serves(family, problem, lowered.functors):
                continue
            at = bind(problem, sizes)
            for problem_there in (at, bind(problem, near)):
                schedule = (family.choose if self.target.is_emulated else partial(self.choose, family))(problem_there, judged)
                if isinstance(family, Staying):
                    schedule = family.for_all_sizes(schedule, judged)
                if is_legal(family, problem, schedule, judged):
                    us = family.estimated_us(at, schedule, judged) if isinstance(family, Ranked) else 0.0
                    found.append((us, Chosen(family=family, problem=problem, schedule=schedule)))
                    break
        return min(found, key=lambda one: one[0])[1] if found else None

    def largest(self, lowered: Lowered) -> Mapping[str, int]:
        """Return large sizes of a kernel's dimensions that share nothing but their divisors."""
        return {d.name: representative(d) for d in dimensions(lowered.problem)}

    def _judged(self) -> Target:
        return target_named(EMULATES) if self.target.is_emulated else self.target

    def _us(self, kernel: Chosen, sizes: Mapping[str, int]) -> float:
        assert isinstance(kernel.family, Ranked)
        at = bind(kernel.problem, sizes)
        if kernel.family.violations(at, kernel.schedule, self._judged()):
            return float("inf")
        return kernel.family.estimated_us(at, kernel.schedule, self._judged())

    def _on_target(self, lowered: Lowered, kernel: Chosen) -> Chosen:
        """Return the kernel with a schedule for the emulator, where that is the target."""
        if not self.target.is_emulated:
            return kernel
        return replace(kernel, schedule=RangedChoice(self.choose, self.points)(kernel.family, kernel.problem, self.target))

    def _ladder(self, lowered: Lowered, key: int) -> list[_Step]:
        """Return sizes from small to large, of which keys are about a ratio apart; those that the user names, exactly."""
        ratio = _RATIO if isinstance(families()[lowered.family], Ranked) else _COARSE_RATIO
        deciding = symbols(key)
        choices: dict[str, tuple[int, ...]] = {}
        for dim in dimensions(lowered.problem):
            named = tuple(p for p in self.points.get(dim.name, ()) if p % dim.divisor == 0 and dim.low <= p <= dim.high)
            if dim in deciding:
                choices[dim.name] = named or tuple(_down(dim, ratio))
            else:
                choices[dim.name] = (named or (middle(dim),))[:1]
        steps: dict[int, _Step] = {}
        for values in product(*choices.values()):
            sizes = dict(zip(choices, values, strict=True))
            found = substitute(key, sizes)
            place = round(log2(upper(key) / max(1, found)) / log2(ratio)) if not self._is_named(deciding) else found
            if place not in steps or _spread(sizes, deciding) < _spread(steps[place].sizes, deciding):
                steps[place] = _Step(found, sizes)
        ladder = sorted(steps.values(), key=lambda step: step.key)
        thinned = [ladder[i * len(ladder) // _MOST_SIZES] for i in range(_MOST_SIZES)] if len(ladder) > _MOST_SIZES else ladder
        return [step for number, step in enumerate(thinned) if number == 0 or step.key > thinned[number - 1].key]

    def _is_named(self, dims: frozenset[Symbol]) -> bool:
        return any(self.points.get(dim.name) for dim in dims)


def _down(dim: Symbol, ratio: int) -> Iterator[int]:
    """Yield sizes from the largest down."""
    size = dim.high
    while size >= max(1, dim.low, dim.divisor):
        yield size // dim.divisor * dim.divisor
        size //= ratio


def middle(dim: Symbol) -> int:
    """Return the size in the middle of a range, as ratios go."""
    return max(dim.low, isqrt(max(1, dim.low) * dim.high) // dim.divisor * dim.divisor)


def _spread(sizes: Mapping[str, int], dims: frozenset[Symbol]) -> float:
    """Return how far some dimensions are from the middle of their ranges."""
    return sum(abs(log2(max(1, sizes[d.name])) - log2(max(1, d.low) * d.high) / 2) for d in dims)


def _narrowed(problem: Any, key: int, low: int, high: int) -> Any:
    """Return a problem for keys from LOW to HIGH alone, where the key is a dimension as it is; else for all."""
    (first, *others) = symbols(key)
    if others or first.source is not None or not same(key, symbol(first.name, first.low, first.high, first.divisor)):
        return problem
    try:
        return bind(problem, {first.name: symbol(first.name, max(low, first.low), min(high, first.high), first.divisor)})
    except ModelError:
        return problem


def _joined(costs: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Divide the steps of a ladder into parts with one kernel each: (end, kernel) of each part.

    Args:
        costs: of each kernel at each step.
    """
    best = [min(row) for row in costs]

    def loss(first: int, end: int) -> tuple[float, int]:
        """Return how much slower than the best the best kernel for a part is, and which one."""
        worst = [max(costs[step][kernel] / best[step] for step in range(first, end)) for kernel in range(len(costs[0]))]
        return min((slowest, kernel) for kernel, slowest in enumerate(worst))

    ends = list(range(1, len(costs) + 1))
    while len(ends) > 1:
        starts = [0, *ends]
        merged = [(loss(starts[i], ends[i + 1])[0], i) for i in range(len(ends) - 1)]
        least, place = min(merged)
        if least > _SLACK and len(ends) <= _MOST_ALTERNATIVES:
            break
        del ends[place]
    starts = [0, *ends]
    return [(end, loss(start, end)[1]) for start, end in zip(starts, ends, strict=False)]
