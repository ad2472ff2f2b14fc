"""One kernel of a plan, to be run alone: what tuning measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nautilus_cli.ir.expression import AnyLoad, Expression, IndexedLoad, RowProgram, Store
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry, KernelRequest
from nautilus_cli.kernels.registry import tensor_maps
from nautilus_cli.lowering.plan import Kernel, Launch, Plan, Port, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What a kernel's pointer argument needs to point to.

    Attributes:
        number: of the argument.
        dtype: element type in memory.
        elements: at least so many.
        is_written: whether the kernel stores there.
    """

    number: int
    dtype: DType
    elements: int
    is_written: bool


def alone(request: KernelRequest, geometry: Geometry, target: str) -> Plan:
    """Return a plan whose only launch is this kernel: what it loads are inputs, what it stores are outputs, both as flat tensors."""
    found = slots(request)
    ports = {s.number: Port(name=f"slot{s.number}", dtype=s.dtype, shape=(s.elements,)) for s in found}
    read = [s.number for s in found if not s.is_written]
    written = [s.number for s in found if s.is_written]
    words = []
    for number in range(request.pointers):
        if number in read:
            words.append(Word(kind="input", index=read.index(number)))
        elif number in written:
            words.append(Word(kind="output", index=written.index(number)))
        else:
            words.append(Word(kind="status"))
    return Plan(
        target=target,
        inputs=tuple(ports[number] for number in read),
        outputs=tuple(ports[number] for number in written),
        kernels=(Kernel(request=request, geometry=geometry, maps=tensor_maps(request)),),
        launches=(Launch(kernel=0, words=tuple(words)),),
        buffers=(),
        arena_bytes=0,
        weights=(),
        weight_bytes=0,
    )


def slots(request: KernelRequest) -> tuple[Slot, ...]:
    """Return what the kernel's pointers need, in order of their numbers; a pointer that no expression uses is left out."""
    needs: dict[int, Slot] = {}
    for access in _accesses(request):
        old = needs.get(access.slot)
        elements = max(reach(access), old.elements if old else 0)
        needs[access.slot] = Slot(number=access.slot, dtype=access.storage, elements=elements, is_written=isinstance(access, Store))
    return tuple(needs[number] for number in sorted(needs))


def reach(access: AnyLoad | Store) -> int:
    """Return one past the greatest offset that an access can have."""
    last = access.map.stages[-1]
    highest = last.offset
    if isinstance(access, IndexedLoad):
        highest += max(0, access.stride * (access.extent - 1))
    for digits in last.coordinates:
        for axis in digits:
            end = axis.extent if axis.end is None else axis.end
            highest += max(axis.stride * (end - 1), axis.stride * axis.begin)
    return highest + 1


def _accesses(request: KernelRequest) -> Iterator[AnyLoad | Store]:
    for _, functor in request.functors:
        for expression in _expressions(functor):
            for step in expression.steps:
                if isinstance(step, IndexedLoad):
                    yield step.index
                if isinstance(step, AnyLoad):
                    yield step
            yield from expression.stores


def _expressions(functor: Expression | RowProgram) -> Iterator[Expression]:
    if isinstance(functor, Expression):
        yield functor
        return
    for reduction in functor.reductions:
        yield reduction.term
    yield functor.column_epilogue
    yield functor.row_epilogue
