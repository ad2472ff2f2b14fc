"""Equations of Einsum: which dimensions of the operands meet, and which are summed.

Source: ONNX 28, Einsum-28; broadcasting of ellipses and of dimensions of size 1 as in numpy.einsum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import same

_ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation for operands of certain shapes.

    Attributes:
        terms: for each operand the names of its dimensions: letters, and for those of an ellipsis `.` and their place from the last.
        output: names of the result's dimensions.
        sizes: of each name.
    """

    terms: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return tuple(self.sizes[name] for name in self.output)


def parse(text: str, shapes: Sequence[tuple[int, ...]]) -> Equation:
    """Read an equation.

    Raises:
        ModelError: it is malformed, or does not fit the shapes.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    written = left.split(",")
    if len(written) != len(shapes):
        raise ModelError(f"equation '{text}' has {len(written)} terms for {len(shapes)} operands")
    spread = max(
        (len(shape) - len(_letters(term, text)) for term, shape in zip(written, shapes, strict=True) if _ELLIPSIS in term), default=0
    )
    terms = tuple(_names(term, len(shape), text) for term, shape in zip(written, shapes, strict=True))
    sizes = _sizes(terms, shapes, text)
    if arrow:
        output = _output(right, spread, text)
    else:
        counts = Counter(letter for term in written for letter in _letters(term, text))
        output = (*_dots(spread), *sorted(letter for letter, count in counts.items() if count == 1))
    for name in output:
        if output.count(name) > 1:
            raise ModelError(f"equation '{text}' has '{name}' twice in its result")
        if name not in sizes:
            raise ModelError(f"equation '{text}' has '{name}' in its result, but in no operand")
    return Equation(terms, output, sizes)


def _dots(count: int) -> tuple[str, ...]:
    """Return the names of the dimensions of an ellipsis."""
    return tuple(f".{place}" for place in reversed(range(count)))


def _letters(term: str, text: str) -> str:
    """Return a term without its ellipsis."""
    letters = term.replace(_ELLIPSIS, "", 1)
    if not all(letter.isascii() and letter.isalpha() for letter in letters):
        raise ModelError(f"equation '{text}' has the term '{term}'; the specification allows letters and one ellipsis")
    return letters


def _names(term: str, rank: int, text: str) -> tuple[str, ...]:
    """Return the names of an operand's dimensions."""
    letters = _letters(term, text)
    if _ELLIPSIS not in term:
        if len(letters) != rank:
            raise ModelError(f"equation '{text}' has the term '{term}' for an operand of rank {rank}")
        return tuple(letters)
    if len(letters) > rank:
        raise ModelError(f"equation '{text}' has the term '{term}' for an operand of rank {rank}")
    before, behind = term.split(_ELLIPSIS)
    return (*before, *_dots(rank - len(letters)), *behind)


def _output(right: str, spread: int, text: str) -> tuple[str, ...]:
    """Return the names of the result's dimensions where the equation gives them; without an ellipsis its dimensions are summed."""
    _letters(right, text)
    before, dots, behind = right.partition(_ELLIPSIS)
    return (*before, *(_dots(spread) if dots else ()), *behind)


def _sizes(terms: Sequence[tuple[str, ...]], shapes: Sequence[tuple[int, ...]], text: str) -> dict[str, int]:
    """Return the size of each name; a size of 1 goes with any other."""
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for name, size in zip(term, shape, strict=True):
            known = sizes.setdefault(name, size)
            if same(known, 1):
                sizes[name] = size
            elif not same(size, 1) and not same(size, known) and size != known:
                raise ModelError(f"equation '{text}': dimension '{name.lstrip('.') or name}' has the sizes {known} and {size}")
    return sizes
