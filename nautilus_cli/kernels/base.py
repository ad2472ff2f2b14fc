"""What a kernel family is: a problem, a schedule, and the arithmetic between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from nautilus_cli.ir.binding import expressions
from nautilus_cli.ir.counts import counts_in
from nautilus_cli.ir.expression import Expression, RowProgram
from nautilus_cli.ir.functions import factor
from nautilus_cli.ir.index_map import divisors
from nautilus_cli.targets.base import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """How a kernel is launched.

    Attributes:
        grid: blocks along x, y, z.
        threads: threads of a block, all along x.
        smem_bytes: dynamic shared memory of a block.
        starts_early: whether blocks may come while the kernel before ends. They crowd onto the multiprocessors that are free first, which
            costs more than it gains where the grid is one wave of blocks of which several fit on a multiprocessor.
    """

    grid: tuple[int, int, int]
    threads: int
    smem_bytes: int = 0
    starts_early: bool = True


class Family(Protocol):
    """A kernel family: one module in `kernels/` that exposes `FAMILY`.

    The problem and the schedule are frozen keyword-only dataclasses of ints, bools and short strings; `codegen` renders every field as a
    `static constexpr` member of the structs `Problem` and `Schedule` (camel-cased with a leading k; a string field names a C++ type).
    """

    name: str
    template: str
    headers: tuple[str, ...]
    problem_type: type
    schedule_type: type

    def violations(self, problem: Any, schedule: Any, target: Target) -> tuple[str, ...]:
        """Return why this schedule cannot serve this problem on this target; empty where it can."""
        ...

    def choose(self, problem: Any, target: Target) -> Any:
        """Return the schedule of the analytic ranking; always a legal one."""
        ...

    def schedules(self, problem: Any, target: Target) -> Iterator[Any]:
        """Yield the whole search space, illegal points included, in a fixed order."""
        ...

    def geometry(self, problem: Any, schedule: Any) -> Geometry:
        """Return grid, threads and shared memory."""
        ...


class StubByName:
    """A family whose stub and header are called as it is."""

    __slots__ = ()
    name: str

    @property
    def template(self) -> str:
        """The stub."""
        return f"{self.name}.cu.jinja"

    @property
    def headers(self) -> tuple[str, ...]:
        """What the stub instantiates."""
        return (f"nautilus/kernels/{self.name}.cuh",)


@runtime_checkable
class HasOptionalFunctors(Protocol):
    """A family of whose functors a request may leave some out; they do nothing then."""

    optional_functors: tuple[str, ...]


@runtime_checkable
class NeedsKnownSizes(Protocol):
    """A family whose legality, geometry or device code needs numbers; the kernels of all others take sizes as arguments."""

    needs_known_sizes: bool


@runtime_checkable
class ReachesByFunctors(Protocol):
    """A family that says whether its kernels reach memory through their functors alone."""

    reaches_by_functors: bool


@runtime_checkable
class Mapped(Protocol):
    """A family whose kernels take tensor maps."""

    def fitted(self, problem: Any, functors: Mapping[str, Expression | RowProgram]) -> Any:
        """Return the problem with what the functors decide."""
        ...

    def map_violations(self, problem: Any, functors: Mapping[str, Expression | RowProgram]) -> tuple[str, ...]:
        """Return why bulk copies cannot bring the operands that FUNCTORS load; empty where they can."""
        ...

    def tensor_maps(self, request: KernelRequest) -> tuple[TensorMap, ...]:
        """Return the maps of a kernel, in the order in which its arguments hold them."""
        ...


@runtime_checkable
class Persistent(Protocol):
    """A family whose blocks walk over the tiles of a problem: schedules say how many."""

    def for_all_sizes(self, problem: Any, schedule: Any, target: Target) -> Any:
        """Return the schedule with what was chosen for one size undone."""
        ...


@runtime_checkable
class Ranked(Protocol):
    """A family whose estimates can be held against those of others."""

    def estimated_us(self, problem: Any, schedule: Any, target: Target) -> float:
        """Return the time of a legal schedule on a GPU by the analytic model, in microseconds."""
        ...


@runtime_checkable
class Priced(Protocol):
    """A ranked family whose estimates the host can work out for open sizes, to choose among kernels."""

    def open_ns(self, problem: Any, schedule: Any, target: Target) -> int:
        """Return about what `estimated_us` says, in nanoseconds, as an expression of the sizes."""
        ...


def takes_open_sizes(family: Family) -> bool:
    """Whether the kernels of a family take sizes that only a run knows."""
    return not (isinstance(family, NeedsKnownSizes) and family.needs_known_sizes)


def reaches_by_functors(family: Family) -> bool:
    """Whether the kernels of a family reach memory through their functors alone; others have pointers that they follow by themselves."""
    return isinstance(family, ReachesByFunctors) and family.reaches_by_functors


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMap:
    """A tensor that a kernel's bulk copies move boxes of, innermost dimension first; the host encodes it into the kernel's arguments.

    Attributes:
        slot: the pointer argument that it lies behind.
        element: `f16`, `bf16`, `f32`, or `tf32`: f32 that is rounded to tf32 on its way.
        offset: bytes from the pointer.
        extents: of the tensor.
        strides: of all dimensions but the first, in bytes.
        box: elements of a box.
        swizzle: bytes within which chunks of 16 are swapped.
    """

    slot: int
    element: str
    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int


class Choose(Protocol):
    """Picks the schedule of a problem: the analytic ranking, the tuning records, or a lock."""

    def __call__(self, family: Family, problem: Any, target: Target) -> Any:
        """Return a legal schedule."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRequest:
    """Everything that decides a kernel's text; equal requests are one kernel.

    Symbolic numbers in the problem and the functors are arguments of the kernel: its last ones.

    Attributes:
        family: the family's name.
        problem: its problem dataclass.
        schedule: its schedule dataclass.
        functors: (name, expression) of each functor that the stub instantiates.
        pointers: number of pointer arguments.
        scalars: number of integer arguments; at least that of the symbolic numbers.
        index_bits: 32, or 64 where an offset needs it.
    """

    family: str
    problem: Any
    schedule: Any
    functors: tuple[tuple[str, Expression | RowProgram], ...]
    pointers: int
    scalars: int = 0
    index_bits: int = 32

    @property
    def scalar_values(self) -> tuple[int, ...]:
        """What the integer arguments hold that are sizes."""
        return scalar_values(self.problem, self.functors)


def scalar_values(problem: Any, functors: tuple[tuple[str, Expression | RowProgram], ...]) -> tuple[int, ...]:
    """Return the sizes that are arguments of a kernel: each distinct expression once, in order of first use, then factors of divisors.

    A number that a kernel gives has no factor, which the host works out.
    """
    sizes = (*expressions(problem), *expressions(functors))
    return tuple(dict.fromkeys((*sizes, *(factor(divisor) for divisor in divisors(functors) if not counts_in(divisor)))))
