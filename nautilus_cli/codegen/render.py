"""Kernel requests to kernel text: one Jinja environment, one stub a family."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from nautilus_cli import resources
from nautilus_cli.codegen.names import identifier
from nautilus_cli.codegen.numbers import Scalars
from nautilus_cli.codegen.program_rows import FunctorRows, functor_rows
from nautilus_cli.codegen.struct_rows import StructRow, problem_row, schedule_row
from nautilus_cli.ir.expression import Expression
from nautilus_cli.kernels.base import HasOptionalFunctors, KernelRequest
from nautilus_cli.kernels.registry import family

_PLACEHOLDER = "kernel_symbol_placeholder"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A kernel's text and the symbol that it defines; equal requests give equal ones."""

    symbol: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StubContext:
    """Everything that a stub may name.

    Attributes:
        symbol: the kernel's symbol; its parts lie in the namespace `<symbol>_`.
        headers: to include.
        pointers: number of pointer arguments.
        scalars: number of integer arguments.
        problem: the problem as members of a struct.
        schedule: the schedule as members of a struct.
        functors: prologues, epilogues, bodies, programs.
    """

    symbol: str
    headers: tuple[str, ...]
    pointers: int
    scalars: int
    problem: StructRow
    schedule: StructRow
    functors: FunctorRows


def render(request: KernelRequest) -> Rendered:
    """Return a request's kernel text; its symbol is the family's name and a hash of the text.

    Raises:
        InternalError: the request holds something that has no name in kernel text.
    """
    kind = family(request.family)
    scalars = Scalars(request.scalar_values)
    given = dict(request.functors)
    left_out = [name for name in kind.optional_functors if name not in given] if isinstance(kind, HasOptionalFunctors) else []
    context = StubContext(
        symbol=_PLACEHOLDER,
        headers=kind.headers,
        pointers=request.pointers,
        scalars=request.scalars,
        problem=problem_row(request.problem, request.index_bits, scalars),
        schedule=schedule_row(request.schedule),
        functors=functor_rows((*request.functors, *((name, Expression(())) for name in left_out)), scalars),
    )
    text = environment().get_template(kind.template).render({field.name: getattr(context, field.name) for field in fields(context)})
    symbol = f"{identifier(request.family)}_{sha256(text.encode()).hexdigest()[:16]}"
    return Rendered(symbol=symbol, text=text.replace(_PLACEHOLDER, symbol))


def unit(kernels: Iterable[Rendered]) -> str:
    """Return one translation unit of several kernels; equal ones are in it once."""
    return "\n".join({kernel.symbol: kernel.text for kernel in kernels}.values())


@cache
def environment() -> Environment:
    """Return the one Jinja environment."""
    return Environment(
        loader=FileSystemLoader(resources.kernel_stubs()),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
