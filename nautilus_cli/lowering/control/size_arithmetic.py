"""Sizes that follow from numbers that kernels give, as a kernel of one thread that works them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.dims import Atom, Count, Indicator, Maximum, Named, Quotient, Symbol, Symbolic, lower
from nautilus_cli.ir.expression import Apply, Constant, Expression, Load, Size, Step, Store
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import from_strides
from nautilus_cli.ir.polynomial import Polynomial
from nautilus_cli.ir.types import BOOL, I64
from nautilus_cli.kernels.pointwise import Problem
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.building.slots import Slots

WORD_BYTES = 8
"""Of a number: an int64."""


class SizeArithmetic:
    """Writes sizes as a pointwise kernel of one element."""

    def __init__(self, holders: Mapping[str, Value]) -> None:
        self._holders = holders
        self._slots = Slots()
        self._steps: list[Step] = []
        self._known: dict[Step, int] = {}

    def lowered(self, sizes: Sequence[int], table: Value) -> Lowered:
        """Return the kernel that stores SIZES in TABLE."""
        found = [self._number(size) for size in sizes]
        slot = self._slots.number(table)
        stores = tuple(Store(step, slot, I64, from_strides((1,), (0,), place)) for place, step in enumerate(found))
        body = Expression(tuple(self._steps), stores=stores)
        problem = Problem(elements=1, element_bytes=WORD_BYTES, accesses=len(stores) + len(self._slots.referents))
        return Lowered(family="pointwise", problem=problem, functors=(("Body", body),), slots=self._slots)

    def _step(self, step: Step) -> int:
        if step not in self._known:
            self._known[step] = len(self._steps)
            self._steps.append(step)
        return self._known[step]

    def _apply(self, function: str, *operands: int) -> int:
        return self._step(Apply(function, operands, I64))

    def _number(self, value: int) -> int:
        if not isinstance(value, Symbolic):
            return self._step(Constant(str(value), I64))
        if not counts_in(value):
            return self._step(Size(value, I64))
        total: int | None = None
        for monomial, coefficient in value.terms:
            factors = [self._atom(atom) for atom, power in monomial for _ in range(power)]
            if coefficient != 1 or not factors:
                factors.append(self._number(coefficient))
            term, *others = factors
            for other in others:
                term = self._apply("mul", term, other)
            total = term if total is None else self._apply("add", total, term)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> int:
        whole = Polynomial.of({((atom, 1),): 1})
        if not counts_in(whole):
            return self._number(whole)
        match atom:
            case Symbol(source=Count()):
                return self._step(Load(self._slots.number(self._holders[atom.name]), I64, from_strides((1,), (0,))))
            case Quotient():
                dividend, divisor = self._number(atom.dividend), self._number(atom.divisor)
                if lower(atom.dividend) < 0:  # rounded down, not towards zero
                    rest = self._apply("mod", dividend, divisor, self._number(0))
                    dividend = self._apply("sub", dividend, rest)
                return self._apply("div", dividend, divisor)
            case Maximum():
                first, *others = map(self._number, atom.operands)
                for other in others:
                    first = self._apply("max", first, other)
                return first
            case Indicator():
                name = "equal" if atom.is_zero else "greater"
                flag = self._step(Apply(name, (self._number(atom.value), self._number(0)), BOOL))
                return self._apply("where", flag, self._number(1), self._number(0))
            case Named():
                return self._number(atom.value)
            case _:
                raise ModelError(f"the size {whole} depends on what a kernel gives in a way that is not worked out on the device")
