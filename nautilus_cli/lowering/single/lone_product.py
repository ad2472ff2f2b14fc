"""A matrix product by itself, many times over: what its benchmark launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.expression import Expression, Load, Parameter, Store
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.base import Choose, KernelRequest, scalar_values
from nautilus_cli.kernels.registry import family, tensor_maps
from nautilus_cli.lowering.building.lowered import INDEX_32_LIMIT, Lowered
from nautilus_cli.lowering.building.operands import Operand
from nautilus_cli.lowering.building.products import Product
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.choosing.dispatch import first_serving
from nautilus_cli.lowering.choosing.intervals import Intervals
from nautilus_cli.lowering.choosing.serving import Serving
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Kernel, Launch, Plan, Port, Word
from nautilus_cli.targets.base import Target

MOST_SYMBOLIC = 8192
"""Greatest size of an extent that only a run knows, unless it is larger itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneProduct:
    """C [m, n] = A [m, k] Bᵀ, where B [n, k] is a weight, packed as weights are.

    Attributes:
        m: rows of A and C.
        n: rows of B and columns of C.
        k: length of the sums.
        dtype: of A, B and C.
        fp32_mode: how floats of 32 bits are multiplied, as `Lowering` has it.
        symbolic: the letters of those of `m`, `n` and `k` that only a run knows: from 1 to MOST_SYMBOLIC, or what they are.
    """

    m: int
    n: int
    k: int
    dtype: DType
    fp32_mode: str
    symbolic: str = ""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The extents by their letters."""
        return {"m": self.m, "n": self.n, "k": self.k}

    def lowered(self) -> Lowered:
        """Return the product as a group of a graph would be lowered."""
        dtype = self.dtype
        m, n, k = (symbol(name, 1, max(size, MOST_SYMBOLIC)) if name in self.symbolic else size for name, size in self.sizes.items())
        a, b = (Expression((Load(slot, dtype, identity((1, rows, k))),), (0,)) for slot, rows in ((0, m), (1, n)))
        epilogue = Expression((Parameter(0, F32),), (), (Store(0, 2, dtype, identity((1, m, n))),))
        left, right = Operand(dtype=dtype, expression=a), Operand(dtype=dtype, expression=b, is_constant=True)
        product = Product(batch=1, m=m, n=n, k=k, a=left, b=right, accumulate=F32)
        return product.lowered((("Epilogue", epilogue),), Slots(), self.fp32_mode)

    def request(self, target: Target, choose: Choose) -> KernelRequest:
        """Return the kernel that a library that is compiled for TARGET launches at these extents.

        Raises:
            ModelError: the product is beyond what a launch can be.
        """
        lowered = self.lowered()
        one = self.served(Intervals(target, choose).servings(lowered))
        kernel, p = one.chosen, lowered.problem
        largest = maximum(p.m * p.k, p.n * p.k, p.m * p.n)
        return KernelRequest(
            family=kernel.family.name,
            problem=kernel.problem,
            schedule=kernel.schedule,
            functors=one.functors,
            pointers=3,
            scalars=len(scalar_values(kernel.problem, one.functors)),
            index_bits=64 if upper(largest) > INDEX_32_LIMIT else 32,
        )

    def served(self, servings: Sequence[Serving]) -> Serving:
        """Return the kernel, of several for some sizes, that serves these extents."""
        found = first_serving(servings, self.sizes)
        assert found is not None, "the last kernel serves all sizes"
        return found


def rotated(product: LoneProduct, request: KernelRequest, target: str, *, copies: int, launches: int) -> Plan:
    """Return a plan of LAUNCHES of a product's kernel that walk over COPIES of B and C, as the weights of a model do.

    Its inputs are `a`, and `b` with all copies, `stride(product.n * product.k)` elements apart; its output `c` likewise. Sizes that are
    arguments are those of the product.
    """
    p = product
    kind = family(request.family)
    kernel = Kernel(
        request=request,
        geometry=bind(kind.geometry(request.problem, request.schedule), p.sizes),
        maps=bind(tensor_maps(request), p.sizes),
    )
    scalars = tuple(Word(kind="integer", value=value) for value in bind(request.scalar_values, p.sizes))
    strides = {name: stride(p, elements) for name, elements in (("b", p.n * p.k), ("c", p.m * p.n))}
    return Plan(
        target=target,
        inputs=(Port(name="a", dtype=p.dtype, shape=(p.m * p.k,)), Port(name="b", dtype=p.dtype, shape=(copies * strides["b"],))),
        outputs=(Port(name="c", dtype=p.dtype, shape=(copies * strides["c"],)),),
        kernels=(kernel,),
        launches=tuple(
            Launch(
                kernel=0,
                words=(
                    Word(kind="input", index=0),
                    Word(kind="input", index=1, value=number % copies * strides["b"] * p.dtype.bytes),
                    Word(kind="output", index=0, value=number % copies * strides["c"] * p.dtype.bytes),
                    *scalars,
                ),
            )
            for number in range(launches)
        ),
        buffers=(),
        arena_bytes=0,
        weights=(),
        weight_bytes=0,
    )


def stride(product: LoneProduct, elements: int) -> int:
    """Return how far apart copies of so many elements lie: whole alignments."""
    step = ALIGNMENT_BYTES // product.dtype.bytes
    return -(-elements // step) * step


__all__ = ["LoneProduct", "rotated", "stride"]
