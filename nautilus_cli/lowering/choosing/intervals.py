"""Which kernel serves which sizes: problems of open dimensions have several, of which the host launches one.

What decides is one expression of a problem, its key: the rows of a product, the columns of a row program. Its range is walked in a ladder
of sizes; neighbours whose best kernels do about as well with one are joined. Of a product of which several of rows, columns and depth are
open, each on its own, all of them decide (`regions.py`). A product or row program whose vectors or bulk copies need sizes that are
multiples has kernels for such sizes too, which come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import lcm, prod

from nautilus_cli.ir.binding import bind, dimensions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import Element, Symbol, is_symbolic, lower
from nautilus_cli.ir.functions import maximum
from nautilus_cli.kernels.base import Choose, Mapped
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.choosing.choice import Chosen, chosen, serves
from nautilus_cli.lowering.choosing.kernel_finder import KernelFinder, Remembered
from nautilus_cli.lowering.choosing.kernels_by_key import KEYS, kernels_by_key
from nautilus_cli.lowering.choosing.kernels_by_regions import has_regions, kernels_by_regions
from nautilus_cli.lowering.choosing.open_problems import PRODUCTS, Problems, bound_to, divides_by_symbols, load_widths, problems_of
from nautilus_cli.lowering.choosing.ranges import MULTIPLE, NO_POINTS, RangedChoice, is_legal, representative
from nautilus_cli.lowering.choosing.serving import Serving
from nautilus_cli.targets.base import Target

NO_DIMS: Mapping[str, int] = {}


class Intervals:
    """Finds the kernels of groups; equal problems are searched once.

    Args:
        target: what they run on.
        choose: picks the schedule of a problem of known sizes.
        points: sizes of dimensions, by name, that kernels are chosen for.
    """

    def __init__(self, target: Target, choose: Choose, points: Mapping[str, tuple[int, ...]] = NO_POINTS) -> None:
        self._target, self._ranged = target, RangedChoice(choose, points)
        self._finder = KernelFinder(target, Remembered(choose), points)
        self._known: dict[object, list[tuple[int, Chosen]]] = {}

    def servings(self, lowered: Lowered) -> tuple[Serving, ...]:
        """Return kernels for a group, of which the first whose condition holds serves; the last one serves all sizes.

        Raises:
            ModelError: no kernel serves all sizes.
        """
        dims = dimensions(lowered.problem)
        is_known = all(map(_is_known_to_host, dimensions((lowered.problem, lowered.functors))))
        if not dims or lowered.family not in KEYS or not is_known:
            only = self._without_maps(lowered, dims) or chosen(lowered, self._target, self._ranged)
            return (Serving(condition=0, chosen=only, functors=lowered.functors, dims={}),)
        sizes = _multiples(self._finder, lowered, dims)
        kernels = self._kernels(lowered, is_rest=bool(sizes))
        found = [Serving(condition=c, chosen=k, functors=lowered.functors, dims={}) for c, k in kernels]
        if not found:
            rest = chosen(replace(lowered, alternatives=()), self._target, self._ranged)
            found.append(Serving(condition=0, chosen=rest, functors=lowered.functors, dims={}))
        found = [*self._of_nothing(lowered, found, dims), *found]
        if not sizes:
            return tuple(found)
        special = bound_to(lowered, sizes)
        plain = {d.name: symbol(d.name, d.low, d.high, d.divisor) for d in dims if d.name in sizes}
        # A multiple's range begins at one, so that 0, which is a multiple, too, is left to the kernels of all sizes.
        others = [dim % MULTIPLE for dim in plain.values()] + [1 - dim for dim in plain.values() if lower(dim) < 1]
        some = []
        for condition, kernel in self._kernels(special, plain=plain):
            both = maximum(*others, *([condition] if is_symbolic(condition) else []))
            some.append(Serving(condition=both, chosen=kernel, functors=special.functors, dims=plain))
        return (*some, *found)

    def _of_nothing(self, lowered: Lowered, found: Sequence[Serving], dims: Sequence[Symbol]) -> Iterator[Serving]:
        """Yield the kernel of a product without rows, columns or depth, where there may be none, and those that were found need some.

        Tensor maps are of something.
        """
        if lowered.family not in PRODUCTS or not any(isinstance(serving.chosen.family, Mapped) for serving in found):
            return
        problem = lowered.problem
        elements = prod(size for size in (problem.batch, problem.m, problem.n, problem.k) if lower(size) < 1)
        without = self._without_maps(lowered, dims) if is_symbolic(elements) else None
        if without is not None:
            yield Serving(condition=elements, chosen=without, functors=lowered.functors, dims={})

    def _without_maps(self, lowered: Lowered, dims: Sequence[Symbol]) -> Chosen | None:
        """Return the kernel of a product that takes no tensor maps, the best at the largest; None of anything else.

        Such maps are the host's to encode, which does not know all sizes.
        """
        if not dims or lowered.family not in PRODUCTS:
            return None
        problems = {name: problem for name, problem in problems_of(lowered) if not isinstance(families()[name], Mapped)}
        best = self._finder.best(problems, {d.name: representative(d) for d in dims})
        return None if best is None else self._finder.on_target(best)

    def _kernels(self, lowered: Lowered, *, plain: Mapping[str, int] = NO_DIMS, is_rest: bool = False) -> list[tuple[int, Chosen]]:
        """Return kernels with their conditions, in PLAIN dimensions; the last one has none. Multiples have others where it IS_REST."""
        problems = tuple((name, problem) for name, problem in problems_of(lowered) if serves(families()[name], problem, lowered.functors))
        key = (problems, is_rest)
        if key not in self._known:
            self._known[key] = _kernels(self._finder, dict(problems), plain, is_rest=is_rest)
        return self._known[key]


def _multiples(finder: KernelFinder, lowered: Lowered, dims: Sequence[Symbol]) -> dict[str, int]:
    """Return the dimensions of which multiples allow kernels that the others do not, as such multiples."""
    found = {}
    for dim in dims:
        divisor = lcm(dim.divisor, MULTIPLE)
        if divisor == dim.divisor or max(dim.low, divisor) > dim.high // divisor * divisor:
            continue
        if dim.source is not None:
            continue  # an element of an input is checked on its own
        sizes = {dim.name: symbol(dim.name, max(dim.low, divisor), dim.high, divisor)}
        special = bound_to(lowered, sizes)
        large = {d.name: representative(d) for d in dimensions(special.problem)}
        best = finder.best({n: p for n, p in problems_of(special) if serves(families()[n], p, special.functors)}, large)
        if best is None or divides_by_symbols((special.problem, special.functors)):
            continue
        problem = next(p for name, p in problems_of(lowered) if name == best.family.name)
        is_other = bind(problem, sizes) != best.problem  # operands that bulk copies bring, and otherwise threads one by one
        serves_all = serves(best.family, problem, lowered.functors)
        is_legal_for_all = serves_all and is_legal(best.family, problem, best.schedule, finder.judged)
        if is_other or not is_legal_for_all or load_widths(special.functors) != load_widths(lowered.functors):
            found.update(sizes)
    return found


def _kernels(finder: KernelFinder, problems: Problems, plain: Mapping[str, int], *, is_rest: bool) -> list[tuple[int, Chosen]]:
    """Return kernels with their conditions, in PLAIN dimensions: by regions, fewer where it IS_REST, or by key."""
    name, problem = next(iter(problems.items()))
    if has_regions(finder, name, problem):
        return kernels_by_regions(finder, problems, plain, is_rest=is_rest)
    found = kernels_by_key(finder, problems)
    return [(bind(condition, plain) if is_symbolic(condition) else condition, kernel) for condition, kernel in found]


def _is_known_to_host(dim: Symbol) -> bool:
    """Whether the host knows a dimension before it launches."""
    return dim.source is None or isinstance(dim.source, Element)
