"""Bounds of a sum: below and above which it never is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from nautilus_cli.ir.dims import Indicator, Make, Maximum, Monomial, Quotient, Symbol, Symbolic, Terms, is_symbolic, lower, same, upper
from nautilus_cli.ir.functions import operands
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.quotients import exact_divmod
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ir.terms import degree, product, ratio

_MOST_RELAXED = 2
"""Quotients and maxima of a sum up to which bounds are looked for that hold without one of them: each may bring others in."""

_MOST_INDICATORS = 8
"""Indicators in a sum up to which its bounds are looked for case by case."""

_MOST_FACTORS = 24
"""Atoms of all terms together up to which closer bounds are looked for: what is expanded grows with their number."""


@lru_cache(maxsize=1 << 16)
def bounds(terms: Terms, of: Make) -> tuple[int, int]:
    """Return bounds of a sum: those of its terms added up, and where terms of both signs vary, the closer ones after a shift."""
    cases = _cases(terms, of)
    if cases:
        return min(map(lower, cases)), max(map(upper, cases))
    low, high = _sum_of_bounds(terms, _monomial_bounds)
    varying = [(monomial, coefficient) for monomial, coefficient in terms if monomial]
    if all(c > 0 for _, c in varying) or all(c < 0 for _, c in varying) or sum(degree(m) for m, _ in varying) > _MOST_FACTORS:
        return low, high
    shifted_low, shifted_high = _sum_of_bounds(_shifted(terms).items(), _shifted_bounds)
    low, high = max(low, shifted_low), min(high, shifted_high)
    if len(varying) == len(terms):
        low, high = _within(_factored(terms, of), low, high)
    low, high = _within(_by_parts(varying, dict(terms).get((), 0), of), low, high)
    for found in _grouped(varying, dict(terms).get((), 0), of):
        low, high = _within(found, low, high)
    if sum(not isinstance(atom, Symbol) for monomial, _ in varying for atom, _ in monomial) > _MOST_RELAXED:
        return low, high
    for bound, divisor, is_lower in _relaxed(varying, dict(terms).get((), 0), of):
        if is_lower:
            low = max(low, -(-lower(bound) // divisor))
        else:
            high = min(high, upper(bound) // divisor)
    return low, high


def _cases(terms: Terms, of: Make) -> list[int]:
    """Return what a sum with indicators is in each case of the first of them and of those that exclude it; nothing where there are none.

    In a case the symbol that is compared with a number has that number, or a shorter range.
    """
    found = list(dict.fromkeys(atom for monomial, _ in terms for atom, _ in monomial if isinstance(atom, Indicator)))
    if not found or len(found) > _MOST_INDICATORS:
        return []
    first = found[0]
    group = [first, *(other for other in found[1:] if first.is_zero and other.is_zero and not is_symbolic(other.value - first.value))]
    cases = [_case(terms, group, holding, of) for holding in group]
    rest = _case(terms, group, None, of)
    return [case for case in (*cases, rest) if case is not None]


def _case(terms: Terms, group: Sequence[Indicator], holding: Indicator | None, of: Make) -> int | None:
    """Return a sum where of a GROUP of indicators one holds, or none; None where that cannot be."""
    left: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        if any(atom in group and atom != holding for atom, _ in monomial):
            continue
        rest = tuple(item for item in monomial if item[0] != holding)
        left[rest] = left.get(rest, 0) + coefficient
    value = of(left)
    compared = [found for one in ([holding] if holding else group) if (found := _edge(one)) is not None]
    if not compared:
        return value
    atom, sign, edge = compared[0]
    low, high = atom.low, atom.high
    if group[0].is_zero and holding is not None:
        low, high = max(low, edge), min(high, edge)
    elif group[0].is_zero:
        edges = {number for other, _, number in compared if other == atom}
        while low <= high and low in edges:
            low += 1
        while low <= high and high in edges:
            high -= 1
    elif (holding is not None) == (sign > 0):  # above the edge, or not below it
        low = max(low, edge + int(sign > 0))
    else:
        high = min(high, edge - int(sign < 0))
    if low > high:
        return None
    narrow = low if low == high else of({((Symbol(atom.name, low, high, 1, atom.source), 1),): 1})
    return substitute(value, {atom.name: narrow})


def _edge(compared: Indicator) -> tuple[Symbol, int, int] | None:
    """Return the symbol that an indicator compares with a number, its sign, and the number; None where it compares other things."""
    if not isinstance(compared.value, Symbolic):
        return None
    match compared.value.terms:
        case ((((Symbol(divisor=1) as atom, 1),), (1 | -1) as sign),):
            return atom, sign, 0
        case (((), offset), (((Symbol(divisor=1) as atom, 1),), (1 | -1) as sign)):
            return atom, sign, -offset * sign
    return None


def _factored(terms: Terms, of: Make) -> tuple[int, int] | None:
    """Return bounds of what all terms share times bounds of the rest, None where they share nothing: m*n - 7*m is m*(n - 7)."""
    first, *others = (dict(monomial) for monomial, _ in terms)
    powers = {atom: min(power, *(other.get(atom, 0) for other in others)) for atom, power in first.items()}
    shared = tuple((atom, power) for atom, power in powers.items() if power and not isinstance(atom, Indicator))
    if not shared:
        return None
    rest = of({left: c for monomial, c in terms if (left := ratio(monomial, shared)) is not None})
    products = [a * b for a in _monomial_bounds(shared) for b in (lower(rest), upper(rest))]
    return min(products), max(products)


def _by_parts(varying: list[tuple[Monomial, int]], constant: int, of: Make) -> tuple[int, int] | None:
    """Return the bounds of parts that have no symbol in common, added up; None where there is one part."""
    parts: list[tuple[frozenset[Symbol], dict[Monomial, int]]] = []
    for monomial, coefficient in varying:
        found, part = frozenset().union(*(symbols(of({((atom, 1),): 1})) for atom, _ in monomial)), {monomial: coefficient}
        for other in [one for one in parts if one[0] & found]:
            parts.remove(other)
            found, part = found | other[0], {**other[1], **part}
        parts.append((found, part))
    if len(parts) == 1:
        return None
    sums = [of(part) for _, part in parts]
    return constant + sum(map(lower, sums)), constant + sum(map(upper, sums))


def _grouped(varying: list[tuple[Monomial, int]], constant: int, of: Make) -> Iterator[tuple[int, int]]:
    """Yield bounds of a quotient or maximum times all that it is multiplied with, plus those of the rest: k - k*m is k*(1 - m)."""
    for atom in dict.fromkeys(atom for monomial, _ in varying for atom, _ in monomial):
        if isinstance(atom, Symbol | Indicator):
            continue
        factor = {left: c for monomial, c in varying if (left := ratio(monomial, ((atom, 1),))) is not None}
        if 1 < len(factor) < len(varying):
            rest = of({(): constant, **{monomial: c for monomial, c in varying if ratio(monomial, ((atom, 1),)) is None}})
            times = of(factor)
            products = [a * b for a in atom.bounds for b in (lower(times), upper(times))]
            yield lower(rest) + min(products), upper(rest) + max(products)


def _within(found: tuple[int, int] | None, low: int, high: int) -> tuple[int, int]:
    return (low, high) if found is None else (max(low, found[0]), min(high, found[1]))


def _relaxed(varying: list[tuple[Monomial, int]], constant: int, of: Make) -> Iterator[tuple[int, int, bool]]:
    """Yield expressions without one of the quotients or maxima that bound the sum: (expression, divisor, whether from below).

    A maximum is at least each operand; a quotient by a number lies within less than one below the exact one, and so does one by a divisor
    that it is multiplied with: what n // m times m lacks of n is less than m.
    """
    yield from _undone(varying, constant, of)
    for number, (monomial, coefficient) in enumerate(varying):
        if len(monomial) != 1 or monomial[0][1] != 1:
            continue
        atom = monomial[0][0]
        rest = of({(): constant, **dict(varying[:number]), **dict(varying[number + 1 :])})
        if isinstance(atom, Maximum):
            for operand in atom.operands:
                yield rest + coefficient * operand, 1, coefficient > 0
        elif isinstance(atom, Quotient) and not isinstance(atom.divisor, Symbolic):
            exact = atom.divisor * rest + coefficient * atom.dividend
            cut = abs(coefficient) * (atom.divisor - 1)
            yield exact - (cut if coefficient > 0 else 0), atom.divisor, True
            yield exact + (0 if coefficient > 0 else cut), atom.divisor, False


def _undone(varying: list[tuple[Monomial, int]], constant: int, of: Make) -> Iterator[tuple[int, int, bool]]:
    """Yield, as `_relaxed`, expressions without a quotient whose factors are together a multiple of its divisor: n*n - 3*n*(n // 3)."""
    for atom in dict.fromkeys(atom for monomial, _ in varying for atom, _ in monomial):
        if not isinstance(atom, Quotient) or lower(atom.divisor) < 1:
            continue
        rest: dict[Monomial, int] = {(): constant}
        factor: dict[Monomial, int] = {}
        for monomial, coefficient in varying:
            left = ratio(monomial, ((atom, 1),))
            if left is None:
                rest[monomial] = coefficient
            else:
                factor[left] = coefficient
        multiple = exact_divmod(of(factor), atom.divisor)
        if multiple is None or not same(multiple[1], 0) or lower(multiple[0]) < 0 < upper(multiple[0]):
            continue
        outside, times = of(rest), multiple[0]
        most = outside + times * atom.dividend
        least = most - times * (atom.divisor - 1)
        yield (least, 1, True) if lower(times) >= 0 else (most, 1, True)
        yield (most, 1, False) if lower(times) >= 0 else (least, 1, False)


def _sum_of_bounds(terms: Iterable[tuple[Monomial, int]], bounds_of: Callable[[Monomial], tuple[int, int]]) -> tuple[int, int]:
    low = high = 0
    for monomial, coefficient in terms:
        least, greatest = bounds_of(monomial)
        low += coefficient * (least if coefficient > 0 else greatest)
        high += coefficient * (greatest if coefficient > 0 else least)
    return low, high


def _shifted(terms: Iterable[tuple[Monomial, int]]) -> dict[Monomial, int]:
    """Return the same sum written in what each atom exceeds its least value by: m*n - m with m, n >= 1 has no negative term then."""
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        expanded: dict[Monomial, int] = {(): coefficient}
        for atom in (atom for atom, power in monomial for _ in range(power)):
            least = atom.bounds[0]
            grown: dict[Monomial, int] = {}
            for inner, factor in expanded.items():
                grown[inner] = grown.get(inner, 0) + factor * least
                larger = product(inner, ((atom, 1),))
                grown[larger] = grown.get(larger, 0) + factor
            expanded = grown
        for inner, factor in expanded.items():
            total[inner] = total.get(inner, 0) + factor
    return total


def _shifted_bounds(monomial: Monomial) -> tuple[int, int]:
    """Return bounds of a product of what atoms exceed their least values by."""
    high = 1
    for atom, power in monomial:
        least, greatest = atom.bounds
        high *= (greatest - least) ** power
    return (0 if monomial else 1), high


def _monomial_bounds(monomial: Monomial) -> tuple[int, int]:
    low = high = 1
    for atom, power in _without_undone_quotients(monomial):
        least, greatest = atom.bounds
        corners = [least**power, greatest**power, *([0] if least < 0 < greatest else [])]
        products = [a * b for a in (low, high) for b in corners]
        low, high = min(products), max(products)
    return low, high


def _without_undone_quotients(monomial: Monomial) -> Monomial:
    """Replace a quotient times its divisor, or times what its divisor is the maximum of, by what lies between zero and its dividend."""
    for atom, power in monomial:
        if not isinstance(atom, Quotient) or power != 1 or lower(atom.dividend) < 0:
            continue
        for divisor in operands(atom.divisor):
            if not isinstance(divisor, Symbolic) or len(divisor.terms) != 1 or lower(divisor) < 0:
                continue
            ((factors, coefficient),) = divisor.terms
            rest = ratio(tuple(item for item in monomial if item[0] is not atom), factors)
            if coefficient == 1 and rest is not None:
                return (*_without_undone_quotients(rest), (Symbol("", 0, upper(atom.dividend)), 1))
    return monomial
