"""Which kernel serves which sizes: problems of open dimensions have several, of which the host launches one.

What decides is one expression of a problem, its key: the rows of a product, the columns of a row program. Its range is walked in a ladder
of sizes; neighbours whose best kernels do about as well with one are joined. Of a product of which several of rows, columns and depth are
open, each on its own, all of them decide (`lowering/regions.py`). A product or row program whose vectors or bulk copies need sizes that are
multiples has kernels for such sizes too, which come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice, pairwise, product
from math import ceil, gcd, isqrt, lcm, log2, prod
from typing import Any, TypeVar

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind, expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Element, Quotient, Symbol, Symbolic, is_symbolic, lower, same, upper
from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.functions import maximum, minimum, named
from nautilus_cli.ir.occurrences import atoms, symbols
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.kernels.base import Choose, Family, KernelRequest, Mapped, Persistent, Priced, Ranked
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering import regions
from nautilus_cli.lowering.choice import EMULATES, Chosen, chosen, fitted, serves
from nautilus_cli.lowering.lowered import Functors, Lowered
from nautilus_cli.lowering.ranges import MULTIPLE, NO_POINTS, OPEN_FAMILIES, RangedChoice, dimensions, is_legal, representative
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target as target_named

T = TypeVar("T")

KEYS: Mapping[str, tuple[str, ...]] = {
    "conv": ("pixels",),
    "depthwise": ("pixels",),
    "gemm": ("m", "n", "k", "batch"),
    "gemm_mma": ("m", "n", "k", "batch"),
    "pool": ("pixels",),
    "row": ("columns", "rows"),
}
"""Sizes of a family's problem of which the first that is open decides."""

_PRODUCTS = ("gemm", "gemm_mma")
"""Families that products have first: the second where an epilogue is handed, or hands on, what only tensor cores' kernels know."""

NO_DIMS: Mapping[str, int] = {}

_KEY = "key"
"""Name of a dimension that stands for a whole key; it is in no kernel."""

_RATIO = 2 ** (1 / 6)
"""From one size of a ladder to the next, where several dimensions decide and families have estimates of their kernels."""
_TILES = ((32, 256), (64, 2048))
"""Where one dimension decides, a ladder has every multiple of the first up to the second, and beyond 16 steps an octave: there kernels'
tiles end, and waves of blocks."""
_FIRST_WEIGHT = 3.0
"""Of the smallest size, where decoders stay, by that of an octave."""
_COARSE_RATIO = 2.0
_MOST_STEPS = 128
_MOST_COMBINATIONS = 1024
_MOST_KERNELS: Mapping[str, int] = {"conv": 8, "depthwise": 4, "gemm": 16, "gemm_mma": 16, "pool": 4}
"""By family: what further ones would gain."""
_MOST_KERNELS_SPLIT = 6
"""The same of each half of a dimension that decides nothing else."""
_MOST_EMULATED = 3
_MOST_KERNELS_REST = 8
"""Of a product whose rows, columns and depth decide, for sizes that are no multiples."""
_MOST_SAMPLES, _MOST_LOOKED_AT, _MOST_LOOKED_AT_REST = 4096, 640, 24
"""Of such a product: sizes at which kernels are compared, and at which they are looked for."""
_SPREAD = (5**0.5 - 1) / 2
"""By what share of all samples the next one is away that kernels are looked for at: the golden ratio spreads them evenly."""
_PROBES, _NEAR = 24, 1.1
"""At one in so many of them, and at the ends, all families are tried; by how much one may be slower than the best and is tried at all."""
_LEAST_LOOKED_AT = 64
"""Of columns and depth: below it kernels differ little."""
_RARE_BELOW, _RARE_WEIGHT = 256, 0.25
"""Columns and depth that products of models seldom have, and how much they count."""
_FINE_FROM = 512
_TILE = 64
"""Rows and columns that are counted together: most tiles are whole numbers of them."""
_SLACK = 1.03
"""How much slower than the best a kernel may be by the estimates and still serve: they are not closer than that."""
_PENALTY = 4
"""Power of a kernel's time by the best one's that is added up over the sizes: few that are bad count more than many that are worse."""
_LEAST_GAIN = 0.002
"""By how much of that, on average, a further kernel makes it less."""


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


class Intervals:
    """Finds the kernels of groups; equal problems are searched once.

    Args:
        target: what they run on.
        choose: picks the schedule of a problem of known sizes.
        points: sizes of dimensions, by name, that kernels are chosen for.
    """

    def __init__(self, target: Target, choose: Choose, points: Mapping[str, tuple[int, ...]] = NO_POINTS) -> None:
        self._target, self._ranged, self._search = target, RangedChoice(choose, points), _Search(target, _Remembered(choose), points)
        self._known: dict[object, list[tuple[int, Chosen]]] = {}

    def servings(self, lowered: Lowered) -> tuple[Serving, ...]:
        """Return kernels for a group, of which the first whose condition holds serves; the last one serves all sizes.

        Raises:
            ModelError: no kernel serves all sizes.
        """
        dims = dimensions(lowered.problem)
        is_known = all(map(_is_known_to_host, dimensions((lowered.problem, lowered.functors))))
        if not dims or lowered.family not in KEYS or not is_known:
            only = self._of_counts(lowered, dims) or chosen(lowered, self._target, self._ranged)
            return (Serving(condition=0, chosen=only, functors=lowered.functors, dims={}),)
        sizes = self._search.multiples(lowered, dims)
        kernels = self._kernels(lowered, is_rest=bool(sizes))
        found = [Serving(condition=c, chosen=k, functors=lowered.functors, dims={}) for c, k in kernels]
        if not found:
            rest = chosen(replace(lowered, alternatives=()), self._target, self._ranged)
            found.append(Serving(condition=0, chosen=rest, functors=lowered.functors, dims={}))
        if not sizes:
            return tuple(found)
        special = _bound(lowered, sizes)
        plain = {d.name: symbol(d.name, d.low, d.high, d.divisor) for d in dims if d.name in sizes}
        # A multiple's range begins at one, so that 0, which is a multiple, too, is left to the kernels of all sizes.
        others = [dim % MULTIPLE for dim in plain.values()] + [1 - dim for dim in plain.values() if lower(dim) < 1]
        some = []
        for condition, kernel in self._kernels(special, plain=plain):
            both = maximum(*others, *([condition] if is_symbolic(condition) else []))
            some.append(Serving(condition=both, chosen=kernel, functors=special.functors, dims=plain))
        return (*some, *found)

    def _of_counts(self, lowered: Lowered, dims: Sequence[Symbol]) -> Chosen | None:
        """Return the kernel of a product whose sizes only the device knows, the best at the largest; None of anything else.

        Tensor maps are the host's to encode, which does not know such sizes.
        """
        if not dims or lowered.family not in _PRODUCTS:
            return None
        problems = {name: problem for name, problem in _problems(lowered) if not isinstance(families()[name], Mapped)}
        best = self._search.best(problems, {d.name: representative(d) for d in dims})
        return None if best is None else self._search.on_target(best)

    def _kernels(self, lowered: Lowered, *, plain: Mapping[str, int] = NO_DIMS, is_rest: bool = False) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions, in PLAIN dimensions; the last one has none. Multiples have others where it IS_REST."""
        problems = tuple((name, problem) for name, problem in _problems(lowered) if serves(families()[name], problem, lowered.functors))
        key = (problems, is_rest)
        if key not in self._known:
            self._known[key] = self._search.kernels(dict(problems), plain, is_rest=is_rest)
        return self._known[key]


def _is_known_to_host(dim: Symbol) -> bool:
    """Whether the host knows a dimension before it launches."""
    return dim.source is None or isinstance(dim.source, Element)


def _bound(lowered: Lowered, sizes: Mapping[str, int]) -> Lowered:
    """Return a kernel for some sizes only."""
    functors = bind(lowered.functors, sizes)
    alternatives = tuple((name, fitted(name, bind(problem, sizes), functors)) for name, problem in lowered.alternatives)
    return replace(lowered, problem=bind(lowered.problem, sizes), functors=functors, alternatives=alternatives)


def _widths(functors: Functors) -> tuple[int, ...]:
    """Return how many neighbouring elements each load can bring at once, as rows of pixels from their edges on."""
    loads = (step for _, functor in functors if isinstance(functor, Expression) for step in functor.steps if isinstance(step, Load))
    return tuple(load.map.contiguous_width(MULTIPLE) for load in loads)


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


Problems = Mapping[str, Any]
"""Of families that compute the same, by name; the first is the group's own."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A size of the ladder: the dimensions' sizes and what the key is there."""

    key: int
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A choice that is asked for each problem of fixed sizes once: products with other work around them are one problem."""

    choose: Choose
    known: dict[tuple[str, Any], Any] = field(default_factory=dict)

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return what the choice returns for this target's problems."""
        key = family.name, problem
        if key not in self.known:
            self.known[key] = self.choose(family, problem, target)
        return self.known[key]


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for the kernels of a problem's sizes."""

    target: Target
    choose: Choose
    points: Mapping[str, tuple[int, ...]]

    def multiples(self, lowered: Lowered, dims: Sequence[Symbol]) -> dict[str, int]:
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
            large = {d.name: representative(d) for d in dimensions(special.problem)}
            best = self.best({n: p for n, p in _problems(special) if serves(families()[n], p, special.functors)}, large)
            if best is None or _divides_by_symbols((special.problem, special.functors)):
                continue
            problem = next(p for name, p in _problems(lowered) if name == best.family.name)
            is_other = bind(problem, sizes) != best.problem  # operands that bulk copies bring, and otherwise threads one by one
            serves_all = serves(best.family, problem, lowered.functors)
            is_legal_for_all = serves_all and is_legal(best.family, problem, best.schedule, self._judged())
            if is_other or not is_legal_for_all or _widths(special.functors) != _widths(lowered.functors):
                found.update(sizes)
        return found

    def kernels(self, problems: Problems, plain: Mapping[str, int], *, is_rest: bool) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions, in PLAIN dimensions: as `regions`, fewer where it IS_REST, else as `halves`."""
        name, problem = next(iter(problems.items()))
        if self._has_regions(name, problem):
            return self.regions(problems, plain, is_rest=is_rest)
        return [(bind(condition, plain) if is_symbolic(condition) else condition, kernel) for condition, kernel in self.halves(problems)]

    def halves(self, problems: Problems) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions: as `case`, for the smaller and the larger sizes of a dimension that the key leaves out."""
        name, problem = next(iter(problems.items()))
        key = next((value for field in KEYS[name] if isinstance(value := getattr(problem, field), Symbolic)), None)
        if key is None:  # of a range of one multiple: a problem of fixed sizes
            only = self.best(problems, {d.name: representative(d) for d in dimensions(problem)})
            return [] if only is None else [(0, self.on_target(only))]
        others = [d for d in dimensions(problem) if d not in symbols(key) and d.source is None]
        if not isinstance(families()[name], Ranked):
            return self._by_steps(families()[name], problem, key)
        if not others:
            return self.case(problems, key, {}, self._most(_MOST_KERNELS[name]))
        dim = max(others, key=lambda d: d.high / max(1, d.low))
        middle = _between(dim, 0.5)
        size = symbol(dim.name, dim.low, dim.high, dim.divisor)
        small = self.case(problems, key, {dim.name: _between(dim, 0.25)}, self._most(_MOST_KERNELS_SPLIT))
        large = self.case(problems, key, {dim.name: _between(dim, 0.75)}, self._most(_MOST_KERNELS_SPLIT))
        if not small or not large or small == large:
            return large or small
        return [*((maximum(size - middle, *([c] if is_symbolic(c) else [])), kernel) for c, kernel in small), *large]

    def case(self, problems: Problems, key: int, others: Mapping[str, int], most: int) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions, the last one without; empty where none that is estimated to be best is legal.

        Args:
            problems: what they compute.
            key: what decides.
            others: sizes of dimensions that do not.
            most: kernels.
        """
        first, problem = next(iter(problems.items()))
        whole, walked = key, problems
        deciding = symbols(key)
        is_key_alone = all(same(value, key) or not symbols(value) & deciding for value in expressions(problem))
        is_named = self._is_named(deciding)
        if is_key_alone and not is_named:
            # Nothing but the key matters: it is walked as a dimension of its own.
            whole = symbol(_KEY, max(1, lower(key)), upper(key), _common_divisor(key))
            walked = {name: _with_key(p, key, whole) for name, p in problems.items()}
        ladder = self._ladder(walked[first], whole, others, _RATIO)
        has_ends = len(symbols(whole)) == 1 and not is_named  # of tiles: a kernel serves up to the size that it was chosen at
        looked_at = ladder[::-1] if is_named else _octave_parts(ladder)
        best = {step.key: kernel for step in looked_at if (kernel := self.best(walked, step.sizes)) is not None}
        kernels = list({(k.family.name, k.schedule): k for k in best.values()}.values())
        costs = [self._us(kernels, walked, step.sizes) for step in ladder]
        served = [(step, row) for step, row in zip(ladder, costs, strict=True) if row and min(row) < float("inf")]
        if not served:
            return []
        steps = [step for step, _ in served]
        found: list[tuple[int, Chosen]] = []
        on_target = [self.on_target(replace(kernel, problem=problems[kernel.family.name])) for kernel in kernels]
        if is_named and len(kernels) <= most and len(best) == len(steps):  # what was chosen, or measured, for a size serves there
            wanted = [kernels.index(best[step.key]) for step in steps]
        else:
            wanted = _assigned([row for _, row in served], most, _weights([step.key for step in steps]))
        for number, assigned in enumerate(wanted):
            kernel = on_target[assigned]
            if found and (found[-1][1].family.name, found[-1][1].schedule) == (kernel.family.name, kernel.schedule):
                found.pop()
            last = steps[number].key if has_ends or number + 1 == len(steps) else isqrt(steps[number].key * steps[number + 1].key)
            found.append((0 if number + 1 == len(steps) else key - last, kernel))
        return found

    def _has_regions(self, name: str, problem: Any) -> bool:
        """Whether several of rows, columns and depth of a product decide, and the user names no sizes of them."""
        if name not in _PRODUCTS or any(self._is_named(frozenset({d})) for d in dimensions(problem)):
            return False
        return len({size for size in (problem.m, problem.n, problem.k) if is_symbolic(size)}) > 1

    def regions(self, problems: Problems, plain: Mapping[str, int], *, is_rest: bool) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions, in PLAIN dimensions, the last one without, of a product several of whose sizes decide.

        Empty as `case` is.
        """
        walked, axes = _axes(problems)
        fine = [regions.ladder(axis.low, axis.high, axis.divisor, _FINE_FROM) for axis in axes]
        samples = regions.combined([axis.name for axis in axes], fine, _MOST_SAMPLES)
        looked_at = _looked_at(axes, samples, self._most_looked_at(is_rest))
        ends = regions.combined([axis.name for axis in axes], [(some[0], some[-1]) for some in fine], _MOST_SAMPLES)
        walked = self._worth(walked, [*ends, *looked_at[: len(looked_at) // _PROBES]])
        found = {(k.family.name, k.schedule): k for sizes in looked_at if (k := self.best(walked, sizes)) is not None}
        kernels = [*found.values()]
        if not kernels:
            return []
        weights = np.array([_weight(axes, sizes, fine[0][0]) for sizes in samples])
        some = slice(None, None, 4 if len(samples) > _MOST_COMBINATIONS else 1)
        loss = regions.losses([self._legal_us(kernels, walked, sizes) for sizes in samples[some]])
        priced = [number for number, kernel in enumerate(kernels) if isinstance(kernel.family, Priced)]
        if priced and loss[:, priced].min(axis=1).mean() < _SLACK:
            kernels, loss = [kernels[number] for number in priced], loss[:, priced]
        most = self._most(_MOST_KERNELS_REST if is_rest else regions.MOST_KERNELS)
        few = [kernels[number] for number in regions.kept(loss, weights[some], most)]
        on_target = [self.on_target(replace(kernel, problem=problems[kernel.family.name])) for kernel in few]
        if len({(kernel.family.name, kernel.schedule) for kernel in on_target}) == 1:  # as on the emulator
            return [(0, on_target[0])]
        if all(isinstance(kernel.family, Priced) for kernel in few):
            return self._cheapest(few, on_target, {name: bind(p, plain) for name, p in problems.items()})
        loss = regions.losses([self._legal_us(few, walked, sizes) for sizes in samples])
        features = np.array([[substitute(size, sizes) for size in _features(next(iter(walked.values())))] for sizes in samples])
        sizes_there = _features(bind(next(iter(problems.values())), plain))
        return [
            (
                maximum(*(sizes_there[feature] - limit for feature, limit in leaf.limits.items())) if leaf.limits else 0,
                on_target[leaf.kernel],
            )
            for leaf in regions.leaves(features, loss, weights)
        ]

    def _cheapest(self, kernels: Sequence[Chosen], on_target: Sequence[Chosen], problems: Problems) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions: each serves where none behind it is estimated to take less time."""
        found: list[tuple[int, Chosen]] = []
        least = 0
        for number, kernel in reversed(list(enumerate(kernels))):
            assert isinstance(kernel.family, Priced)
            ns = named(f"ns{number}", kernel.family.open_ns(problems[kernel.family.name], kernel.schedule, self._judged()))
            found.append((ns - least if found else 0, on_target[number]))
            least = named(f"least{number}", minimum(ns, least)) if len(found) > 1 else ns
        return found[::-1]

    def _worth(self, problems: Problems, probes: Sequence[Mapping[str, int]]) -> Problems:
        """Return those of the problems whose families come near the best one at some of a few sizes."""
        found: set[str] = set()
        for sizes in probes:
            each = {name: self.best({name: problem}, sizes) for name, problem in problems.items()}
            us = {name: self._legal_us([kernel], problems, sizes)[0] for name, kernel in each.items() if kernel is not None}
            found |= {name for name, time in us.items() if time <= _NEAR * min(us.values())}
        return {name: problem for name, problem in problems.items() if name in found}

    def _most_looked_at(self, is_rest: bool) -> int:
        if self.target.is_emulated:
            return _MOST_EMULATED**3
        return _MOST_LOOKED_AT_REST if is_rest else _MOST_LOOKED_AT

    def _legal_us(self, kernels: Sequence[Chosen], problems: Problems, sizes: Mapping[str, int]) -> list[float]:
        """Return the estimated times at some sizes of kernels that are legal at all."""
        at = {name: bind(problems[name], sizes) for name in {kernel.family.name for kernel in kernels}}
        found = []
        for kernel in kernels:
            assert isinstance(kernel.family, Ranked)
            found.append(kernel.family.estimated_us(at[kernel.family.name], kernel.schedule, self._judged()))
        return found

    def _by_steps(self, family: Family, problem: Any, key: int) -> list[tuple[int, Chosen]]:
        """Give each step the schedule of its largest size, legal from the last step on to there."""
        steps = self._steps(problem, key)
        found: list[tuple[int, Chosen]] = []
        last = lower(key) - 1
        for number, step in enumerate(steps):
            is_last = number + 1 == len(steps)
            part = _narrowed(problem, key, last + 1, upper(key) if is_last else step.key)
            tried = (self.choose(family, there, self.target) for there in _at(problem, key, step))
            schedule = next((s for s in tried if is_legal(family, part, s, self.target)), None)
            if schedule is None:
                try:
                    schedule = RangedChoice(self.choose, self.points)(family, part, self.target)
                except ModelError:
                    continue
            if found and found[-1][1].schedule == schedule:
                found.pop()
            found.append((0 if is_last else key - step.key, Chosen(family=family, problem=problem, schedule=schedule)))
            last = step.key
        return found if found and same(found[-1][0], 0) else []

    def _steps(self, problem: Any, key: int) -> list[_Step]:
        """Return powers of two and the largest key, with sizes near which it is that; those that the user names, exactly."""
        ladder = self._ladder(problem, key, {}, _COARSE_RATIO)
        if self._is_named(symbols(key)) or not ladder:
            return ladder
        low, high = max(1, lower(key)), upper(key)
        borders = [*(1 << n for n in range(low.bit_length(), (high - 1).bit_length())), high]
        return [_Step(border, min(ladder, key=lambda step: abs(log2(max(1, step.key) / border))).sizes) for border in borders]

    def best(self, problems: Problems, sizes: Mapping[str, int]) -> Chosen | None:
        """Return the legal kernel of least estimated time at some sizes; on the emulator what would be on the GPU that it stands for.

        A schedule for exactly these sizes may need them to be multiples; then one for sizes just below is taken that need not.
        """
        judged = self._judged()
        found: list[tuple[float, Chosen]] = []
        for name, problem in problems.items():
            family = families()[name]
            if name not in OPEN_FAMILIES:
                continue
            at = bind(problem, sizes)
            for problem_there in (at, bind(problem, _just_below(problem, sizes))):
                schedule = (family.choose if self.target.is_emulated else partial(self.choose, family))(problem_there, judged)
                if isinstance(family, Persistent):
                    schedule = family.for_all_sizes(problem, schedule, judged)
                if is_legal(family, problem, schedule, judged):
                    us = family.estimated_us(at, schedule, judged) if isinstance(family, Ranked) else 0.0
                    found.append((us, Chosen(family=family, problem=problem, schedule=schedule)))
                    break
        return min(found, key=lambda one: one[0])[1] if found else None

    def _most(self, kernels: int) -> int:
        """Return how many kernels a problem has at most: fewer on the emulator, whose compiler is slow and whose speed tells nothing."""
        return min(kernels, _MOST_EMULATED) if self.target.is_emulated else kernels

    def _judged(self) -> Target:
        return target_named(EMULATES) if self.target.is_emulated else self.target

    def _us(self, kernels: Sequence[Chosen], problems: Problems, sizes: Mapping[str, int]) -> list[float]:
        """Return the estimated times of kernels at some sizes."""
        at = {name: bind(problem, sizes) for name, problem in problems.items()}
        found = []
        for kernel in kernels:
            family, there = kernel.family, at[kernel.family.name]
            assert isinstance(family, Ranked)
            is_possible = not family.violations(there, kernel.schedule, self._judged())
            found.append(family.estimated_us(there, kernel.schedule, self._judged()) if is_possible else float("inf"))
        return found

    def on_target(self, kernel: Chosen) -> Chosen:
        """Return the kernel with a schedule for the emulator, where that is the target."""
        if not self.target.is_emulated:
            return kernel
        return replace(kernel, schedule=RangedChoice(self.choose, self.points)(kernel.family, kernel.problem, self.target))

    def _ladder(self, problem: Any, key: int, others: Mapping[str, int], ratio: float) -> list[_Step]:
        """Return sizes from small to large, of which keys are about a ratio apart; those that the user names, exactly."""
        deciding, dims = symbols(key), dimensions(problem)
        coarse = ratio
        while coarse < 2 and prod(log2(d.high / max(1, d.low)) / log2(coarse) + 1 for d in deciding) > _MOST_COMBINATIONS:
            coarse = coarse * coarse
        choices: dict[str, tuple[int, ...]] = {}
        for dim in dims:
            named = tuple(p for p in self.points.get(dim.name, ()) if p % dim.divisor == 0 and dim.low <= p <= dim.high)
            if dim in deciding:
                choices[dim.name] = named or (_ends(dim) if len(deciding) == 1 and ratio < 2 else tuple(dict.fromkeys(_down(dim, coarse))))
            else:
                choices[dim.name] = (others.get(dim.name, named[0] if named else _between(dim, 0.5)),)
        steps: dict[int, _Step] = {}
        is_named = self._is_named(deciding)
        for values in islice(product(*choices.values()), 4 * _MOST_COMBINATIONS):
            sizes = dict(zip(choices, values, strict=True))
            found = substitute(key, sizes)
            place = found if is_named or len(deciding) == 1 else round(log2(upper(key) / max(1, found)) / log2(ratio))
            if place not in steps or _spread(sizes, deciding) < _spread(steps[place].sizes, deciding):
                steps[place] = _Step(found, sizes)
        ladder = sorted(steps.values(), key=lambda step: step.key)
        thinned = [ladder[i * len(ladder) // _MOST_STEPS] for i in range(_MOST_STEPS)] if len(ladder) > _MOST_STEPS else ladder
        return [step for number, step in enumerate(thinned) if number == 0 or step.key > thinned[number - 1].key]

    def _is_named(self, dims: frozenset[Symbol]) -> bool:
        return any(self.points.get(dim.name) for dim in dims)


def _axes(problems: Problems) -> tuple[Problems, list[Symbol]]:
    """Return problems whose sizes are walked, and their dimensions: each open size is one of its own where nothing else matters."""
    first = next(iter(problems.values()))
    sizes = list(dict.fromkeys(size for size in (first.m, first.n, first.k, first.batch) if is_symbolic(size)))
    is_alone = all(any(same(value, size) for size in sizes) for value in expressions(first))
    is_apart = sum(len(symbols(size)) for size in sizes) == len({s for size in sizes for s in symbols(size)})
    if not is_alone or not is_apart:
        return problems, list(dimensions(first))
    walked = dict(problems)
    for number, size in enumerate(sizes):
        whole = symbol(f"{_KEY}{number}", max(1, lower(size)), upper(size), _common_divisor(size))
        walked = {name: _with_key(problem, size, whole) for name, problem in walked.items()}
    return walked, list(dimensions(next(iter(walked.values()))))


def _weight(axes: Sequence[Symbol], sizes: Mapping[str, int], first: int) -> float:
    """Return how much a sample counts: those of the smallest rows more, those of few columns or little depth less."""
    weight = _FIRST_WEIGHT if sizes[axes[0].name] == first else 1.0
    return weight * (_RARE_WEIGHT if any(sizes[axis.name] < min(_RARE_BELOW, axis.high) for axis in axes[1:]) else 1.0)


def _looked_at(axes: Sequence[Symbol], samples: Sequence[Mapping[str, int]], most: int) -> list[Mapping[str, int]]:
    """Return some of the samples, spread evenly, whose columns and depth are not small where there are larger ones."""
    large = [s for s in samples if all(s[axis.name] >= min(_LEAST_LOOKED_AT, axis.high) for axis in axes[1:])]
    return [large[int(number * _SPREAD * len(large)) % len(large)] for number in range(min(most, len(large)))]


def _features(problem: Any) -> tuple[int, ...]:
    """Return what decides about a product's kernel: its open sizes, and how many tiles the result has."""
    sizes = list(dict.fromkeys(size for size in (problem.m, problem.n, problem.k, problem.batch) if is_symbolic(size)))
    tiles = -(-problem.m // _TILE) * -(-problem.n // _TILE) * problem.batch
    return (*sizes, tiles) if is_symbolic(tiles) else tuple(sizes)


def _at(problem: Any, key: int, step: _Step) -> Iterator[Any]:
    """Yield a problem at a step, and just below where nothing divides it; the fields that are the key are exactly what the step says."""
    yield bind(_with_key(problem, key, step.key), step.sizes)
    below = representative(Symbol(_KEY, 1, step.key))
    yield bind(_with_key(problem, key, below), _just_below(problem, step.sizes))


def _just_below(problem: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes of a problem's dimensions, not above SIZES, that share nothing but their divisors."""
    return {d.name: representative(replace(d, high=max(d.low, sizes[d.name]))) for d in dimensions(problem)}


def _common_divisor(key: int) -> int:
    """Return a number that divides a key whatever the dimensions are."""
    return gcd(*(coefficient for _, coefficient in key.terms)) if isinstance(key, Symbolic) else key


def _with_key(problem: Any, key: int, whole: int) -> Any:
    """Return a problem with WHOLE in place of the fields that are the key."""
    return replace(problem, **{f.name: whole for f in fields(problem) if same(getattr(problem, f.name), key)})


def _down(dim: Symbol, ratio: float) -> Iterator[int]:
    """Yield sizes from the largest down."""
    size = float(dim.high)
    while size >= max(1, dim.low, dim.divisor) - 1e-6:
        yield int(size + 1e-6) // dim.divisor * dim.divisor
        size /= ratio


def _ends(dim: Symbol) -> tuple[int, ...]:
    """Return the sizes at which kernels' tiles of a dimension end, from large to small."""
    sizes = {dim.high, *(1 << i for i in range(6)), *(3 << i for i in range(4))}
    size = 32
    while size < dim.high:
        sizes.add(size)
        size += next((step for step, last in _TILES if size < last), 1 << size.bit_length() - 5)
    rounded = {size // dim.divisor * dim.divisor for size in sizes}
    return tuple(sorted((size for size in rounded if max(1, dim.low) <= size <= dim.high), reverse=True))


def _octave_parts(ladder: Sequence[_Step]) -> list[_Step]:
    """Return the steps of a ladder that kernels are looked for at, from large to small: the last of each third of an octave."""
    found: dict[int, _Step] = {}
    for step in ladder:
        found[ceil(3 * log2(max(1, step.key)) - 1e-6)] = step
    return [*reversed(found.values())]


def _weights(keys: Sequence[int]) -> list[float]:
    """Return how much each step of a ladder counts: the part of an octave that it is the end of; the first, where decoders stay, more."""
    return [_FIRST_WEIGHT, *(log2(after / max(1, before)) for before, after in pairwise(keys))]


def middle(dim: Symbol) -> int:
    """Return the size in the middle of a range, as ratios go."""
    return _between(dim, 0.5)


def _between(dim: Symbol, share: float) -> int:
    """Return the size that lies at a share of a range, as ratios go."""
    low = max(1, dim.low)
    return max(dim.low, int(low * (dim.high / low) ** share + 1e-6) // dim.divisor * dim.divisor)


def _spread(sizes: Mapping[str, int], dims: frozenset[Symbol]) -> float:
    """Return how far some dimensions are from the middle of their ranges."""
    return sum(abs(log2(max(1, sizes[d.name])) - log2(max(1, d.low) * d.high) / 2) for d in dims)


def _narrowed(problem: Any, key: int, low: int, high: int) -> Any:
    """Return a problem for keys from LOW to HIGH alone.

    Where the key is no dimension as it is, the fields that it is are taken as one that the other fields know nothing of: what is legal for
    such a problem is legal for those sizes, too.
    """
    (first, *others) = symbols(key)
    is_dimension = not others and first.source is None and same(key, symbol(first.name, first.low, first.high, first.divisor))
    try:
        if is_dimension:
            return bind(problem, {first.name: symbol(first.name, max(low, first.low), min(high, first.high), first.divisor)})
        divisor = _common_divisor(key)
        return _with_key(problem, key, symbol(_KEY, -(-low // divisor) * divisor, high // divisor * divisor, divisor))
    except ModelError:
        return problem


def _assigned(costs: Sequence[Sequence[float]], most: int, weights: Sequence[float]) -> list[int]:
    """Return the kernel of each step of a ladder, of a few of all: where one does about as well as the best, that of the step before.

    Args:
        costs: of each kernel at each step.
        most: different kernels.
        weights: of the steps.
    """
    best = [min(row) for row in costs]
    losses = [[cost / least for cost in row] for row, least in zip(costs, best, strict=True)]

    def badness(kept: Sequence[int]) -> float:
        return sum(weight * min(row[kernel] for kernel in kept) ** _PENALTY for weight, row in zip(weights, losses, strict=True))

    kept: list[int] = []
    while len(kept) < min(most, len(costs[0])):
        found = min((kernel for kernel in range(len(costs[0])) if kernel not in kept), key=lambda kernel: badness([*kept, kernel]))
        if kept and badness([*kept, found]) > badness(kept) - _LEAST_GAIN * sum(weights):
            break
        kept.append(found)
    assigned: list[int] = []
    for row in losses:
        here = min(kept, key=lambda kernel: row[kernel])
        assigned.append(assigned[-1] if assigned and row[assigned[-1]] <= _SLACK * row[here] else here)
    return assigned
