"""Operands that an operator's rules must know: what a rule raises where it does not, and the values with which it can go on.

A rule that meets an unknown operand raises `UnknownContentsError`; one that asks whether an element of an input lies in a range, which
only the run knows, `UndecidedError`. The frontend answers both: it makes the elements of the inputs behind symbols, and cuts their ranges
where the other side of the question is an error of the model (`allowed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nautilus_cli.errors import ModelError, NautilusError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.dims import Count, Element, HostCount, Maximum, Symbol, Symbolic, upper
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.polynomial import Polynomial
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ir.undecided import UndecidedError

LOWEST, HIGHEST = -(1 << 31), (1 << 31) - 1
"""Values of an element of which no rule asked for a range yet; one beyond stands for these, which every size is below."""

DEFAULT_MOST = (4096, 4096, 512, 512, 64)
"""Greatest value of an element that is a size, where no rule says how large that can be: by how many such sizes a tensor has. A tensor is
then 64 MiB of bytes at most, or little more."""

MOST_READ = (1 << 28, 1 << 15, 1 << 10, 1 << 7, 1 << 6)
"""The same of a number that the host reads while the model runs: what is planned for is what it is, so that it only has to be possible."""

_UNBOUNDED = 1 << 30
"""Sizes up from this have no bound but that of the element's type."""

_MOST_QUESTIONS = 256
"""That one node's rules may ask."""


class OperandsError(ModelError):
    """An operator's rules refuse the operands or attributes of a node."""


class UnknownContentsError(ModelError):
    """The contents of an operand decide a shape, and are not known.

    Attributes:
        index: of the operand.
        inputs: names of the graph inputs from which it is computed; None where that is not known.
    """

    def __init__(self, index: int, name: str) -> None:
        super().__init__(
            f"operand '{name}' decides the result's shape, but its contents are not known at compile time",
            hint="Where it is a graph input, fix it with --bind NAME=VALUE.",
        )
        self.index = index
        self.inputs: tuple[str, ...] | None = None


class RangeError(ModelError):
    """Elements of inputs have ranges that a node's rules allow, which are shorter than those they have so far.

    Attributes:
        ranges: least and greatest value by the symbol's name.
        is_default: whether they are those of sizes of which no rule says how large they can be.
    """

    def __init__(self, ranges: Mapping[str, tuple[int, int]], *, is_default: bool = False) -> None:
        told = ", ".join(f"{name} from {low} to {high}" for name, (low, high) in ranges.items())
        super().__init__(f"takes {told}, and other operators other values")
        self.ranges = ranges
        self.is_default = is_default


def depends_on_values(value: int) -> bool:
    """Whether an integer depends on elements of inputs."""
    return any(isinstance(symbol.source, Element) for symbol in symbols(value))


@dataclass(frozen=True, slots=True)
class Cut:
    """A symbol with another range."""

    symbol: Symbol
    low: int
    high: int

    @property
    def value(self) -> int:
        """The symbol with this range, as an integer."""
        return Polynomial.of({((replace(self.symbol, low=self.low, high=self.high), 1),): 1})


def allowed(ask: Callable[[Mapping[str, int]], object]) -> dict[str, Cut]:
    """Return ranges of elements of inputs with which a node's rules have no question left.

    Args:
        ask: applies the rules, with symbols replaced by those of a mapping.

    Raises:
        UndecidedError: both answers to a question are right: the rules do not compute with such a value.
        ModelError: what the rules raise.
    """
    found: dict[str, Cut] = {}
    for _ in range(_MOST_QUESTIONS):
        try:
            ask({name: cut.value for name, cut in found.items()})
            return found
        except UndecidedError as error:
            cuts = [cut for cut in _cuts(error) if not _is_refused(ask, found, cut)]
            if len(cuts) != 1 and found:
                return found  # with these the question may be another one
            if len(cuts) != 1:
                raise
            found[cuts[0].symbol.name] = cuts[0]
    raise ModelError("asks too much of the values of inputs")


def _is_refused(ask: Callable[[Mapping[str, int]], object], found: Mapping[str, Cut], cut: Cut) -> bool:
    """Whether the rules refuse the values of a cut."""
    try:
        ask({**{name: one.value for name, one in found.items()}, cut.symbol.name: cut.value})
    except UndecidedError:
        return False
    except NautilusError:
        return True
    return False


def _cuts(error: UndecidedError) -> tuple[Cut, ...]:
    """Return the two ranges of a symbol in which a comparison holds and fails; none where it is not one of a symbol with a number."""
    difference = error.left - error.right
    if error.relation == "equals" or not isinstance(difference, Symbolic):
        return ()
    margin = 1 if error.relation == "is less than" else 0
    match difference.terms:
        case ((((Symbol() | Maximum() as atom, 1),), sign),):
            offset = 0
        case (((), offset), (((Symbol() | Maximum() as atom, 1),), sign)):
            pass
        case _:
            return ()
    if isinstance(atom, Maximum):
        open_one = _deciding(atom, sign, -offset - margin)
        return () if open_one is None else _cuts(open_one)
    if not isinstance(atom.source, Element | Count) or atom.divisor != 1:
        return ()
    # sign * symbol + offset <= limit
    limit = -offset - margin
    if sign > 0:
        edge = limit // sign
        return Cut(atom, atom.low, edge), Cut(atom, edge + 1, atom.high)
    edge = -(limit // -sign)
    return Cut(atom, edge, atom.high), Cut(atom, atom.low, edge - 1)


def _deciding(greatest: Maximum, sign: int, limit: int) -> UndecidedError | None:
    """Return the question of one operand that decides whether SIGN * GREATEST <= LIMIT; None where several do."""
    if sign > 0:
        edge = limit // sign
        left = [one for one in greatest.operands if upper(one) > edge]  # the others never are above it
        return UndecidedError(left[0], "is at most", edge) if len(left) == 1 else None
    edge = -(limit // -sign)
    left = [one for one in greatest.operands if upper(one) >= edge]  # the others never reach it
    return UndecidedError(edge, "is at most", left[0]) if len(left) == 1 else None


def shortened(types: Iterable[TensorType]) -> dict[str, Cut]:
    """Return default ranges of elements, and numbers of kernels, that are sizes of tensors without a bound of their own."""
    found: dict[str, Cut] = {}
    for type_ in types:
        unbounded = [dim for dim in type_.static if upper(dim) >= _UNBOUNDED]
        known = sorted({s for dim in unbounded for s in symbols(dim)}, key=lambda s: s.name)
        open_ones = [s for s in known if isinstance(s.source, Element | Count) and s.high == HIGHEST]
        greatest = _greatest(unbounded, open_ones)
        for one in open_ones:
            most = greatest[one]
            cut = Cut(one, one.low, most)
            if any(upper(bind(dim, {one.name: cut.value})) >= _UNBOUNDED for dim in unbounded if one in symbols(dim)):
                cut = Cut(one, max(one.low, -most), most)  # where a size grows with what is below nought, too
            if one.name not in found or found[one.name].high > most:
                found[one.name] = cut
    return found


def _greatest(sizes: Sequence[int], open_ones: Sequence[Symbol]) -> dict[Symbol, int]:
    """Return the default greatest values of numbers: lesser ones of those that kernels give where sizes are powers or multiples of them."""
    place = min(len(open_ones), len(DEFAULT_MOST)) - 1
    found = {one: (MOST_READ if isinstance(one.source, HostCount) else DEFAULT_MOST)[place] for one in open_ones}
    while all(isinstance(one.source, Count) for one in open_ones) and max(found.values(), default=0) > DEFAULT_MOST[-1]:
        values = {one.name: Cut(one, max(one.low, -most), most).value for one, most in found.items()}
        if all(upper(bind(size, values)) < _UNBOUNDED for size in sizes):
            break
        found = {one: max(DEFAULT_MOST[-1], most // 4) for one, most in found.items()}
    return found
