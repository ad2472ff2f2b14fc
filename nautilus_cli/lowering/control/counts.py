"""Numbers that kernels give, in the plan: where they lie, and the steps that work out what follows from them.

They stand at the front of the arena, one after another, for the whole run: the kernel that gives one writes it there, kernels whose
sizes depend on it read it there, and the host reads them once the run has ended, to tell the shapes of outputs. What is one of them times
a number and plus one (`3*n + 1`) kernels work out as they read it; any other expression is worked out by a kernel of one thread right
behind the one that gives the last number in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.counts import counts_in, given_in, linear, reads_in
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.graph import Group, Value
from nautilus_cli.ir.requirement import Limit
from nautilus_cli.ir.types import I64, TensorType
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.control.size_arithmetic import WORD_BYTES, SizeArithmetic

_ALIGNMENT_WORDS = 2
"""Of a vector of numbers: kernels rely on 16 bytes in every pointer."""


@dataclass(frozen=True, slots=True)
class SizeStep:
    """A kernel that works out sizes, to run behind the kernel of a number; where it is late, when the host has read that, too."""

    behind: int
    is_late: bool
    group: Group
    lowered: Lowered


class CountTable:
    """The numbers of a graph, and the sizes that are made of them.

    Args:
        counts: (name, value) of each count, as `Graph.counts`.
        outputs: what each kernel stores, in order.
        scalars: the sizes that are arguments of each kernel.
        dims: the dimensions of the graph's outputs.

    Attributes:
        steps: the kernels that work out sizes, in the order in which they are to run.
        bytes: of all numbers.
    """

    def __init__(
        self,
        counts: Sequence[tuple[str, Value]],
        outputs: Sequence[Sequence[Value]],
        scalars: Sequence[Sequence[int]],
        dims: Sequence[int] = (),
    ) -> None:
        self._holders: Mapping[str, Value] = dict(counts)
        self._places: dict[Value, int] = {value: number for number, (_, value) in enumerate(counts)}
        self._sizes: dict[int, int] = {}  # the word that holds a size, or the count that it is a multiple of
        self._words: dict[int, int] = {}  # the word that holds a size
        giver = {value: number for number, stored in enumerate(outputs) for value in stored}
        used = list(dict.fromkeys(size for sizes in (*scalars, dims) for size in sizes if counts_in(size)))
        derived: dict[tuple[int, bool], list[int]] = {}
        for size in used:
            known = [giver[self._holders[s.name]] for s in given_in(size)]
            first = next((number for number, sizes in enumerate(scalars) if any(same(size, s) for s in sizes)), len(scalars))
            if first <= max(known):
                raise InternalError(f"kernel {first} needs the size {size}, which is not known before kernel {max(known)}")
            form = linear(size)
            if form is not None:
                self._sizes[size] = self._places[self._holders[form[0].name]]
            if form is not None and form[1:] == (1, 0):
                self._words[size] = self._sizes[size]
            elif form is None or any(same(size, dim) for dim in dims):  # the host reads words as they are
                derived.setdefault((max(known), bool(reads_in(size))), []).append(size)
        words = len(counts)
        self.steps: list[SizeStep] = []
        for (behind, is_late), sizes in sorted(derived.items()):
            words += -words % _ALIGNMENT_WORDS
            table = Value(TensorType(I64, (len(sizes),)))
            self._places[table] = words
            self._words.update({size: words + number for number, size in enumerate(sizes)})
            words += len(sizes)
            group = Group("pointwise", None, (), (table,))
            self.steps.append(SizeStep(behind, is_late, group, SizeArithmetic(self._holders).lowered(sizes, table)))
        self.bytes = words * WORD_BYTES

    def holds(self, value: object) -> bool:
        """Whether VALUE is a number, or a vector of them, that lies here."""
        return value in self._places

    def offset(self, value: Value) -> int:
        """Return where a number, or a vector of them, lies: bytes from the front of the arena."""
        return self._places[value] * WORD_BYTES

    def dims(self, shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
        """Return (dimension, number of the word) for those of a shape that kernels give."""
        return tuple((number, self._words[dim]) for number, dim in enumerate(shape) if counts_in(dim))

    def limits(self, limits: Sequence[Limit]) -> tuple[tuple[str, int, int], ...]:
        """Return (what the user calls it, its word, its greatest value) of each number that is limited and counted."""
        found: dict[tuple[str, int], int] = {}
        for one in limits:
            if one.count in self._holders:
                key = one.name, self._places[self._holders[one.count]]
                found[key] = min(one.most, found.get(key, one.most))
        return tuple((name, word, most) for (name, word), most in found.items())

    def size_offset(self, size: int) -> int:
        """Return where kernels find a size that depends on numbers of kernels, or the number of which they work it out themselves."""
        return (self._sizes[size] if size in self._sizes else self._words[size]) * WORD_BYTES
